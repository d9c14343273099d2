// Each field of the plan data model enters the digest and survives the codec.
// SPDX-License-Identifier: Apache-2.0
#include "engine/codec.h"

#include <gtest/gtest.h>

#include <functional>

#include "engine/engine_file.h"
#include "tests/engine/sample.h"

namespace stoker {
namespace {

using test::dump_plan;
using test::dump_volatile;
using test::sample_engine;

using Mutation = std::function<void(EngineContents&)>;

PlanStep& step_of(EngineContents& c, int index) {
  return c.programs[0].steps[static_cast<size_t>(index)];
}
PlanTensor& tensor_of(EngineContents& c, int index) {
  return c.programs[0].tensors[static_cast<size_t>(index)];
}
template <class T>
T& params_of(EngineContents& c, int index) {
  return std::get<T>(step_of(c, index).params);
}

std::vector<Mutation> manifest_mutations() {
  return {[](auto& c) { c.manifest.library_version += "1"; },
          [](auto& c) { c.manifest.model_name += "1"; },
          [](auto& c) { c.manifest.model_hash += "1"; },
          [](auto& c) { c.manifest.device += "1"; },
          [](auto& c) { c.manifest.options["precision"] = "bf16"; },
          [](auto& c) { c.manifest.options["new"] = ""; },
          [](auto& c) { c.manifest.route = ""; },
          [](auto& c) { c.manifest.op_libraries[1].name += "1"; },
          [](auto& c) { c.manifest.op_libraries[1].version += "1"; },
          [](auto& c) { c.manifest.op_libraries[1].hash += "1"; },
          [](auto& c) { c.manifest.op_libraries.pop_back(); },
          [](auto& c) { c.manifest.source_weight_bytes = 5; },
          [](auto& c) { c.manifest.structure += "1"; },
          [](auto& c) { c.graph_text += " "; },
          [](auto& c) { c.symbols[0].name += "1"; },
          [](auto& c) { c.symbols[0].kind = PlanSymbol::Kind::kStep; },
          [](auto& c) { c.symbols[0].min = 0; },
          [](auto& c) { c.symbols[0].max = 9; },
          [](auto& c) { c.symbols[0].optimum = 2; },
          [](auto& c) { c.symbols.pop_back(); }};
}

std::vector<Mutation> weight_mutations() {
  return {
      [](auto& c) { c.weights[0].name += "1"; },
      [](auto& c) { c.weights[0].dtype = DType::kI32; },
      [](auto& c) {
        c.weights[2].shape = {10, 16};
      },
      [](auto& c) { c.weights[2].packing = Packing::kConvC16; },
      [](auto& c) { c.weights[1].bytes = Tensor::from<float>({16}, std::vector<float>(16, 1)); },
      [](auto& c) {
        c.weights[4].bytes = *Tensor::from_strings({2}, {"cat", "dog"});
      },
      [](auto& c) { c.weights[0].recipe.sources[1] = "other"; },
      [](auto& c) { c.weights[0].recipe.result = 2; },
      [](auto& c) { c.weights[0].recipe.steps[0].op = "add"; },
      [](auto& c) { c.weights[0].recipe.steps[0].attributes.set("axis", int64_t{0}); },
      [](auto& c) {
        c.weights[0].recipe.steps[0].inputs = {1, 0};
      },
      [](auto& c) { c.weights[0].recipe.steps[1].output_count = 1; },
      [](auto& c) { c.weights[0].bytes = {}; },
      [](auto& c) { c.sources.pop_back(); },
      [](auto& c) { c.sources[0].name += "1"; },
      [](auto& c) { c.sources[1].dtype = DType::kI32; },
      [](auto& c) { c.sources[1].shape = {5}; },
      [](auto& c) { c.sources[0].hash += "1"; },
      [](auto& c) { c.sources[0].frozen += "1"; },
      [](auto& c) { c.sources[1].kept = !c.sources[1].kept; },
      [](auto& c) { c.sources[0].bytes = {}; },
      [](auto& c) {
        c.sources[0].bytes = Tensor::from<float>({2}, {8, 9});
      }};
}

std::vector<Mutation> program_mutations() {
  return {[](auto& c) { c.programs[0].name = "other"; },
          [](auto& c) { c.programs.pop_back(); },
          [](auto& c) { tensor_of(c, 3).name = "other"; },
          [](auto& c) { tensor_of(c, 3).kind = PlanTensor::Kind::kOutput; },
          [](auto& c) { tensor_of(c, 3).dtype = DType::kF16; },
          [](auto& c) { tensor_of(c, 3).dims[0] = Dim(7); },
          [](auto& c) { tensor_of(c, 3).layout = Layout::kPlain; },
          [](auto& c) { tensor_of(c, 3).place.kind = Place::Kind::kCpu; },
          [](auto& c) { tensor_of(c, 3).place.index = 2; },
          [](auto& c) { tensor_of(c, 1).weight = 1; },
          [](auto& c) { tensor_of(c, 6).alias_of = -1; },
          [](auto& c) { tensor_of(c, 12).elements[0] = Dim(3); },
          [](auto& c) { c.programs[0].inputs[0].name = "z"; },
          [](auto& c) { c.programs[0].inputs[0].tensor = 1; },
          [](auto& c) { c.programs[0].outputs[0].name = "z"; },
          [](auto& c) { c.programs[0].outputs[0].tensor = 1; },
          [](auto& c) { c.programs[0].states[0].name = "z"; },
          [](auto& c) { c.programs[0].states[0].initial = 15; },
          [](auto& c) { c.programs[0].states[0].final_value = 14; },
          [](auto& c) { step_of(c, 0).name = "z"; },
          [](auto& c) { step_of(c, 4).param_dims[1] = Dim(11); },
          [](auto& c) { step_of(c, 0).inputs[0] = 2; },
          [](auto& c) { step_of(c, 0).outputs[0] = 4; },
          [](auto& c) { step_of(c, 1).after = {}; },
          [](auto& c) { step_of(c, 0).place.index = 4; },
          [](auto& c) { step_of(c, 0).tactic = "z"; },
          [](auto& c) { step_of(c, 0).tactic_version = 4; },
          [](auto& c) { step_of(c, 0).config = "z"; },
          [](auto& c) { step_of(c, 0).origins[1] = "z"; },
          [](auto& c) { c.programs[3].steps[0].subprograms = {}; },
          [](auto& c) { c.programs[3].kind = PlanProgram::Kind::kStatic; },
          [](auto& c) { c.programs[3].tensors[2].ranked = true; },
          [](auto& c) { c.programs[3].tensors[3].holds = PlanTensor::Holds::kMap; }};
}

std::vector<Mutation> params_mutations() {
  return {
      [](auto& c) { params_of<GemmParams>(c, 3).transpose_a = true; },
      [](auto& c) { params_of<GemmParams>(c, 3).transpose_b = true; },
      [](auto& c) { params_of<GemmParams>(c, 3).a_zero = 1; },
      [](auto& c) { params_of<GemmParams>(c, 3).b_zero = 1; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.rank = 3; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.reduced[0] = 1; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.inputs[1].dim_of[0] = 1; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[2].op = RegionOp::kSub; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[2].dtype = DType::kF64; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[2].args[0] = 1; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[2].args[1] = 0; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[2].args[2] = 0; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.instructions[3].constant = 0.0; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.outputs[0].value = 2; },
      [](auto& c) { params_of<GemmParams>(c, 3).epilogue.outputs[0].map.dim_of[0] = -1; },
      [](auto& c) { params_of<ConvParams>(c, 0).strides[1] = 3; },
      [](auto& c) { params_of<ConvParams>(c, 0).dilations[1] = 3; },
      [](auto& c) { params_of<ConvParams>(c, 0).pads[3] = 3; },
      [](auto& c) { params_of<ConvParams>(c, 0).group = 2; },
      [](auto& c) { params_of<ConvParams>(c, 0).auto_pad = ConvParams::AutoPad::kValid; },
      [](auto& c) { params_of<ConvParams>(c, 0).x_zero = 3; },
      [](auto& c) { params_of<ConvParams>(c, 0).w_zero = 3; },
      [](auto& c) { params_of<ConvParams>(c, 0).epilogue.instructions.pop_back(); },
      [](auto& c) {
        params_of<RegionParams>(c, 4).extents = {1, 2};
      },
      [](auto& c) { params_of<RegionParams>(c, 4).program.reduced[1] = 0; },
      [](auto& c) { params_of<PoolParams>(c, 1).kind = PoolParams::Kind::kMax; },
      [](auto& c) { params_of<PoolParams>(c, 1).kernel[0] = 9; },
      [](auto& c) { params_of<PoolParams>(c, 1).strides[0] = 9; },
      [](auto& c) { params_of<PoolParams>(c, 1).dilations[0] = 9; },
      [](auto& c) { params_of<PoolParams>(c, 1).pads = {1}; },
      [](auto& c) { params_of<PoolParams>(c, 1).auto_pad = ConvParams::AutoPad::kExplicit; },
      [](auto& c) { params_of<PoolParams>(c, 1).ceil_mode = false; },
      [](auto& c) { params_of<PoolParams>(c, 1).count_include_pad = false; },
      [](auto& c) { params_of<PoolParams>(c, 1).global = true; },
      [](auto& c) {
        params_of<CopyParams>(c, 5).perm = {0, 1};
      },
      [](auto& c) {
        params_of<CopyParams>(c, 5).starts = {0, 1};
      },
      [](auto& c) {
        params_of<CopyParams>(c, 5).steps = {0, 1};
      },
      [](auto& c) { params_of<CopyParams>(c, 5).concat_axis = 0; },
      [](auto& c) { params_of<GatherParams>(c, 6).axis = 1; },
      [](auto& c) { params_of<FallbackParams>(c, 7).op = "z"; },
      [](auto& c) { params_of<FallbackParams>(c, 7).attributes.erase("axis"); },
      [](auto& c) { params_of<FallbackParams>(c, 7).attributes.set("alpha", 0.0); },
      [](auto& c) { params_of<FallbackParams>(c, 7).attributes.set("mode", std::string("z")); },
      [](auto& c) { params_of<FallbackParams>(c, 7).attributes.set("to", DType::kF16); },
      [](auto& c) {
        params_of<FallbackParams>(c, 7).attributes.set("axes", std::vector<int64_t>{});
      },
      [](auto& c) {
        params_of<FallbackParams>(c, 7).attributes.set("scales", std::vector<double>{1});
      },
      [](auto& c) {
        params_of<FallbackParams>(c, 7).attributes.set("keys", std::vector<std::string>{"", "a"});
      },
      [](auto& c) {
        params_of<FallbackParams>(c, 7).attributes.set("value", Tensor::scalar_f32(1));
      },
      [](auto& c) {
        params_of<FallbackParams>(c, 7).attributes.set("texts", *Tensor::from_strings({1}, {"z"}));
      }};
}

std::vector<Mutation> zero_input_mutations() {
  return {[](auto& c) { params_of<GemmParams>(c, 3).a_zero_input = 2; },
          [](auto& c) { params_of<ConvParams>(c, 0).x_zero_input = 2; }};
}

std::vector<Mutation> resize_mutations() {
  using Rule = ResampleRule;
  return {[](auto& c) { params_of<ResizeParams>(c, 9).rule.mode = Rule::Mode::kLinear; },
          [](auto& c) {
            params_of<ResizeParams>(c, 9).rule.coordinates = Rule::Coordinates::kHalfPixel;
          },
          [](auto& c) { params_of<ResizeParams>(c, 9).rule.nearest = Rule::Nearest::kFloor; },
          [](auto& c) { params_of<ResizeParams>(c, 9).rule.antialias = false; },
          [](auto& c) { params_of<ResizeParams>(c, 9).rule.exclude_outside = true; },
          [](auto& c) { params_of<ResizeParams>(c, 9).rule.cubic_a = -0.5; },
          [](auto& c) { params_of<ResizeParams>(c, 9).scales[2] = 2.5; },
          [](auto& c) { params_of<ResizeParams>(c, 9).scales.clear(); },
          [](auto& c) { params_of<ConvParams>(c, 0).transposed = true; }};
}

std::vector<Mutation> attention_mutations() {
  return {[](auto& c) { params_of<AttentionParams>(c, 8).scale = 1; },
          [](auto& c) { params_of<AttentionParams>(c, 8).softcap = 0; },
          [](auto& c) { params_of<AttentionParams>(c, 8).q_heads = 4; },
          [](auto& c) { params_of<AttentionParams>(c, 8).kv_heads = 2; },
          [](auto& c) { params_of<AttentionParams>(c, 8).window = 0; },
          [](auto& c) { params_of<AttentionParams>(c, 8).causal = false; },
          [](auto& c) { params_of<AttentionParams>(c, 8).packed = true; },
          [](auto& c) { params_of<AttentionParams>(c, 8).mask_repeats = true; },
          [](auto& c) { params_of<AttentionParams>(c, 8).nan_rows = true; },
          [](auto& c) { params_of<AttentionParams>(c, 8).masked_score = -1e9; }};
}

std::vector<Mutation> recurrent_mutations() {
  using P = RecurrentParams;
  return {[](auto& c) { params_of<P>(c, 10).cell = P::Cell::kGru; },
          [](auto& c) { params_of<P>(c, 10).direction = P::Direction::kBidirectional; },
          [](auto& c) { params_of<P>(c, 10).activations[0].kind = ActivationKind::kSoftplus; },
          [](auto& c) { params_of<P>(c, 10).activations[0].alpha = 0; },
          [](auto& c) { params_of<P>(c, 10).activations[0].beta = -1; },
          [](auto& c) { params_of<P>(c, 10).activations.clear(); },
          [](auto& c) { params_of<P>(c, 10).clip = 0; },
          [](auto& c) { params_of<P>(c, 10).batch_first = true; },
          [](auto& c) { params_of<P>(c, 10).coupled = true; },
          [](auto& c) { params_of<P>(c, 10).linear_first = true; }};
}

// Each change of one field changes the digest and survives the codec: no field is forgotten by
// either.
TEST(EngineFile, EveryFieldEntersDigestAndCodec) {
  const EngineContents base = sample_engine();
  const std::string digest = *engine_digest(base);
  std::vector<Mutation> mutations;
  for (const auto& list :
       {manifest_mutations(), weight_mutations(), program_mutations(), params_mutations(),
        attention_mutations(), resize_mutations(), recurrent_mutations(), zero_input_mutations()}) {
    mutations.insert(mutations.end(), list.begin(), list.end());
  }
  for (size_t i = 0; i < mutations.size(); ++i) {
    EngineContents changed = sample_engine();
    mutations[i](changed);
    ASSERT_NE(dump_plan(changed), dump_plan(base)) << "mutation " << i << " changes nothing";
    const auto found = engine_digest(changed);
    ASSERT_TRUE(found.is_ok()) << found.status().message();
    EXPECT_NE(*found, digest) << "mutation " << i;
    const auto plan = engine::encode_plan(
        changed, std::vector<engine::WeightPlace>(changed.weights.size() + changed.sources.size()));
    ASSERT_TRUE(plan.is_ok()) << plan.status().message();
    EngineContents decoded;
    const auto places = engine::decode_plan(*plan, {}, decoded);
    ASSERT_TRUE(places.is_ok()) << places.status().message();
    for (size_t w = 0; w < decoded.weights.size(); ++w)
      decoded.weights[w].bytes = changed.weights[w].bytes;
    for (size_t k = 0; k < decoded.sources.size(); ++k)
      decoded.sources[k].bytes = changed.sources[k].bytes;
    decoded.graph_text = changed.graph_text;
    EXPECT_EQ(dump_plan(decoded), dump_plan(changed)) << "mutation " << i;
  }
}

TEST(EngineFile, VolatileFieldsSurviveAndStayOutsideTheDigest) {
  using Change = std::function<void(Volatile&)>;
  const std::vector<Change> changes = {[](auto& v) { v.fingerprint["cpu"] = "z"; },
                                       [](auto& v) { v.build_seconds = 2; },
                                       [](auto& v) { v.steps[0].step = 1; },
                                       [](auto& v) { v.steps[0].check_error = 1; },
                                       [](auto& v) { v.steps[0].check_bound = 1; },
                                       [](auto& v) { v.steps[0].check_elements = 1; },
                                       [](auto& v) { v.steps[0].candidates[0].tactic = "z"; },
                                       [](auto& v) { v.steps[0].candidates[0].config = "z"; },
                                       [](auto& v) { v.steps[0].candidates[0].median_ns = -1; },
                                       [](auto& v) { v.steps[0].candidates[0].samples = 3; },
                                       [](auto& v) { v.steps[0].candidates[1].refusal = "z"; },
                                       [](auto& v) { v.certificate.checked_against = "z"; },
                                       [](auto& v) { v.certificate.data = "z"; },
                                       [](auto& v) { v.certificate.data_hash = "z"; },
                                       [](auto& v) { v.certificate.outputs[0].output = "z"; },
                                       [](auto& v) { v.certificate.outputs[0].max_abs_error = 2; },
                                       [](auto& v) { v.certificate.outputs[0].max_rel_error = 2; },
                                       [](auto& v) { v.certificate.demoted = {}; },
                                       [](auto& v) { v.notes = {"z"}; }};
  const EngineContents base = sample_engine();
  for (size_t i = 0; i < changes.size(); ++i) {
    EngineContents changed = sample_engine();
    changes[i](changed.volatile_section);
    ASSERT_NE(dump_volatile(changed.volatile_section), dump_volatile(base.volatile_section)) << i;
    EXPECT_EQ(*engine_digest(changed), *engine_digest(base)) << i;
    const auto bytes = engine::encode_volatile(changed.volatile_section);
    const auto decoded = engine::decode_volatile(*bytes);
    ASSERT_TRUE(decoded.is_ok()) << decoded.status().message();
    EXPECT_EQ(dump_volatile(*decoded), dump_volatile(changed.volatile_section)) << i;
  }
}

}  // namespace
}  // namespace stoker
