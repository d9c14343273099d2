// The semantic verifier: the sample passes, each broken variant is refused with the reason.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "engine/engine_file.h"
#include "tests/engine/sample.h"

namespace stoker {
namespace {

using test::sample_engine;
using test::sample_tactics;
using Kind = PlanTensor::Kind;

PlanProgram& main_of(EngineContents& c) { return c.programs[0]; }
PlanStep& step_of(EngineContents& c, int index) {
  return main_of(c).steps[static_cast<size_t>(index)];
}
PlanTensor& tensor_of(EngineContents& c, int index) {
  return main_of(c).tensors[static_cast<size_t>(index)];
}

struct Case {
  const char* name;
  std::function<void(EngineContents&)> change;
  const char* reason;  // part of the message
};

void expect_refusals(const std::vector<Case>& cases) {
  for (const Case& test_case : cases) {
    EngineContents contents = sample_engine();
    test_case.change(contents);
    const Status status = verify_plan(contents, sample_tactics());
    ASSERT_FALSE(status.is_ok()) << test_case.name;
    EXPECT_EQ(status.code(), StatusCode::kCorruptFile) << test_case.name;
    EXPECT_NE(status.message().find(test_case.reason), std::string::npos)
        << test_case.name << ": " << status.message();
  }
}

TEST(VerifyPlan, SamplePasses) {
  const Status status = verify_plan(sample_engine(), sample_tactics());
  EXPECT_TRUE(status.is_ok()) << status.message();
}

TEST(VerifyPlan, SymbolsAndWeights) {
  expect_refusals({
      {"no program", [](auto& c) { c.programs.clear(); }, "no program"},
      {"symbol twice", [](auto& c) { c.symbols[1].name = "N"; }, "stands twice"},
      {"symbol range", [](auto& c) { c.symbols[0].min = 9; }, "range 9..8"},
      {"weight dtype", [](auto& c) { c.weights[0].dtype = DType::kI32; }, "holds f32"},
      {"weight shape",
       [](auto& c) {
         c.weights[0].shape = {16, 4, 9};
       },
       "holds f32"},
      {"weight negative", [](auto& c) { c.weights[0].shape = {-1}; }, "negative"},
      {"weight missing for good",
       [](auto& c) {
         c.weights[0].bytes = {};
         for (auto& source : c.sources) source.frozen = "so it was";
         for (auto& source : c.sources) source.bytes = {};
         for (auto& source : c.sources) source.kept = false;
       },
       "weight conv.w has no data, and no refit can give it"},
      {"not refittable", [](auto& c) { c.manifest.structure.clear(); },
       "lists constants to refit, but was not built to be refitted"},
      {"source not listed", [](auto& c) { c.weights[0].recipe.sources[1] = "other"; },
       "weight conv.w is made from 'other', which is not listed"},
      {"source twice", [](auto& c) { c.sources[1].name = c.sources[0].name; },
       "out of order or stands twice"},
      {"source dtype", [](auto& c) { c.sources[0].dtype = DType::kI32; }, "holds f32"},
      {"source shape", [](auto& c) { c.sources[0].shape = {-1}; }, "negative"},
      {"source not kept", [](auto& c) { c.sources[0].kept = false; },
       "has data that no recipe needs"},
      {"source missing for good",
       [](auto& c) {
         c.sources[0].frozen = "so it was";
         c.sources[0].bytes = {};
       },
       "has no data, and no refit can give it: so it was"},
      {"packed size",
       [](auto& c) {
         c.weights[2].bytes = Tensor::from<uint8_t>({1023}, std::vector<uint8_t>(1023));
       },
       "1023 bytes packed as gemm_panel, expected 1024"},
      {"recipe operand", [](auto& c) { c.weights[0].recipe.steps[0].inputs[0] = 2; },
       "operand 2 of 2"},
      {"recipe result", [](auto& c) { c.weights[0].recipe.result = 5; }, "operand 5 of 5"},
      {"recipe outputs", [](auto& c) { c.weights[0].recipe.steps[0].output_count = 0; },
       "0 outputs"},
      {"measurement", [](auto& c) { c.volatile_section.steps[0].step = 11; },
       "step 11 of program 0"},
  });
}

TEST(VerifyPlan, Tensors) {
  expect_refusals({
      {"dtype", [](auto& c) { tensor_of(c, 3).dtype = DType::kInvalid; }, "dtype"},
      {"rank", [](auto& c) { tensor_of(c, 3).dims = Dims(9, Dim(1)); }, "rank 9"},
      {"negative", [](auto& c) { tensor_of(c, 3).dims[0] = Dim(-1); }, "negative"},
      {"unknown symbol", [](auto& c) { tensor_of(c, 3).dims[0] = Dim::symbol("Q"); },
       "unknown symbol Q"},
      {"weight index", [](auto& c) { tensor_of(c, 1).weight = 7; }, "weight 7 of 7"},
      {"weight agreement", [](auto& c) { tensor_of(c, 1).weight = 1; },
       "its weight conv.b is f32[16]"},
      {"weight on temporary", [](auto& c) { tensor_of(c, 3).weight = 0; }, "names a weight"},
      {"alias forwards", [](auto& c) { tensor_of(c, 6).alias_of = 6; }, "expected an earlier one"},
      {"alias dtype", [](auto& c) { tensor_of(c, 5).dtype = DType::kI32; },
       "is an alias of gap of i32"},
      {"alias of weight", [](auto& c) { tensor_of(c, 6).alias_of = 1; }, "may not be an alias"},
      {"alias layout", [](auto& c) { tensor_of(c, 5).layout = Layout::kC16; }, "in another layout"},
      {"alias size",
       [](auto& c) {
         tensor_of(c, 5).dims = {2, 16, 1, 1};
         tensor_of(c, 6).dims = {2, 17};
       },
       "of shape [2,17] is an alias of gap"},
      {"c16 input", [](auto& c) { tensor_of(c, 0).layout = Layout::kC16; }, "only temporaries"},
      {"shape value count", [](auto& c) { tensor_of(c, 12).elements.pop_back(); },
       "with 1 elements"},
      {"shape value dtype", [](auto& c) { tensor_of(c, 12).dtype = DType::kF32; },
       "shape value of f32"},
      {"elements", [](auto& c) { tensor_of(c, 3).elements = {Dim(1)}; }, "no shape value"},
      {"kind", [](auto& c) { tensor_of(c, 3).kind = static_cast<Kind>(9); }, "kind 9"},
  });
}

TEST(VerifyPlan, Steps) {
  expect_refusals({
      {"input index", [](auto& c) { step_of(c, 0).inputs[0] = 23; }, "tensor 23 of 23"},
      {"absent input", [](auto& c) { step_of(c, 0).inputs[1] = -1; }, "absent"},
      {"absent output", [](auto& c) { step_of(c, 3).outputs[0] = -1; }, "absent"},
      {"tactic", [](auto& c) { step_of(c, 0).tactic = "gemm_fast"; }, "does not have for a conv"},
      {"after", [](auto& c) { step_of(c, 1).after = {1}; }, "waits for step 1"},
      {"after negative", [](auto& c) { step_of(c, 1).after = {-1}; }, "waits for step -1"},
      {"subprogram", [](auto& c) { step_of(c, 7).subprograms = {1}; }, "in a static program"},
      {"param dims", [](auto& c) { step_of(c, 0).param_dims = {Dim(1)}; }, "parameter sizes"},
      {"param symbol", [](auto& c) { step_of(c, 4).param_dims[0] = Dim::symbol("Q"); },
       "unknown symbol Q"},
      {"region rank", [](auto& c) { step_of(c, 4).param_dims.pop_back(); }, "1 extents"},
      {"dtype", [](auto& c) { tensor_of(c, 9).dtype = DType::kF64; }, "f64"},
      {"packing elsewhere", [](auto& c) { step_of(c, 5).inputs[0] = 7; },
       "packing gemm_panel is for weights of a gemm"},
      {"c16 fallback", [](auto& c) { step_of(c, 7).inputs[2] = 3; }, "layout c16"},
      {"strings outside fallback", [](auto& c) { step_of(c, 6).inputs[0] = 16; }, "strings"},
      {"region program",
       [](auto& c) {
         std::get<RegionParams>(step_of(c, 4).params).program.instructions[2].args[1] = 2;
       },
       "not an earlier instruction"},
  });
}

PlanProgram& dynamic_of(EngineContents& c) { return c.programs[3]; }

TEST(VerifyPlan, DynamicPrograms) {
  const auto op = [](PlanStep& step) -> FallbackParams& {
    return std::get<FallbackParams>(step.params);
  };
  expect_refusals({
      {"subprogram", [](auto& c) { dynamic_of(c).steps[0].subprograms = {4}; }, "program 4 of 4"},
      {"two subprograms",
       [](auto& c) {
         dynamic_of(c).steps[0].subprograms = {1, 1};
       },
       "2 sub-programs, expected 1"},
      {"ports", [](auto& c) { dynamic_of(c).steps[0].subprograms = {2}; }, "program loop_body has"},
      {"recursion", [](auto& c) { dynamic_of(c).steps[0].subprograms = {3}; }, ""},
      {"other op", [&](auto& c) { op(dynamic_of(c).steps[1]).op = "relu"; },
       "'relu' does not run sub-programs"},
      {"carried",
       [&](auto& c) { op(dynamic_of(c).steps[1]).attributes.set("carried", int64_t{2}); },
       "2 carried values"},
      {"carried negative",
       [&](auto& c) { op(dynamic_of(c).steps[1]).attributes.set("carried", int64_t{-1}); },
       "carried values"},
      {"scan", [&](auto& c) { op(dynamic_of(c).steps[1]).op = "scan"; }, "-1 scanned"},
      {"not fallback", [](auto& c) { dynamic_of(c).steps[2].params = GatherParams{0}; },
       "is no fallback"},
      {"read before write",
       [](auto& c) { std::swap(dynamic_of(c).steps[1], dynamic_of(c).steps[2]); },
       "nothing has written"},
      {"written twice", [](auto& c) { dynamic_of(c).steps[2].outputs = {2}; }, "not its to write"},
      {"input written", [](auto& c) { dynamic_of(c).steps[2].outputs = {0}; }, "not its to write"},
      {"out of range", [](auto& c) { dynamic_of(c).steps[2].inputs[0] = 5; },
       "nothing has written"},
      {"output unwritten", [](auto& c) { dynamic_of(c).steps.pop_back(); }, "never written"},
      {"view", [](auto& c) { dynamic_of(c).tensors[4].alias_of = 2; }, "is a view"},
      {"sequence in static", [](auto& c) { tensor_of(c, 3).holds = PlanTensor::Holds::kSequence; },
       "holds no ranked tensor"},
      {"unranked in static", [](auto& c) { tensor_of(c, 9).ranked = false; },
       "holds no ranked tensor"},
  });
}

TEST(VerifyPlan, Order) {
  expect_refusals({
      {"missing edge", [](auto& c) { step_of(c, 1).after = {}; }, "must finish before"},
      {"missing edge through alias", [](auto& c) { step_of(c, 3).after = {1}; },
       "must finish before"},
      {"read before write", [](auto& c) { std::swap(main_of(c).steps[5], main_of(c).steps[6]); },
       ""},
      {"written twice", [](auto& c) { step_of(c, 5).outputs[0] = 9; }, ""},
      {"written twice by alias",
       [](auto& c) {
         step_of(c, 4).outputs[0] = 6;
         tensor_of(c, 6).dims = tensor_of(c, 5).dims = {Dim::symbol("N"), 10};
       },
       ""},
      {"input written", [](auto& c) { step_of(c, 7).outputs[0] = 0; }, "not a step's to write"},
      {"weight written", [](auto& c) { step_of(c, 7).outputs[0] = 17; }, "not a step's to write"},
      {"initial state written", [](auto& c) { step_of(c, 7).outputs[0] = 14; },
       "not a step's to write"},
      {"state read after its update",
       [](auto& c) {
         PlanStep late = step_of(c, 7);
         late.inputs = {14};
         late.outputs = {-1};
         late.after = {7};
         main_of(c).steps.push_back(late);
       },
       "must finish before"},
      {"state dims", [](auto& c) { tensor_of(c, 15).dims = {Dim(1)}; }, "changes from"},
      {"state unlisted", [](auto& c) { main_of(c).states.clear(); }, "does not list"},
      {"input unlisted", [](auto& c) { main_of(c).inputs.clear(); }, "does not list"},
      {"input port", [](auto& c) { main_of(c).inputs[0].tensor = 3; }, "expected an input tensor"},
      {"input port twice",
       [](auto& c) {
         main_of(c).inputs.push_back({"again", 0});
       },
       "of its own"},
      {"output port", [](auto& c) { main_of(c).outputs[0].tensor = 23; }, "tensor 23 of 23"},
      {"output temporary", [](auto& c) { main_of(c).outputs[0].tensor = 9; },
       "not an output tensor"},
      {"output packed weight", [](auto& c) { main_of(c).outputs[0].tensor = 7; },
       "not an output tensor"},
      {"output twice", [](auto& c) { main_of(c).outputs[0].tensor = 13; }, "two outputs"},
      {"output unlisted", [](auto& c) { main_of(c).outputs.pop_back(); }, "does not list"},
      {"output unwritten",
       [](auto& c) {
         main_of(c).steps.erase(main_of(c).steps.begin() + 4);
         c.volatile_section = {};
       },
       ""},
  });
}

// An indirect order is enough: 9 <- 3 <- 2 <- 1 <- 0.
TEST(VerifyPlan, IndirectOrderIsEnough) {
  EngineContents contents = sample_engine();
  PlanStep& update = step_of(contents, 7);
  update.after = {4};  // after softmax, which is after fc
  const Status status = verify_plan(contents, sample_tactics());
  EXPECT_TRUE(status.is_ok()) << status.message();
}

}  // namespace
}  // namespace stoker
