// One matrix in two roles (tied embeddings): stored once where a tactic reads the packed form, with
// the same answers as two copies; twice where a reader cannot.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "lower/lower_graph.h"
#include "runtime/loaded_engine.h"
#include "tune/contest.h"

namespace stoker {
namespace {

constexpr const char* kTied = R"(
graph @tied(%ids: i64[N]) -> (%logits: f32[N,40]) {
  @table = const f32[40,24] hash 00000000000000000000000000000000  # origin "table"
  %x = gather(@table, %ids) {axis=0}
  @columns = transpose(@table) {perm=[1,0]} : const f32[24,40] hash 00000000000000000000000000000001
  %logits = matmul(%x, @columns)
}
)";

Tensor table() {
  Tensor tensor = *Tensor::allocate(DType::kF32, {40, 24});
  auto values = tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6;
  return tensor;
}

Result<Tensor> lookup(const ConstantReference& reference) {
  const Tensor plain = table();
  if (reference.hash.back() == '0') return plain;
  Tensor turned = *Tensor::allocate(DType::kF32, {24, 40});
  for (size_t r = 0; r < 40; ++r) {
    for (size_t c = 0; c < 24; ++c)
      turned.values<float>()[c * 40 + r] = plain.values<float>()[r * 24 + c];
  }
  return turned;
}

Result<std::shared_ptr<LoadedEngine>> build_tied(const std::string& text, bool reference_only) {
  STOKER_ASSIGN(const auto graph, parse_graph(text, lookup));
  STOKER_ASSIGN(EngineContents contents, lower_graph(*graph, {}));
  const TacticRegistry registry(IsaLevel::kBaseline);
  STOKER_TRY(assign_layouts(contents, registry, true, {}));
  ContestOptions options;
  options.timing = false;
  options.reference_only = reference_only;
  const auto pool = shared_worker_pool({});
  STOKER_TRY(choose_tactics(contents, registry, *pool, options));
  STOKER_TRY(finish_plan(contents, registry));
  STOKER_TRY(verify_plan(contents, tactic_lists()));
  STOKER_ASSIGN(const RuntimeOptions runtime, runtime_options({}));
  return LoadedEngine::create(std::move(contents), runtime);
}

std::vector<float> answer(const std::shared_ptr<LoadedEngine>& engine) {
  const auto outputs =
      Engine(engine).run({{"ids", Tensor::from<int64_t>({5}, {0, 39, -1, 17, 16})}});
  EXPECT_TRUE(outputs) << outputs.status().message();
  if (!outputs) return {};
  const auto values = outputs->at("logits").values<float>();
  return {values.begin(), values.end()};
}

TEST(SharedWeights, TiedTableIsStoredOnce) {
  const auto engine = build_tied(kTied, false), reference = build_tied(kTied, true);
  ASSERT_TRUE(engine) << engine.status().message();
  ASSERT_TRUE(reference) << reference.status().message();
  ASSERT_EQ((*engine)->contents().weights.size(), 1u);
  EXPECT_EQ((*engine)->contents().weights[0].packing, Packing::kGemmPanel);
  EXPECT_EQ((*engine)->main().steps[0].tactic, "gather_panel");
  EXPECT_EQ(answer(*engine), answer(*reference));
}

TEST(SharedWeights, NotWhereAnotherReaderWantsItPlain) {
  std::string text = kTied;
  text.replace(text.find(") -> ("), 6, ") -> (%sum: f32[40,24], ");
  text.insert(text.rfind('}'), "  %sum = add(@table, %bias)\n");
  text.replace(text.find("%ids: i64[N]"), 12, "%ids: i64[N], %bias: f32[24]");
  const auto engine = build_tied(text, false);
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_EQ((*engine)->contents().weights.size(), 2u);
  EXPECT_EQ((*engine)->main().steps[0].tactic, "gather_rows");
}

}  // namespace
}  // namespace stoker
