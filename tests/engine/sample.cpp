// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/sample.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cmath>

#include "base/hash.h"
#include "kernels/desc/check.h"

namespace stoker::test {
namespace {

using Kind = PlanTensor::Kind;

PlanTensor tensor(const std::string& name, Kind kind, DType dtype, Dims dims) {
  PlanTensor t;
  t.name = name;
  t.kind = kind;
  t.dtype = dtype;
  t.dims = std::move(dims);
  return t;
}

PlanTensor weight_tensor(const PlanWeight& weight, int32_t index) {
  PlanTensor t = tensor(weight.name, Kind::kWeight, weight.dtype, {});
  for (const int64_t extent : weight.shape) t.dims.emplace_back(extent);
  t.weight = index;
  return t;
}

PlanStep step(const std::string& name, Params params, std::vector<int32_t> inputs,
              std::vector<int32_t> outputs, std::vector<int32_t> after, const std::string& tactic) {
  PlanStep s;
  s.name = name;
  s.params = std::move(params);
  s.inputs = std::move(inputs);
  s.outputs = std::move(outputs);
  s.after = std::move(after);
  s.tactic = tactic;
  s.tactic_version = 3;
  s.config = "default";
  s.origins = {name + "_a", name + "_b"};
  return s;
}

PlanWeight weight(const std::string& name, Tensor bytes, Packing packing, DType dtype,
                  Shape shape) {
  PlanWeight w;
  w.name = name;
  w.dtype = dtype;
  w.shape = std::move(shape);
  w.packing = packing;
  w.bytes = std::move(bytes);
  w.recipe.sources = {name + ".source", "scale"};
  w.recipe.steps = {{"mul", {{"axis", int64_t{1}}}, {0, 1}, 1},
                    {"cast", {{"to", DType::kF32}}, {2, -1}, 2}};
  w.recipe.result = 3;
  return w;
}

std::vector<float> ramp(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f - 3;
  return values;
}

// y = relu(accumulator + bias along dim 1)
RegionProgram bias_relu(int rank) {
  RegionProgram p;
  p.rank = rank;
  p.reduced.assign(static_cast<size_t>(rank), 0);
  RegionOperand identity, channel;
  for (int d = 0; d < rank; ++d) {
    identity.dim_of.push_back(static_cast<int8_t>(d));
    channel.dim_of.push_back(d == 1 ? 0 : -1);
  }
  p.inputs = {identity, channel};
  p.instructions = {{RegionOp::kInput, DType::kF32, {0, -1, -1}, 0},
                    {RegionOp::kInput, DType::kF32, {1, -1, -1}, 0},
                    {RegionOp::kAdd, DType::kF32, {0, 1, -1}, 0},
                    {RegionOp::kConstant, DType::kF32, {-1, -1, -1}, -0.0},
                    {RegionOp::kMax, DType::kF32, {2, 3, -1}, 0}};
  p.outputs = {{4, identity}};
  return p;
}

// x - max over dim 1
RegionProgram subtract_max() {
  RegionProgram p;
  p.rank = 2;
  p.reduced = {0, 1};
  p.inputs = {{{0, 1}}};
  p.instructions = {{RegionOp::kInput, DType::kF32, {0, -1, -1}, 0},
                    {RegionOp::kReduceMax, DType::kF32, {0, -1, -1}, 0},
                    {RegionOp::kSub, DType::kF32, {0, 1, -1}, 0}};
  p.outputs = {{2, {{0, 1}}}};
  return p;
}

void add_weights(EngineContents& c) {
  c.weights.push_back(weight("conv.w", Tensor::from<float>({16, 4, 3, 3}, ramp(576)),
                             Packing::kNone, DType::kF32, {16, 4, 3, 3}));
  c.weights.push_back(
      weight("conv.b", Tensor::from<float>({16}, ramp(16)), Packing::kNone, DType::kF32, {16}));
  std::vector<uint8_t> packed(16 * 16 * 4);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint8_t>(i * 7);
  c.weights.push_back(weight("fc.w", Tensor::from<uint8_t>({1024}, packed), Packing::kGemmPanel,
                             DType::kF32, {16, 10}));
  c.weights.push_back(
      weight("fc.b", Tensor::from<float>({10}, ramp(10)), Packing::kNone, DType::kF32, {10}));
  c.weights.push_back(weight("labels", *Tensor::from_strings({2}, {"cat", std::string("d\0g", 3)}),
                             Packing::kNone, DType::kString, {2}));
  c.weights.push_back(
      weight("empty", Tensor::from<float>({0, 3}, {}), Packing::kNone, DType::kF32, {0, 3}));
  c.weights.push_back(weight("rnn.w", Tensor::from<float>({1, 10, 10}, ramp(100)), Packing::kNone,
                             DType::kF32, {1, 10, 10}));
}

// Constants that recipes start from: one with its value, some that wait for one, one frozen.
void add_sources(EngineContents& c) {
  c.manifest.structure = "fedcba9876543210fedcba9876543210";
  for (const char* name : {"conv.b", "conv.w", "empty", "fc.b", "fc.w", "labels", "rnn.w"}) {
    c.sources.push_back(
        {std::string(name) + ".source", DType::kF32, {2}, "0123", "", name[0] == 'c', {}});
  }
  c.sources[0].bytes = Tensor::from<float>({2}, {1, 2});
  c.sources.push_back(
      {"scale", DType::kF32, {}, "4567", "it is a scale", true, Tensor::scalar_f32(3)});
}

ConvParams conv_params() {
  ConvParams p;
  p.strides = {2, 2};
  p.dilations = {1, 1};
  p.pads = {1, 1, 1, 1};
  p.epilogue = bias_relu(4);
  return p;
}

PoolParams pool_params() {
  PoolParams p;
  p.kind = PoolParams::Kind::kAverage;
  p.kernel = {2, 2};
  p.strides = {2, 2};
  p.dilations = {1, 1};
  p.auto_pad = ConvParams::AutoPad::kSameLower;
  p.ceil_mode = true;
  p.count_include_pad = true;
  return p;
}

FallbackParams fallback_params() {
  FallbackParams p;
  p.op = "state_update";
  p.attributes = {{"axis", int64_t{-1}},
                  {"alpha", -0.0},
                  {"mode", std::string("wrap")},
                  {"to", DType::kBF16},
                  {"axes", std::vector<int64_t>{0, -2, INT64_MAX}},
                  {"scales", std::vector<double>{0.5, HUGE_VAL}},
                  {"keys", std::vector<std::string>{"a", ""}},
                  {"value", Tensor::from<int64_t>({2}, {7, -7})},
                  {"texts", *Tensor::from_strings({1}, {"long text"})}};
  return p;
}

void add_tensors(EngineContents& c, PlanProgram& p) {
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H"), half = Dim::ceil_div(h, 2),
            quarter = Dim::ceil_div(half, 2);
  p.tensors = {tensor("x", Kind::kInput, DType::kF32, {n, 4, h, h}),                      // 0
               weight_tensor(c.weights[0], 0),                                            // 1
               weight_tensor(c.weights[1], 1),                                            // 2
               tensor("conv", Kind::kTemporary, DType::kF32, {n, 16, half, half}),        // 3
               tensor("pool", Kind::kTemporary, DType::kF32, {n, 16, quarter, quarter}),  // 4
               tensor("gap", Kind::kTemporary, DType::kF32, {n, 16, 1, 1}),               // 5
               tensor("flat", Kind::kTemporary, DType::kF32, {n, 16}),           // 6: alias of 5
               weight_tensor(c.weights[2], 2),                                   // 7
               weight_tensor(c.weights[3], 3),                                   // 8
               tensor("fc", Kind::kTemporary, DType::kF32, {n, 10}),             // 9
               tensor("y", Kind::kOutput, DType::kF32, {n, 10}),                 // 10
               tensor("cut", Kind::kTemporary, DType::kF32, {5, n}),             // 11
               tensor("index", Kind::kShapeValue, DType::kI64, {2}),             // 12
               tensor("picked", Kind::kOutput, DType::kF32, {2, n}),             // 13
               tensor("memory", Kind::kState, DType::kF32, {Dim::symbol("T")}),  // 14
               tensor("memory_next", Kind::kState, DType::kF32, {Dim::symbol("T")}),      // 15
               weight_tensor(c.weights[4], 4),                                            // 16
               weight_tensor(c.weights[5], 5),                                            // 17
               tensor("attended", Kind::kTemporary, DType::kF32, {n, 4, h, h}),           // 18
               tensor("enlarged", Kind::kTemporary, DType::kF32, {n, 4, Dim(2) * h, h}),  // 19
               tensor("row", Kind::kTemporary, DType::kF32, {n, 1, 10}),         // 20: alias of 9
               weight_tensor(c.weights[6], 6),                                   // 21
               tensor("walked", Kind::kTemporary, DType::kF32, {n, 1, 1, 10})};  // 22
  p.tensors[3].layout = p.tensors[4].layout = p.tensors[5].layout = Layout::kC16;
  p.tensors[5].layout = Layout::kPlain;
  p.tensors[6].alias_of = 5;
  p.tensors[20].alias_of = 9;
  p.tensors[12].elements = {Dim(-1), Dim::min(n, Dim(4))};
  p.tensors[3].place = {Place::Kind::kNull, 1};
}

void add_steps(PlanProgram& p) {
  AttentionParams attention;
  attention.scale = 0.125;
  attention.softcap = 30;
  attention.window = 7;
  attention.causal = true;
  ResizeParams resize;
  resize.rule.mode = ResampleRule::Mode::kCubic;
  resize.rule.coordinates = ResampleRule::Coordinates::kAsymmetric;
  resize.rule.nearest = ResampleRule::Nearest::kCeil;
  resize.rule.antialias = true;
  resize.scales = {1, 1, 2, 1};
  RecurrentParams recurrent;
  recurrent.cell = RecurrentParams::Cell::kRnn;
  recurrent.direction = RecurrentParams::Direction::kReverse;
  recurrent.activations = {{ActivationKind::kScaledTanh, 0.5, 2}};
  recurrent.clip = 3;
  PoolParams global;
  global.kind = PoolParams::Kind::kAverage;
  global.global = true;
  GemmParams gemm;
  gemm.epilogue = bias_relu(2);
  RegionParams region{subtract_max(), {}};
  CopyParams cut{{1, 0}, {}, {2, 1}, -1};
  p.steps = {step("conv", conv_params(), {0, 1, 2}, {3}, {}, "conv_fast"),
             step("pool", pool_params(), {3}, {4}, {0}, "pool_fast"),
             step("gap", global, {4}, {5}, {1}, "pool_fast"),
             step("fc", gemm, {6, 7, 8}, {9}, {2}, "gemm_fast"),
             step("softmax", region, {9}, {10}, {3}, "region_fast"),
             step("cut", cut, {9}, {11}, {3}, "copy_fast"),
             step("pick", GatherParams{0}, {11, 12}, {13}, {5}, "gather_fast"),
             step("update", fallback_params(), {14, -1, 9, 16, 17}, {15, -1}, {2, 3}, "reference"),
             step("attend", attention, {0, 0, 0, 0}, {18}, {}, "attention_fast"),
             step("enlarge", resize, {0}, {19}, {}, "resize_fast"),
             step("walk", recurrent, {20, 21, 21}, {22}, {3}, "recurrent_fast")};
  p.steps[0].place = {Place::Kind::kNull, 1};
  p.steps[4].param_dims = {Dim::symbol("N"), 10};
  p.steps[5].param_dims = {0, Dim(0)};
}

PlanProgram small_program() {
  PlanProgram p;
  p.name = "body";
  p.tensors = {tensor("a", Kind::kInput, DType::kI8, {3}),
               tensor("b", Kind::kOutput, DType::kI8, {3})};
  p.steps = {step("identity", FallbackParams{"identity", {}}, {0}, {1}, {}, "reference")};
  p.inputs = {{"a", 0}};
  p.outputs = {{"b", 1}};
  return p;
}

// A dynamic program: a loop over the body, and a sequence made of what it gives.
PlanProgram dynamic_program() {
  PlanProgram p;
  p.name = "dynamic";
  p.kind = PlanProgram::Kind::kDynamic;
  p.tensors = {tensor("a", Kind::kInput, DType::kI8, {3}),
               tensor("trips", Kind::kShapeValue, DType::kI64, {1}),
               tensor("b", Kind::kTemporary, DType::kI8, {}),
               tensor("list", Kind::kTemporary, DType::kI8, {}),
               tensor("c", Kind::kTemporary, DType::kI8, {3})};
  p.tensors[1].elements = {Dim(2)};
  p.tensors[2].ranked = false;
  p.tensors[3].ranked = false;
  p.tensors[3].holds = PlanTensor::Holds::kSequence;
  p.steps = {
      step("call", FallbackParams{kCallOp, {}}, {0}, {4}, {}, ""),
      step("loop", FallbackParams{"loop", {{"carried", int64_t{0}}}}, {1, -1, 4}, {2}, {}, ""),
      step("make", FallbackParams{"sequence_construct", {}}, {2, 0}, {3}, {}, "")};
  p.steps[0].subprograms = {1};
  p.steps[1].subprograms = {2};
  p.inputs = {{"a", 0}};
  p.outputs = {{"list", 3}, {"a again", 0}};
  return p;
}

// Condition and one value, whatever the iteration.
PlanProgram loop_body() {
  PlanProgram p;
  p.name = "loop_body";
  p.kind = PlanProgram::Kind::kDynamic;
  p.tensors = {tensor("i", Kind::kInput, DType::kI64, {}),
               tensor("go", Kind::kInput, DType::kBool, {}),
               tensor("v", Kind::kInput, DType::kI8, {3})};
  p.inputs = {{"i", 0}, {"go", 1}, {"v", 2}};
  p.outputs = {{"go", 1}, {"v", 2}};
  return p;
}

Volatile sample_volatile() {
  Volatile v;
  v.fingerprint = {{"cpu", "model x"}, {"cores", "2"}};
  v.build_seconds = 1.5;
  v.steps = {{0,
              3,
              {{"gemm_fast", "wide", 1200.5, 9, ""}, {"gemm_slow", "", 0, 0, "K is odd"}},
              1e-7,
              3e-5,
              64}};
  v.certificate = {
      "unfused build", "seeded", "abcd", {{"y", 1e-6, HUGE_VAL}}, {"step conv: error 1 over 0.1"}};
  v.notes = {"unfolded constant c"};
  return v;
}

}  // namespace

EngineContents sample_engine() {
  EngineContents c;
  c.manifest = {"0.1.0",
                "sample",
                "0123",
                "cpu",
                {{"precision", "keep"}, {"shapes", "x:1..8"}},
                "layout_c16=true",
                {{"my_ops", "1.0", "4567"}, {"my_ops", "1.1", "89ab"}}};
  c.symbols = {{"N", PlanSymbol::Kind::kBind, 1, 8, 4},
               {"H", PlanSymbol::Kind::kBind, 2, INT64_MAX, 224},
               {"T", PlanSymbol::Kind::kStep, 0, 77, 5}};
  add_weights(c);
  add_sources(c);
  PlanProgram main;
  main.name = "main";
  add_tensors(c, main);
  add_steps(main);
  main.inputs = {{"x", 0}};
  main.outputs = {{"y", 10}, {"picked", 13}};
  main.states = {{"memory", 14, 15}};
  c.programs = {std::move(main), small_program(), loop_body(), dynamic_program()};
  c.graph_text = "graph @sample() -> () {\n}\n";
  c.volatile_section = sample_volatile();
  return c;
}

TacticLists sample_tactics() {
  TacticLists lists;
  lists.knows = [](const std::string& tactic, Family family) {
    return tactic == std::string(family_name(family)) + "_fast" ||
           (tactic == "reference" && family == Family::kFallback);
  };
  lists.packed_bytes = [](const Desc& spec, int index, Packing packing) -> Result<int64_t> {
    const auto& dims = spec.inputs[static_cast<size_t>(index)].dims;
    if (packing != Packing::kGemmPanel || dims.size() != 2) {
      return Status(StatusCode::kUnsupported, "only two-dimensional gemm panels here");
    }
    return (dims[1] + 15) / 16 * dims[0] * 64;
  };
  return lists;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "stoker-test-XXXXXX").string();
  path_ = mkdtemp(name.data());
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stoker::test
