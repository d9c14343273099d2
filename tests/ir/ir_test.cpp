// The graph, its text form, its verifier and its parser.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "ir/graph.h"

namespace stoker {
namespace {

std::unique_ptr<Graph> parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().message();
  return graph.is_ok() ? std::move(*graph) : nullptr;
}

std::string error_of(const std::string& text) {
  const auto graph = parse_graph(text);
  return graph.is_ok() ? "" : graph.status().message();
}

void expect_error(const std::string& text, const std::string& part) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(part), std::string::npos)
      << "wanted '" << part << "', got '" << error << "'";
}

void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  const auto again = parsed(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), text);
  const Status status = verify(*again);
  EXPECT_TRUE(status.is_ok()) << status.message();
}

constexpr const char* kSmall = R"(graph @small(%x: f32[N,3]) -> (%y: f32[N,3]) {
  symbols { N: bind 1..64 }
  @b = const f32[3] {1, -0.5, 1e-30}  # origin "layer.bias"
  %s = add(%x, @b) : f32[N,3]  # onnx "Add_0"
  %y = relu(%s) : f32[N,3] name "activation"  # onnx "Relu_1", "extra"
}
)";

TEST(text, prints_what_was_parsed) {
  const auto graph = parsed(kSmall);
  ASSERT_TRUE(graph);
  EXPECT_EQ(print(*graph), kSmall);
  EXPECT_TRUE(verify(*graph).is_ok()) << verify(*graph).message();
  const Node& relu = *graph->nodes().back();
  EXPECT_EQ(relu.name, "activation");
  EXPECT_EQ(relu.origins, (std::vector<std::string>{"Relu_1", "extra"}));
  EXPECT_EQ(graph->find_value("b")->origin, "layer.bias");
  EXPECT_EQ(graph->find_symbol("N")->max, 64);
}

TEST(text, infers_types_that_are_left_out) {
  const auto graph = parsed("graph @g(%x: f32[N,3]) -> (%y: f32[N,3]) {\n  %y = relu(%x)\n}\n");
  ASSERT_TRUE(graph);
  EXPECT_EQ(type_text(graph->find_value("y")->type), "f32[N,3]");
}

TEST(text, every_kind_of_attribute_round_trips) {
  Graph graph("attributes");
  Value* x = graph.add_input("x", ValueType::tensor(DType::kF32, {Dim(2)}));
  const Node* node =
      graph.add_node(*find_op("relu"), {x},
                     {{"int", Attribute(int64_t{-3})},
                      {"float", Attribute(1.0)},
                      {"tiny", Attribute(0.1)},
                      {"nan", Attribute(std::nan(""))},
                      {"infinite", Attribute(-HUGE_VAL)},
                      {"big", Attribute(1e300)},
                      {"text", Attribute(std::string("a \"b\"\n\\"))},
                      {"dtype", Attribute(DType::kBF16)},
                      {"ints", Attribute(std::vector<int64_t>{1, -2})},
                      {"no_ints", Attribute(std::vector<int64_t>{})},
                      {"floats", Attribute(std::vector<double>{1, 2.5})},
                      {"no_floats", Attribute(std::vector<double>{})},
                      {"strings", Attribute(std::vector<std::string>{"p", ""})},
                      {"no_strings", Attribute(std::vector<std::string>{})},
                      {"tensor", Attribute(Tensor::from<float>({2}, {0.1f, -0.0f}))}});
  node->outputs[0]->type = x->type;
  graph.outputs = {node->outputs[0]};
  const auto again = parsed(print(graph));
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), print(graph));
  const Attributes& attributes = again->nodes().front()->attributes;
  EXPECT_EQ(attributes.get_int("int"), -3);
  EXPECT_EQ(attributes.get_float("float"), 1.0);
  EXPECT_EQ(attributes.get_float("tiny"), 0.1);
  EXPECT_TRUE(std::isnan(attributes.get_float("nan")));
  EXPECT_EQ(attributes.get_string("text"), "a \"b\"\n\\");
  EXPECT_EQ(attributes.get_dtype("dtype", DType::kF32), DType::kBF16);
  EXPECT_EQ(attributes.get_floats("floats"), (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(std::holds_alternative<std::vector<std::string>>(attributes.all().at("no_strings")));
  EXPECT_TRUE(std::signbit(attributes.get_tensor("tensor")->values<float>()[1]));
}

TEST(text, constants_of_every_dtype_keep_their_bits) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kString || dtype == DType::kC64 || dtype == DType::kC128) continue;
    for (int seed = 0; seed < 40; ++seed) {
      auto tensor = Tensor::allocate(dtype, {3});
      ASSERT_TRUE(tensor.is_ok());
      auto* bytes = static_cast<unsigned char*>(tensor->data());
      for (int64_t b = 0; b < tensor->bytes(); ++b) {
        const int noise = (seed * 7919 + static_cast<int>(b) * 104729) >> 3;
        bytes[b] = static_cast<unsigned char>(dtype == DType::kBool ? noise & 1
                                              : seed == 0           ? 0xff
                                                                    : noise);
      }
      // Bits behind the last element of a packed dtype mean nothing.
      const int64_t tail = tensor->count() * dtype_bits(dtype) % 8;
      if (tail) bytes[tensor->bytes() - 1] &= static_cast<unsigned char>((1 << tail) - 1);
      Graph graph("constants");
      graph.outputs = {graph.add_constant("c", *tensor)};
      const auto again = parsed(print(graph));
      ASSERT_TRUE(again) << print(graph);
      EXPECT_EQ(content_hash(*again->find_value("c")->constant), content_hash(*tensor))
          << print(graph);
    }
  }
}

TEST(text, strange_names_are_quoted) {
  Graph graph("a b\"c");
  Value* x = graph.add_input("in put:0", ValueType::tensor(DType::kF32, {Dim(2)}));
  Node* node = graph.add_node(*find_op("relu"), {x}, {}, 1, nullptr, "no\nde");
  ASSERT_TRUE(graph.infer(node).is_ok());
  graph.outputs = {node->outputs[0]};
  expect_round_trip(graph);
}

TEST(text, subgraphs_and_elements_and_left_out_inputs) {
  const auto graph = parsed(R"(graph @g(%c: bool[], %x: f32[N,4], %top: f32[]) -> (%y: f32[N,4]) {
  %s = shape(%x)
  %k = clip(%x, _, %top)
  %y = if(%c, %k) : f32[N,4]
    graph @then(%a: f32[N,4]) -> (%t: f32[N,4]) {
      %t = relu(%a)
    }
    graph @else(%a: f32[N,4]) -> (%a: f32[N,4]) {
    }
}
)");
  ASSERT_TRUE(graph);
  const std::string text = print(*graph);
  EXPECT_NE(text.find("i64[2] elements [N,4]"), std::string::npos) << text;
  EXPECT_NE(text.find("clip(%x, _, %top)"), std::string::npos) << text;
  EXPECT_EQ(print(*parsed(text)), text);
}

struct Library {
  std::map<std::string, Tensor> tensors;
  Result<Tensor> operator()(const ConstantReference& reference) const {
    const auto it = tensors.find(reference.hash);
    if (it == tensors.end()) return Status(StatusCode::kNotFound, "no constant " + reference.hash);
    return it->second;
  }
};

TEST(text, large_constants_are_found_by_their_hash) {
  std::vector<float> values(100, 0.25f);
  const Tensor tensor = Tensor::from<float>({10, 10}, values);
  Graph graph("large");
  graph.outputs = {graph.add_constant("w", tensor)};
  const std::string text = print(graph);
  EXPECT_NE(text.find("hash " + content_hash(tensor)), std::string::npos) << text;
  Library library{{{content_hash(tensor), tensor}}};
  const auto again = parse_graph(text, library);
  ASSERT_TRUE(again.is_ok()) << again.status().message();
  EXPECT_EQ(print(**again), text);
  Library empty;
  EXPECT_FALSE(parse_graph(text, empty).is_ok());
  const auto zeros = parse_graph(text);
  ASSERT_TRUE(zeros.is_ok());
  EXPECT_EQ((*zeros)->find_value("w")->constant->values<float>()[5], 0.0f);
}

TEST(text, folded_nodes_keep_value_and_recipe) {
  const std::string text = R"(graph @g(%x: f32[2]) -> (%y: f32[2]) {
  @a = const f32[2] {1, 2}
  @b = add(@a, @a) : const f32[2] {2, 4}
  %y = mul(%x, @b) : f32[2]
}
)";
  const auto graph = parsed(text);
  ASSERT_TRUE(graph);
  EXPECT_EQ(print(*graph), text);
  EXPECT_TRUE(graph->find_value("b")->is_constant());
  EXPECT_TRUE(graph->find_value("b")->producer);
  EXPECT_TRUE(verify(*graph).is_ok()) << verify(*graph).message();
  EXPECT_EQ(print(*graph->clone()), text);
}

TEST(parser, errors_name_the_line_and_what_was_expected) {
  expect_error("", "expected 'graph'");
  expect_error("graph @g() -> () {\n", "line 2: expected '}'");
  expect_error("graph @g() -> () {\n}\nmore", "line 3: expected the end of the text");
  expect_error("graph @g(%x: f33[2]) -> () {\n}\n", "'f33' is not an element type");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %y = nonsense(%x)\n}\n",
               "line 2: there is no op 'nonsense'");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %y = relu(%z)\n}\n", "'z' is not defined above");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %x = relu(%x)\n}\n", "'x' is defined twice");
  expect_error("graph @g(%x: f32[2], %x: f32[2]) -> () {\n}\n", "'x' is defined twice");
  expect_error("graph @g() -> (%y: f32[2]) {\n}\n", "output 'y' is not defined");
  expect_error("graph @g(%x: f32[2]) -> (%x: f32[3]) {\n}\n", "output 'x' is declared f32[3]");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %y = relu(@x)\n}\n",
               "'x' is not a constant: write %");
  expect_error("graph @g() -> () {\n  @c = const u8[1] {256}\n}\n", "256 does not fit into u8");
  expect_error("graph @g() -> () {\n  @c = const f32[2] {1}\n}\n", "expected ','");
  expect_error("graph @g() -> () {\n  @c = const f32[2] {1, 2, 3}\n}\n", "expected '}'");
  expect_error("graph @g() -> () {\n  @c = const f32[N] {1}\n}\n", "extents are numbers");
  expect_error("graph @g() -> () {\n  @c = const f32[1] hash 12\n}\n", "32 hexadecimal digits");
  expect_error("graph @g() -> () {\n  @c = const f32[1] {abc}\n}\n", "'abc' is not a number");
  expect_error("graph @g() -> () {\n  @c = const string[1] {\"open\n}\n", "a closing quote");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %y = relu(%x) {a=1, a=2}\n}\n",
               "'a' is given twice");
  expect_error("graph @g(%x: f32[N*]) -> () {\n}\n", "size expression");
  expect_error("graph @g(%x: f32[-1]) -> () {\n}\n", "not negative");
  expect_error("graph @g() -> () {\n  symbols { N: bind 5..2 }\n}\n", "range");
  expect_error("graph @g(%x: f32[2]) -> () {\n  %y = relu(%x) : f32[2] junk\n}\n",
               "the end of the line");
}

TEST(parser, hostile_sizes_and_depth_are_refused) {
  const std::string hash(32, '0');
  expect_error(
      "graph @g() -> () {\n  @c = const f32[4000000000000000000,4000000000] hash " + hash + "\n}\n",
      "line 2");
  expect_error("graph @g() -> () {\n  @c = const u8[400000000000] hash " + hash + "\n}\n",
               "exceed");
  expect_error("graph @g() -> () {\n  @c = const f32[100000000000] {1}\n}\n", "smaller constant");
  expect_error("graph @g() -> () {\n  @c = const string[99999999999] hash " + hash + "\n}\n",
               "exceed");
  std::string nested = "graph @g(%c: bool[]) -> () {\n";
  for (int i = 0; i < 2000; ++i) nested += "%x = if(%c) : f32[1]\ngraph @g(%c: bool[]) -> () {\n";
  expect_error(nested, "at most 32 nested graphs");
  std::string deep(20000, '(');
  EXPECT_NE(error_of("graph @g(%x: f32[max" + deep + "]) -> () {\n}\n"), "");
  std::string rank = "graph @g(%x: f32[1";
  for (int i = 0; i < 200; ++i) rank += ",1";
  expect_error(rank + "]) -> () {\n}\n", "64 dimensions");
}

TEST(parser, damaged_text_gives_an_error_or_a_graph_but_never_a_crash) {
  const std::string text = kSmall;
  for (size_t length = 0; length < text.size(); ++length)
    (void)parse_graph(text.substr(0, length)).is_ok();
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '%', '@', '"', '{', '}', '(', ']', '\n', '9', '#', '-', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      const auto graph = parse_graph(damaged);
      if (graph.is_ok()) (void)verify(**graph).is_ok();
    }
  }
}

TEST(verifier, accepts_and_names_the_node_at_fault) {
  const auto graph = parsed(kSmall);
  ASSERT_TRUE(graph);
  Node* relu = graph->nodes().back().get();
  relu->outputs[0]->type.dtype = DType::kF64;
  const Status status = verify(*graph);
  EXPECT_NE(status.message().find("relu 'activation'"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("inference gives"), std::string::npos) << status.message();
}

void expect_refused(const std::string& what, void (*damage)(Graph&)) {
  const auto graph = parsed(kSmall);
  ASSERT_TRUE(graph);
  damage(*graph);
  const Status status = verify(*graph);
  EXPECT_NE(status.message().find(what), std::string::npos)
      << "wanted '" << what << "', got '" << status.message() << "'";
}

TEST(verifier, refuses_broken_structure) {
  expect_refused("use list", [](Graph& g) { g.nodes().back()->inputs[0] = g.inputs[0]; });
  expect_refused("listed twice",
                 [](Graph& g) { g.inputs[0]->uses.push_back(g.inputs[0]->uses[0]); });
  expect_refused("use lists hold", [](Graph& g) {
    g.inputs[0]->uses.push_back({g.nodes().back().get(), 7});
  });
  expect_refused("unknown attribute",
                 [](Graph& g) { g.nodes().front()->attributes.set("alpa", 1.0); });
  expect_refused("another graph", [](Graph& g) { g.outputs.push_back(nullptr); });
  expect_refused("has type", [](Graph& g) { g.find_value("b")->constant = Tensor::scalar_f32(1); });
  expect_refused("neither an input", [](Graph& g) { g.find_value("b")->constant.reset(); });
  expect_refused("is not", [](Graph& g) {
    Value* s = g.find_value("s");
    s->type = ValueType::tensor(DType::kF32, {Dim(3)});
    s->constant = Tensor::from<float>({3}, {1, 2, 3});
  });
  expect_refused("inputs", [](Graph& g) { g.append_input(g.nodes().back().get(), g.inputs[0]); });
  expect_refused("stands twice", [](Graph& g) { g.symbols.push_back(g.symbols[0]); });
  expect_refused("before its producer", [](Graph& g) {
    Node* late = g.add_node(*find_op("relu"), {g.inputs[0]});
    ASSERT_TRUE(g.infer(late).is_ok());
    g.set_input(g.nodes().front().get(), 0, late->outputs[0]);
  });
}

TEST(verifier, refuses_two_writers_of_one_state) {
  const auto graph = parsed("graph @g(%x: f32[2]) -> () {\n}\n");
  ASSERT_TRUE(graph);
  Value* state = graph->inputs[0];
  state->type.kind = ValueType::Kind::kState;
  for (int i = 0; i < 2; ++i) {
    Node* write = graph->add_node(*find_op("identity"), {state});
    write->outputs[0]->type = state->type;
  }
  const std::string message = verify(*graph).message();
  EXPECT_NE(message.find("two writers"), std::string::npos) << message;
}

TEST(verifier, checks_subgraphs_against_their_node) {
  const auto graph = parsed(R"(graph @g(%x: f32[2]) -> (%y: f32[2]) {
  %y = fused(%x) : f32[2]
    graph @body(%a: f32[2]) -> (%b: f32[2]) {
      %b = relu(%a) : f32[2]
    }
}
)");
  ASSERT_TRUE(graph);
  EXPECT_TRUE(verify(*graph).is_ok()) << verify(*graph).message();
  Graph& body = *graph->nodes().front()->subgraphs[0];
  body.inputs[0]->type = ValueType::tensor(DType::kF32, {Dim(3)});
  EXPECT_NE(verify(*graph).message().find("the sub-graph takes f32[3]"), std::string::npos);
}

TEST(graph, names_stay_unique) {
  Graph graph("g");
  Value* a = graph.add_input("x", ValueType::tensor(DType::kF32, {}));
  Value* b = graph.add_constant("x", Tensor::scalar_f32(1));
  EXPECT_EQ(b->name, "x_1");
  graph.rename(b, "x");
  EXPECT_NE(b->name, a->name);
  EXPECT_EQ(graph.find_value(b->name), b);
}

TEST(graph, fresh_symbols_avoid_those_in_use_and_subgraphs_share_the_table) {
  Graph graph("g");
  graph.add_input("x", ValueType::tensor(DType::kF32, {Dim::symbol("u0")}));
  EXPECT_EQ(graph.fresh_symbol().text(), "u1");
  Graph inner("inner");
  inner.set_parent(&graph);
  EXPECT_EQ(inner.fresh_symbol().text(), "u2");
  EXPECT_TRUE(graph.find_symbol("u2"));
}

TEST(graph, sort_restores_the_order_and_finds_cycles) {
  Graph graph("g");
  Value* x = graph.add_input("x", ValueType::tensor(DType::kF32, {Dim(2)}));
  Node* a = graph.add_node(*find_op("relu"), {x});
  Node* b =
      graph.add_node(*find_op("relu"), {a->outputs[0]}, {}, 1, a);  // stands before its producer
  ASSERT_TRUE(graph.sort().is_ok());
  EXPECT_EQ(graph.nodes().front().get(), a);
  graph.set_input(a, 0, b->outputs[0]);
  EXPECT_NE(graph.sort().message().find("cycle"), std::string::npos);
}

TEST(graph, hundred_thousand_nodes_are_handled_in_linear_time) {
  Graph graph("chain");
  Value* value = graph.add_input("x", ValueType::tensor(DType::kF32, {Dim(4)}));
  for (int i = 0; i < 100000; ++i) {
    Node* node = graph.add_node(*find_op("relu"), {value});
    ASSERT_TRUE(graph.infer(node).is_ok());
    value = node->outputs[0];
  }
  graph.outputs = {value};
  EXPECT_TRUE(verify(graph).is_ok());
  const auto again = parsed(print(graph));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->nodes().size(), 100000u);
}

TEST(hash, tensors_of_other_shape_or_dtype_differ) {
  const Tensor a = Tensor::from<int32_t>({2}, {1, 2});
  EXPECT_EQ(content_hash(a), content_hash(Tensor::from<int32_t>({2}, {1, 2})));
  EXPECT_NE(content_hash(a), content_hash(Tensor::from<int32_t>({2, 1}, {1, 2})));
  EXPECT_NE(content_hash(a), content_hash(Tensor::from<uint32_t>({2}, {1, 2})));
  EXPECT_NE(content_hash(a), content_hash(Tensor::from<int32_t>({2}, {1, 3})));
}

}  // namespace
}  // namespace stoker
