// The text form of real graphs: printed, parsed and printed again without a change, as imported and
// after the passes. Zoo networks always; trained ones where the test data folder is.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/hash.h"
#include "import/onnx/import.h"
#include "passes/pipeline.h"
#include "tests/zoo/structure.h"
#include "zoo/zoo.h"

namespace stoker {
namespace {

using Constants = std::map<std::string, Tensor>;

void collect(const Graph& graph, Constants& constants) {
  for (const auto& value : graph.values()) {
    if (value->constant) constants.emplace(content_hash(*value->constant), *value->constant);
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->subgraphs) collect(*inner, constants);
  }
}

void expect_round_trip(const Graph& graph, const std::string& what) {
  Constants constants;
  collect(graph, constants);
  const std::string text = print(graph);
  const auto parsed = parse_graph(text, [&](const ConstantReference& wanted) -> Result<Tensor> {
    const auto it = constants.find(wanted.hash);
    if (it == constants.end()) return Status(StatusCode::kNotFound, "no constant " + wanted.hash);
    return it->second;
  });
  ASSERT_TRUE(parsed) << what << ": " << parsed.status().message();
  EXPECT_TRUE(print(**parsed) == text) << what;
}

void check(ImportedModel& model, const std::string& name) {
  expect_round_trip(*model.graph, name + " as imported");
  const auto report = run_passes(*model.graph, {});
  ASSERT_TRUE(report) << name << ": " << report.status().message();
  expect_round_trip(*model.graph, name + " after the passes");
}

TEST(RoundTrip, ZooNetworks) {
  for (const ZooEntry& entry : zoo_entries()) {
    auto model = import_structure(std::string(entry.name));
    ASSERT_TRUE(model) << model.status().message();
    check(*model, std::string(entry.name));
  }
  for (const char* name : {"lenet", "mobilenetv2"}) {
    const auto bytes = zoo_model_bytes(name);
    ASSERT_TRUE(bytes);
    auto model = import_onnx_bytes(std::as_bytes(std::span(*bytes)), "");
    ASSERT_TRUE(model) << model.status().message();
    check(*model, name);
  }
}

TEST(RoundTrip, TrainedNetworks) {
  const std::filesystem::path folder = std::filesystem::path(STOKER_TEST_DATA) / "models";
  // The trained models are no part of the project; the zoo above always runs.
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no test data under " << folder;
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    auto model = import_onnx_file(entry.path().string());
    ASSERT_TRUE(model) << model.status().message();
    check(*model, entry.path().filename().string());
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace stoker
