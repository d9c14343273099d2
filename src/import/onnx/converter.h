// Converter: walks GraphProto, sub-graphs and function bodies and builds IR graphs. Functions are
// inlined where they are called; sub-graphs become isolated graphs whose captured outer values are
// explicit inputs. A problem of one node does not stop the walk: nodes that depend on it are
// skipped and all problems are reported together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "import/onnx/import.h"
#include "import/onnx/tensor_proto.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
class ValueInfoProto;
}  // namespace onnx

namespace stoker {

using Opsets = std::map<std::string, int64_t>;
using Bindings = std::map<std::string, const onnx::AttributeProto*>;  // of a function call

// Names that a body of nodes can see.
struct Scope {
  Graph* graph = nullptr;
  Scope* outer = nullptr;  // of a sub-graph: where captured names come from; inlined: same graph
  const Opsets* opsets = nullptr;
  const Bindings* bindings = nullptr;  // null outside functions
  std::string prefix;                  // of value and node names, from inlining
  int64_t depth = 0;
  bool failed = false;  // an output could not be imported, which has been reported
  // Null: the producer could not be imported, which has been reported.
  std::unordered_map<std::string, Value*> values;
  std::unordered_set<std::string> absent;  // optional inputs that a function call leaves out
  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared;
  const onnx::AttributeProto* bound(const std::string& attribute) const {
    const auto found = bindings ? bindings->find(attribute) : Bindings::const_iterator{};
    return !bindings || found == bindings->end() ? nullptr : found->second;
  }
  std::vector<std::pair<Value*, Value*>> captures;  // outer value, this graph's input
};

// A sub-graph whose inputs are exactly `captures`, in that order.
struct Subgraph {
  std::unique_ptr<Graph> graph;
  std::vector<Value*> captures;
};

class Converter {
 public:
  Converter(const ImportOptions& options, std::string base_dir)
      : options_(options), source_{std::move(base_dir), options.limits.max_constant_bytes} {}

  Result<ImportedModel> run(onnx::ModelProto& model);

  // `expected`: types of its inputs, for those that it does not declare.
  Result<Subgraph> convert_subgraph(const onnx::GraphProto& proto, Scope& outer,
                                    const std::string& name,
                                    std::span<const ValueType> expected = {});
  // Puts the nodes of a sub-graph into the scope's own graph, `inputs` standing for its inputs;
  // gives its outputs.
  Result<std::vector<Value*>> inline_graph(const onnx::GraphProto& proto, Scope& scope,
                                           const std::string& label,
                                           const std::vector<Value*>& inputs);
  Result<Tensor> load_tensor(const onnx::TensorProto& proto);
  Result<Tensor> load_sparse(const onnx::SparseTensorProto& proto);
  // `name` names the sizes that the type leaves open.
  Result<ValueType> convert_type(const onnx::TypeProto& proto, const std::string& name);
  // A name that is free in the graph and that the text form can carry.
  std::string free_name(Graph& graph, const std::string& wanted) const;
  void bind_name(Scope& scope, const std::string& name, Value* value);

 private:
  void problem(StatusCode code, std::string text);
  Status problems_status() const;
  void read_opsets(const onnx::ModelProto& model);
  void read_functions(const onnx::ModelProto& model);

  void convert_graph(onnx::GraphProto& proto, Scope& scope);
  void convert_inputs(const onnx::GraphProto& proto, Scope& scope,
                      std::span<const ValueType> expected = {});
  void add_input(const onnx::ValueInfoProto& info, Scope& scope, const ValueType* fallback);
  void convert_initializers(const onnx::GraphProto& proto, Scope& scope);
  void convert_outputs(const onnx::GraphProto& proto, Scope& scope);
  void read_declared(const onnx::GraphProto& proto, Scope& scope);
  void check_declared(Scope& scope, const std::string& name, Value* value);
  void check_output(const onnx::ValueInfoProto& info, const Value& value);
  void convert_nodes(const std::vector<const onnx::NodeProto*>& nodes, Scope& scope);
  void convert_node(const onnx::NodeProto& node, size_t index, Scope& scope);
  Status import_node(const onnx::NodeProto& node, const std::string& label, Scope& scope);
  Status call_function(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                       const std::string& label, Scope& scope, std::vector<Value*> inputs);
  const onnx::FunctionProto* find_function(const onnx::NodeProto& node) const;
  std::optional<Value*> lookup(Scope& scope, const std::string& name);
  void drop_unused_constants(Graph& graph);

  Dim symbol_for(const std::string& parameter);
  void read_overrides(const onnx::GraphProto& proto);

  const ImportOptions& options_;
  TensorSource source_;
  Opsets opsets_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::vector<const onnx::FunctionProto*> calls_;  // being inlined, to refuse recursion
  Graph* root_ = nullptr;
  std::map<std::string, std::string> symbols_;  // dim_param -> symbol
  std::map<std::string, Dim> replacements_;     // symbol -> what an input override makes of it
  std::vector<std::string> problems_;
  std::string exhausted_;  // the first problem that is want of memory
  size_t problem_count_ = 0;
  bool only_unsupported_ = true;
  std::vector<std::string> warnings_;
  int64_t node_count_ = 0;
};

}  // namespace stoker
