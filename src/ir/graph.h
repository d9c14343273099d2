// Graph: SSA form of a network. A graph owns its nodes and values; pointers stay valid until
// erased. Nodes are kept in an order in which every producer stands before its users (the verifier
// proves it).
//
// Constants: a value with `constant` set is known at build time. It has either no producer (a
// source weight, `origin` = its name in the model file) or a producer whose inputs are all
// constants: folding attaches the tensor and keeps the producer, so that the nodes leading to a
// constant are its weight recipe.
//
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/op.h"

namespace stoker {

class Graph;
struct Node;

struct Use {
  Node* node;
  int input;
};

struct Value {
  std::string name;  // unique in its graph; without % or @
  ValueType type;
  Node* producer = nullptr;  // null: graph input or source constant
  int output = 0;            // position among the producer's outputs
  std::vector<Use> uses;     // by nodes of the same graph
  std::optional<Tensor> constant;
  // A refit may give the constant another value: nothing may be concluded from this one.
  bool open = false;
  std::optional<Dims> elements;  // shape value of an integer tensor of rank 0 or 1
  std::string origin;            // name in the model file
  std::list<std::unique_ptr<Value>>::iterator position;

  bool is_constant() const { return constant.has_value(); }
};

struct Node {
  const Op* op = nullptr;
  std::string name;             // unique in its graph
  std::vector<Value*> inputs;   // null: optional input left out
  std::vector<Value*> outputs;  // never null
  Attributes attributes;
  std::vector<std::unique_ptr<Graph>> subgraphs;  // isolated: outer values come in as inputs
  std::vector<std::string> origins;  // node names of the model file; several after fusion
  std::list<std::unique_ptr<Node>>::iterator position;

  bool is(std::string_view op_name) const { return op->name == op_name; }
  // All inputs constant, so that the outputs are weights computed by a recipe.
  bool is_constant() const { return !outputs.empty() && outputs[0]->is_constant(); }
};

// A named size. Bind symbols enter the binding key; step symbols have an upper bound and change
// freely between runs. Sub-graphs share the table of the outermost graph.
struct Symbol {
  enum class Kind : uint8_t { kBind, kStep };
  std::string name;
  Kind kind = Kind::kBind;
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

class Graph {
 public:
  explicit Graph(std::string graph_name) : name(std::move(graph_name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<Symbol> symbols;

  Value* add_input(const std::string& name, ValueType type);
  // A source constant; `origin` is its name in the model file.
  Value* add_constant(const std::string& name, Tensor tensor, std::string origin = "");
  // Appends before `before` (at the end when null). Output values get fresh names made from the
  // node's name; their types are set by infer.
  Node* add_node(const Op& op, std::vector<Value*> inputs, Attributes attributes = {},
                 int output_count = 1, Node* before = nullptr, const std::string& name = "");

  // Fills the output types and shape values from the op's inference. For an op with sub-graphs
  // their input types are set from the operands and every node inside is inferred again.
  Status infer(Node* node);

  void set_input(Node* node, int index, Value* value);
  void append_input(Node* node, Value* value);
  void set_inputs(Node* node, std::vector<Value*> values);
  // Every use, graph outputs included.
  void replace_all_uses(Value* from, Value* to);
  bool is_output(const Value* value) const;
  // The node's outputs must be unused.
  void erase(Node* node);
  void erase_unused_constant(Value* value);
  void erase_unused_input(size_t index);
  void rename(Value* value, const std::string& name);

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::list<std::unique_ptr<Value>>& values() const { return values_; }
  Value* find_value(const std::string& name) const;
  std::string fresh_name(const std::string& base);
  // Gives the node another name, made unique when it is taken.
  void rename_node(Node* node, const std::string& name);

  Dim fresh_symbol();
  // The symbol that stands for a size too large to compute with (Dim::is_large): equal sizes get
  // the same one.
  Dim symbol_for(const Dim& size);
  const Symbol* find_symbol(const std::string& name) const;
  // Enters the symbols of a type that the table does not have yet.
  void register_symbols(const ValueType& type);
  // The graph whose node holds this sub-graph; null for an outermost graph. Set by infer.
  Graph* parent() const { return parent_; }
  void set_parent(Graph* parent) { parent_ = parent; }
  // Puts every producer before its users, keeping the present order where it can. Fails on a cycle.
  Status sort();

  std::unique_ptr<Graph> clone() const;

 private:
  Value* add_value(const std::string& name);
  std::string fresh_node_name(const std::string& base);
  Graph* root() const;
  void index_symbols() const;
  std::list<std::unique_ptr<Node>> nodes_;
  std::list<std::unique_ptr<Value>> values_;
  std::map<std::string, Value*> by_name_;
  std::set<std::string> node_names_;
  std::map<std::string, int> name_counters_;
  std::map<std::string, int> node_name_counters_;
  Graph* parent_ = nullptr;
  // Index of `symbols`, brought up to date when the table has grown.
  mutable std::map<std::string, size_t> symbol_index_;
  mutable size_t indexed_symbols_ = 0;
  int symbol_counter_ = 0;
  std::map<std::string, Dim> large_sizes_;  // by content hash of the text
};

// Structure, order, use lists, attribute and type agreement, linear state. Names the node at fault.
Status verify(const Graph& graph);

// Text form; parse(print(g)) prints identically. Constants of at most 16 elements print in line;
// larger ones as their dtype, shape and content hash, which `lookup` turns back into tensors
// (without lookup, and where the content was left out, they become zero-filled tensors of that
// type).
struct PrintOptions {
  // Names (origins) of source constants whose content, and that of what is made from them, is left
  // out.
  std::set<std::string> open;
  // Constants that print as the number of a weight that holds their content.
  std::unordered_map<const Value*, int32_t> weights;
  // Elements to print in line of constants that a running node reads, and that are not made of
  // such weights.
  int64_t inline_elements = 16;
};
std::string print(const Graph& graph, const PrintOptions& options = {});

// Where the text says that a constant's content is.
struct ConstantReference {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::string hash;     // of the content; empty: the text has it not
  int64_t weight = -1;  // the number of the weight that holds it; -1: none does
};
using ConstantLookup = std::function<Result<Tensor>(const ConstantReference&)>;
Result<std::unique_ptr<Graph>> parse_graph(const std::string& text, ConstantLookup lookup = {});

}  // namespace stoker
