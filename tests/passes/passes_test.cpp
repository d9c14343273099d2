// Runs the text goldens beside this file. Each *.test holds cases:
//   == name: pass, pass, ...      the passes to run; "all" is the whole pipeline
//   input graph
//   ---
//   expected graph, or "same as input"
// `--update` rewrites the expected parts. The verifier runs after every pass.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "passes/fuse.h"
#include "passes/pipeline.h"
#include "tests/passes/evaluate.h"

namespace stoker {
namespace {

bool update_goldens = false;

struct Case {
  std::string title;
  std::vector<std::string> passes;
  std::string input, expected;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) {
    item.erase(0, item.find_first_not_of(' '));
    items.push_back(item);
  }
  return items;
}

// The comment lines in front of the first case are returned in `head`.
std::vector<Case> read_cases(const std::string& text, std::string& head) {
  std::vector<Case> cases;
  bool expected = false;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("== ", 0) == 0) {
      const size_t colon = line.find(':');
      cases.push_back({line.substr(3, colon - 3), split_list(line.substr(colon + 1)), "", ""});
      expected = false;
    } else if (cases.empty()) {
      head += line + "\n";
    } else if (line == "---") {
      expected = true;
    } else {
      (expected ? cases.back().expected : cases.back().input) += line + "\n";
    }
  }
  return cases;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + "\n";
}

// The optimized graph must compute what the original computes.
Status compare(const Graph& original, const Graph& optimized) {
  for (const int64_t extent : {2, 5}) {
    STOKER_ASSIGN(const auto inputs, testing_support::random_inputs(original, extent, 7));
    STOKER_ASSIGN(const auto wanted, testing_support::evaluate_graph(original, inputs));
    STOKER_ASSIGN(const auto found, testing_support::evaluate_graph(optimized, inputs));
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double worst = testing_support::difference(wanted[i], found[i]);
      if (!(worst <= 1e-5)) {
        return error(StatusCode::kCheckFailed, "output {} differs by {}", original.outputs[i]->name,
                     worst);
      }
      if (original.outputs[i]->name != optimized.outputs[i]->name) {
        return error(StatusCode::kCheckFailed, "output {} lost its name",
                     original.outputs[i]->name);
      }
    }
  }
  return Status::ok();
}

Result<std::string> run_passes_of(const Case& test, Graph* graph) {
  if (test.passes == std::vector<std::string>{"all"}) {
    PipelineOptions options;
    options.verify_each = true;
    STOKER_TRY(run_passes(*graph, options).status());
    return print(*graph);
  }
  for (const std::string& name : test.passes) {
    const PassEntry* pass = find_pass(name);
    if (!pass) return invalid_argument("there is no pass '{}'", name);
    STOKER_TRY(run_pass(*pass, *graph, {}).status());
    STOKER_TRY(verify(*graph).at("after " + name));
  }
  return print(*graph);
}

Result<std::string> run_case(const Case& test) {
  STOKER_ASSIGN(auto graph, parse_graph(test.input));
  STOKER_TRY(verify(*graph).at("input"));
  const auto original = graph->clone();
  STOKER_ASSIGN(std::string text, run_passes_of(test, graph.get()));
  STOKER_TRY(compare(*original, *graph));
  return text;
}

std::string case_text(const Case& test, const std::string& expected) {
  std::string passes;
  for (const std::string& pass : test.passes) passes += (passes.empty() ? "" : ", ") + pass;
  return "== " + test.title + ": " + passes + "\n" + trimmed(test.input) + "---\n" + expected +
         "\n";
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, gives_the_expected_graphs) {
  const std::string path = std::string(STOKER_SOURCE_DIR) + "/tests/passes/" + GetParam() + ".test";
  std::string updated;
  const auto cases = read_cases(read_file(path), updated);
  ASSERT_FALSE(cases.empty()) << path;
  for (const Case& test : cases) {
    SCOPED_TRACE(GetParam() + ".test: " + test.title);
    const auto result = run_case(test);
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    const bool same = trimmed(test.expected) == "same as input\n";
    const std::string wanted = same ? trimmed(test.input) : trimmed(test.expected);
    if (update_goldens) {
      updated += case_text(test, same && *result == wanted ? "same as input\n" : *result);
    } else {
      EXPECT_EQ(*result, wanted);
    }
  }
  if (update_goldens) std::ofstream(path) << trimmed(updated);
}

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STOKER_SOURCE_DIR) + "/tests/passes")) {
    if (entry.path().extension() == ".test") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(passes, Golden, testing::ValuesIn(golden_files()),
                         [](const auto& info) { return info.param; });

std::unique_ptr<Graph> parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().message();
  return graph.is_ok() ? std::move(*graph) : nullptr;
}

constexpr const char* kChain = R"(graph @g(%x: f32[2,8], %r: f32[2,4]) -> (%y: f32[2,4]) {
  @w = const f32[8,4] hash 00000000000000000000000000000000  # origin "w"
  @b = const f32[4] {1, 2, 3, 4}  # origin "b"
  %m = matmul(%x, @w) : f32[2,4]  # onnx "MatMul_0"
  %a = add(%m, @b) : f32[2,4]  # onnx "Add_1"
  %c = relu(%a) : f32[2,4]  # onnx "Relu_2"
  %y = add(%c, %r) : f32[2,4]  # onnx "Add_3"
}
)";

// Knows kernels for fused nodes of at most `limit` operations.
class LimitedOracle : public TacticOracle {
 public:
  explicit LimitedOracle(size_t limit) : limit_(limit) {}
  Status has_tactic(const Node& node) const override {
    if (!node.is("fused")) return internal_error("asked about {}", node.op->name);
    if (node.subgraphs[0]->nodes().size() <= limit_) return Status::ok();
    return unsupported("at most {} operations", limit_);
  }

 private:
  size_t limit_;
};

size_t fused_size(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->is("fused")) return node->subgraphs[0]->nodes().size();
  }
  return 0;
}

TEST(oracle, the_longest_chain_with_a_tactic_is_taken) {
  for (const size_t limit : {size_t{4}, size_t{3}, size_t{2}}) {
    const auto graph = parsed(kChain);
    const LimitedOracle oracle(limit);
    std::vector<Refusal> refusals;
    const auto changes = run_pass(*find_pass("gemm_epilogue"), *graph, {&oracle, &refusals});
    ASSERT_TRUE(changes.is_ok());
    EXPECT_EQ(*changes, 1);
    EXPECT_EQ(fused_size(*graph), limit);
    EXPECT_EQ(refusals.size(), 4 - limit);
    EXPECT_TRUE(verify(*graph).is_ok()) << verify(*graph).message();
  }
}

TEST(oracle, a_refused_fusion_leaves_the_graph_as_it_was) {
  const auto graph = parsed(kChain);
  const std::string before = print(*graph);
  const LimitedOracle oracle(1);
  std::vector<Refusal> refusals;
  const auto changes = run_pass(*find_pass("gemm_epilogue"), *graph, {&oracle, &refusals});
  ASSERT_TRUE(changes.is_ok());
  EXPECT_EQ(*changes, 0);
  EXPECT_EQ(print(*graph), before);
  ASSERT_EQ(refusals.size(), 3u);
  EXPECT_EQ(refusals[0].node, "MatMul_0 + Add_1 + Relu_2 + Add_3");
  EXPECT_EQ(refusals[0].reason, "at most 1 operations");
}

TEST(fuse, unfuse_gives_back_the_graph) {
  const auto graph = parsed(kChain);
  const std::string before = print(*graph);
  ASSERT_TRUE(run_pass(*find_pass("gemm_epilogue"), *graph, {}).is_ok());
  EXPECT_EQ(fused_size(*graph), 4u);
  const auto count = unfuse(*graph);
  ASSERT_TRUE(count.is_ok());
  EXPECT_EQ(*count, 1);
  EXPECT_EQ(print(*graph), before);
}

TEST(pipeline, names_are_checked_and_passes_can_be_left_out) {
  const auto graph = parsed(kChain);
  PipelineOptions options;
  options.disabled = {"gemm_epilog"};
  EXPECT_NE(run_passes(*graph, options).status().message().find("there is no pass 'gemm_epilog'"),
            std::string::npos);
  options.disabled = {"gemm_epilogue", "region"};
  std::vector<std::string> seen;
  options.dump_after = [&](std::string_view pass, const Graph&) { seen.emplace_back(pass); };
  const auto report = run_passes(*graph, options);
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(fused_size(*graph), 0u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "gemm_epilogue"), 0);
  EXPECT_EQ(report->passes.size(), seen.size());
  options = {};
  options.stop_after = "cse";
  const auto early = run_passes(*graph, options);
  ASSERT_TRUE(early.is_ok());
  EXPECT_EQ(early->passes.back().name, "cse");
}

TEST(pipeline, long_chains_take_linear_time) {
  Graph graph("chain");
  Value* value = graph.add_input("x", ValueType::tensor(DType::kF32, {Dim(4)}));
  for (int i = 0; i < 100000; ++i) {
    Node* node = graph.add_node(*find_op(i % 2 ? "relu" : "tanh"), {value});
    ASSERT_TRUE(graph.infer(node).is_ok());
    value = node->outputs[0];
  }
  graph.outputs = {value};
  const auto report = run_passes(graph, {});
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  double seconds = 0;
  for (const auto& pass : report->passes) seconds += pass.seconds;
  EXPECT_LT(seconds, 60.0);
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) stoker::update_goldens |= std::string(argv[i]) == "--update";
  return RUN_ALL_TESTS();
}
