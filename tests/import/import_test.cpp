// The importer's structure: symbols, functions, sub-graphs, initializers, order, and what
// it says about models that are wrong.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/import.h"

#include <gtest/gtest.h>

#include "tests/import/onnx_builder.h"
#include "zoo/zoo.h"

namespace stoker::test {
namespace {

ModelText relu_model(int64_t opset = 17) {
  ModelText model(opset);
  model.input("x", {"N", "3"});
  model.node("Relu", {"x"}, {"y"}).named("the_relu");
  model.output("y");
  return model;
}

TEST(Import, NamesOriginsAndTypes) {
  const auto imported = import_text(relu_model());
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const Graph& graph = *imported->graph;
  ASSERT_EQ(graph.nodes().size(), 1u);
  const Node& node = *graph.nodes().front();
  EXPECT_TRUE(node.is("relu"));
  EXPECT_EQ(node.origins, std::vector<std::string>{"the_relu"});
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.outputs[0]->name, "y");
  EXPECT_EQ(type_text(graph.outputs[0]->type), "f32[N,3]");
  EXPECT_EQ(imported->opsets, (std::vector<std::pair<std::string, int64_t>>{{"", 17}}));
  ModelText unnamed = relu_model();
  unnamed.graph().mutable_node(0)->clear_name();
  const auto second = import_text(unnamed);
  ASSERT_TRUE(second.is_ok());
  EXPECT_EQ(second->graph->nodes().front()->origins, std::vector<std::string>{"Relu_0"});
}

TEST(Import, OutputsStandOnce) {
  ModelText model = relu_model();
  *model.graph().add_output() = model.graph().output(0);
  const auto imported = import_text(model);
  ASSERT_FALSE(imported.is_ok());
  EXPECT_EQ(imported.status().code(), StatusCode::kInvalidModel);
  EXPECT_NE(imported.status().message().find("graph output 'y' stands twice"), std::string::npos);
}

TEST(Import, SymbolsStayApart) {
  ModelText model(17);
  model.input("a", {"batch size", "batch-size", "", "-1"});
  model.input("b", {"batch size"});
  model.node("Relu", {"a"}, {"y"});
  model.node("Relu", {"b"}, {"z"});
  model.output("y");
  model.output("z");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const Dims& a = imported->graph->inputs[0]->type.dims;
  EXPECT_EQ(a[0], imported->graph->inputs[1]->type.dims[0]);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_FALSE(a[i].is_const());
    for (size_t j = i + 1; j < a.size(); ++j) EXPECT_NE(a[i], a[j]) << i << " and " << j;
  }
  EXPECT_TRUE(Dim::parse(a[0].text()).is_ok());
}

TEST(Import, ShapesCanBeReplaced) {
  ModelText model(17);
  model.input("x", {"N", "3"});
  model.input("m", {"N", "1"});
  model.node("Add", {"x", "m"}, {"y"});
  model.output("y");
  ImportOptions options;
  options.input_shapes["x"] = {Dim(8), Dim(3)};
  const auto imported = import_text(model, options);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  EXPECT_EQ(type_text(imported->graph->inputs[1]->type), "f32[8,1]");  // N everywhere
  EXPECT_EQ(type_text(imported->graph->outputs[0]->type), "f32[8,3]");
  options.input_shapes["x"] = {Dim(8)};
  expect_in(failure(import_text(model, options)), "does not fit");
  options.input_shapes = {{"nothing", {Dim(1)}}};
  expect_in(failure(import_text(model, options)), "the model's inputs are: x, m");
}

TEST(Import, InputsCanBecomeConstants) {
  ModelText model(17);
  model.input("x", {"2", "3"});
  model.input("axes", {"1"}, kInt64);
  model.node("ReduceSum", {"x", "axes"}, {"y"}).set("keepdims", int64_t{0});
  model.output("y");
  ImportOptions options;
  options.constant_inputs["axes"] = Tensor::from<int64_t>({1}, {1});
  const auto imported = import_text(model, options);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  EXPECT_EQ(imported->graph->inputs.size(), 1u);
  EXPECT_EQ(type_text(imported->graph->outputs[0]->type), "f32[2]");
  options.constant_inputs["axes"] = Tensor::scalar_f32(1);
  expect_in(failure(import_text(model, options)), "does not fit");
}

TEST(Import, InitializersThatAreInputsToo) {
  ModelText model(8);
  model.model.set_ir_version(3);
  model.input("x", {"2"});
  model.input("w", {"2"});
  model.initializer<float>("w", {2}, {1, 2});
  model.initializer<float>("unused", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  ASSERT_EQ(imported->graph->inputs.size(), 1u);
  const Value* weight = imported->graph->find_value("w");
  ASSERT_TRUE(weight && weight->is_constant());
  EXPECT_EQ(weight->origin, "w");
  EXPECT_EQ(imported->graph->find_value("unused"), nullptr);
}

TEST(Import, SparseInitializer) {
  ModelText model(13);
  model.input("x", {"4"});
  auto* sparse = model.graph().add_sparse_initializer();
  fill_tensor(*sparse->mutable_values(), {2}, std::vector<float>{5, 7});
  sparse->mutable_values()->set_name("w");
  fill_tensor(*sparse->mutable_indices(), {2}, std::vector<int64_t>{1, 3});
  sparse->add_dims(4);
  model.node("Add", {"x", "w"}, {"y"});
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const auto values = imported->graph->find_value("w")->constant->values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 5, 0, 7}));
  sparse->mutable_indices()->set_int64_data(1, 4);
  expect_in(failure(import_text(model)), "lies outside");
}

TEST(Import, FunctionsAreInlined) {
  ModelText model(17);
  model.input("x", {"4"});
  model.output("y");
  auto* function = model.model.add_functions();
  function->set_domain("mine");
  function->set_name("Last");
  function->add_opset_import()->set_version(11);  // its own opset: axes as attribute
  for (const char* name : {"a", "b"}) function->add_input(name);
  function->add_output("r");
  function->add_attribute("unused");
  auto* fallback = function->add_attribute_proto();
  fallback->set_name("alpha_axis");
  fallback->set_type(onnx::AttributeProto::INT);
  fallback->set_i(0);
  add_node(*function, "Unsqueeze", {"a"}, {"wide"}).ints("axes", {0});
  add_node(*function, "Concat", {"wide", "wide"}, {"r"}).refer("axis", "alpha_axis").named("join");
  model.node("Last", {"x"}, {"m"}).domain("mine").named("first");
  model.node("Last", {"x"}, {"n"}).domain("mine").named("second").set("alpha_axis", int64_t{1});
  model.node("Reshape", {"n", "shape"}, {"nr"});
  model.initializer<int64_t>("shape", {2}, {2, 4});
  model.node("Add", {"m", "nr"}, {"y"});
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const Value* m = imported->graph->find_value("m");
  const Value* n = imported->graph->find_value("n");
  ASSERT_TRUE(m && n);
  EXPECT_EQ(type_text(m->type), "f32[2,4]");
  EXPECT_EQ(type_text(n->type), "f32[1,8]");
  EXPECT_EQ(m->producer->origins, std::vector<std::string>{"first/join"});
  EXPECT_NE(imported->graph->find_value("second/wide"), nullptr);
}

TEST(Import, RecursiveFunctionsAreRefused) {
  ModelText model = relu_model();
  for (const auto& [name, callee] : {std::pair{"A", "B"}, std::pair{"B", "A"}}) {
    auto* function = model.model.add_functions();
    function->set_domain("mine");
    function->set_name(name);
    function->add_input("a");
    function->add_output("r");
    add_node(*function, callee, {"a"}, {"r"}).domain("mine");
  }
  model.node("A", {"y"}, {"z"}).domain("mine");
  expect_in(failure(import_text(model)), "calls itself");
}

TEST(Import, BranchesTakeCapturedValuesAsInputs) {
  ModelText model(17);
  model.input("c", {}, onnx::TensorProto::BOOL);
  model.input("x", {"N"});
  model.input("z", {"N"});
  model.initializer<float>("w", {1}, {3});
  model.node("Relu", {"x"}, {"h"});
  NodeText node = model.node("If", {"c"}, {"y"});
  auto& yes = node.graph("then_branch");
  add_node(yes, "Add", {"h", "w"}, {"t"});
  yes.add_output()->set_name("t");
  auto& no = node.graph("else_branch");
  add_node(no, "Mul", {"z", "h"}, {"e"});
  no.add_output()->set_name("e");
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const Status valid = verify(*imported->graph);
  EXPECT_TRUE(valid.is_ok()) << valid.message();
  const Node& branch = *imported->graph->nodes().back();
  ASSERT_TRUE(branch.is("if"));
  ASSERT_EQ(branch.inputs.size(), 3u);
  EXPECT_EQ(branch.inputs[1]->name, "h");
  EXPECT_EQ(branch.inputs[2]->name, "z");
  ASSERT_EQ(branch.subgraphs.size(), 2u);
  for (const auto& graph : branch.subgraphs) {
    ASSERT_EQ(graph->inputs.size(), 2u);
    EXPECT_EQ(graph->inputs[0]->origin, "h");
    EXPECT_EQ(graph->inputs[1]->origin, "z");
  }
  EXPECT_NE(branch.subgraphs[0]->find_value("w"), nullptr) << "constants are copied, not passed";
  EXPECT_EQ(type_text(branch.outputs[0]->type), "f32[N]");
}

TEST(Import, NestingIsLimited) {
  ModelText model(17);
  model.input("c", {}, onnx::TensorProto::BOOL);
  model.input("x", {"2"});
  model.output("y");
  onnx::GraphProto* graph = &model.graph();
  for (int depth = 0; depth < 200; ++depth) {
    NodeText node = add_node(*graph, "If", {"c"}, {depth == 0 ? "y" : "y" + std::to_string(depth)});
    auto& other = node.graph("else_branch");
    add_node(other, "Relu", {"x"}, {"o" + std::to_string(depth)});
    other.add_output()->set_name("o" + std::to_string(depth));
    graph = &node.graph("then_branch");
    graph->add_output()->set_name("y" + std::to_string(depth + 1));
  }
  add_node(*graph, "Relu", {"x"}, {"y200"});
  EXPECT_FALSE(import_text(model).is_ok());
}

TEST(Import, NodesOutOfOrderAreSorted) {
  ModelText model(17);
  model.input("x", {"2"});
  model.node("Neg", {"h"}, {"y"});
  model.node("Relu", {"x"}, {"h"});
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  EXPECT_TRUE(imported->graph->nodes().front()->is("relu"));
}

TEST(Import, CyclesNameTheirNodes) {
  ModelText model(17);
  model.input("x", {"2"});
  model.node("Add", {"x", "b"}, {"a"}).named("first");
  model.node("Relu", {"a"}, {"b"}).named("second");
  model.output("b");
  const std::string text = failure(import_text(model));
  expect_in(text, "cycle of 2 nodes");
  expect_in(text, "'first'");
  expect_in(text, "'second'");
}

TEST(Import, AllProblemsAtOnce) {
  ModelText model(17);
  model.input("x", {"2"});
  std::string last = "x";
  for (int i = 0; i < 25; ++i) {  // a chain: each depends on one that failed before it
    const std::string next = "v" + std::to_string(i);
    model.node("Nonsense", {last}, {next}).named("node" + std::to_string(i));
    last = next;
  }
  model.output(last);
  const auto imported = import_text(model);
  const std::string text = failure(imported);
  EXPECT_EQ(imported.status().code(), StatusCode::kUnsupported);
  expect_in(text, "25 problems:");
  expect_in(text, "node 'node19' (Nonsense, ai.onnx 17): unknown operator");
  expect_in(text, "... and 5 more");
  EXPECT_EQ(text.find("node20"), std::string::npos);
}

TEST(Import, WrongModelsSayWhy) {
  ModelText missing = relu_model();
  missing.node("Add", {"y", "nowhere"}, {"z"}).named("adder");
  expect_in(failure(import_text(missing)),
            "node 'adder' (Add, ai.onnx 17): input 'nowhere' is produced by no");
  ModelText twice = relu_model();
  twice.node("Neg", {"x"}, {"y"});
  expect_in(failure(import_text(twice)), "output 'y' has the name of another value");
  ModelText unknown = relu_model();
  unknown.node("Nonsense", {"y"}, {"z"}).domain("mine");
  expect_in(failure(import_text(unknown)), "(Nonsense, mine): unknown operator");
  ModelText no_output = relu_model();
  no_output.output("q");
  expect_in(failure(import_text(no_output)), "graph output 'q'");
  ModelText empty(17);
  expect_in(failure(import_text(empty)), "no outputs");
  expect_in(failure(import_text(relu_model(99))), "opset 99 is newer");
  ModelText bad_type = relu_model();
  bad_type.input("t", {"1"}, 77);
  expect_in(failure(import_text(bad_type)), "input 't': expected an element type");
  ModelText bad_size = relu_model();
  bad_size.input("t", {"-7"});
  expect_in(failure(import_text(bad_size)), "found -7");
  ModelText bytes = relu_model();
  bytes.initializer<float>("w", {3}, {1, 2});
  expect_in(failure(import_text(bytes)), "initializer 'w': expected 3 entries of float_data");
  ModelText overflow = relu_model();
  overflow.initializer<float>("w", {INT64_MAX, 8}, {1});
  EXPECT_FALSE(import_text(overflow).is_ok());
  ModelText huge = relu_model();
  huge.initializer<float>("w", {1 << 30, 16}, {1});
  EXPECT_FALSE(import_text(huge).is_ok());
  ModelText attribute = relu_model();
  attribute.node("Relu", {"y"}, {"z"}).set("slope", int64_t{3});
  expect_in(failure(import_text(attribute)), "attribute 'slope'");
  ModelText arity = relu_model();
  arity.node("Relu", {"y", "x"}, {"z"});
  EXPECT_FALSE(import_text(arity).is_ok());
}

TEST(Import, WrongFilesSayWhatTheyAre) {
  expect_in(failure(import_text(std::string())), "an empty file");
  expect_in(failure(import_text(std::string("version https://git-lfs.github.com/spec/v1\noid"))),
            "Git LFS");
  expect_in(failure(import_text(std::string("<!DOCTYPE html>"))), "HTML");
  expect_in(failure(import_onnx_file("/nonexistent/model.onnx")), "cannot open");
  expect_in(failure(import_onnx_file("/")), "expected a regular file");
  ImportOptions options;
  options.limits.max_file_bytes = 10;
  EXPECT_EQ(import_text(relu_model(), options).status().code(), StatusCode::kResourceExhausted);
}

TEST(Import, TruncatedModelsNeverLoad) {
  const auto bytes = zoo_model_bytes("lenet");
  ASSERT_TRUE(bytes.is_ok());
  ASSERT_TRUE(import_text(*bytes).is_ok()) << import_text(*bytes).status().message();
  for (size_t i = 0; i < 200; ++i) {
    const size_t length = bytes->size() * i / 200;
    EXPECT_FALSE(import_text(bytes->substr(0, length)).is_ok()) << length << " bytes";
  }
}

TEST(Import, DamagedModelsDoNotCrash) {
  ModelText model = relu_model();  // small, so that damage meets structure and not weights
  model.initializer<float>("w", {3}, {1, 2, 3});
  model.node("Add", {"y", "w"}, {"z"}).named("adder");
  model.output("z");
  const std::string whole = model.bytes();
  int loaded = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto result = import_text(damaged);
      if (!result.is_ok()) {
        EXPECT_FALSE(result.status().message().empty()) << i << ":" << bit;
        EXPECT_NE(result.status().code(), StatusCode::kInternal) << result.status().message();
      }
      loaded += result.is_ok();
    }
  }
  EXPECT_GT(loaded, 0);  // names may change without harm
}

}  // namespace
}  // namespace stoker::test
