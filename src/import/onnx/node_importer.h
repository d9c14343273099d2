// NodeImporter: what one operator's import function sees of its ONNX node (resolved inputs and
// attributes, opset version) and the means to build IR nodes from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/onnx/converter.h"
#include "ir/graph.h"

namespace stoker {

class NodeImporter {
 public:
  // `inputs` are resolved; null where an optional input is left out.
  NodeImporter(Converter& converter, Scope& scope, const onnx::NodeProto& proto, std::string label,
               int64_t version, std::vector<Value*> inputs);

  const std::string& op_type() const;
  int64_t version() const { return version_; }  // of the node's domain

  size_t input_count() const { return inputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  Value* input(size_t i) const { return i < inputs_.size() ? inputs_[i] : nullptr; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  // The elements of an integer input when they are constant.
  std::optional<std::vector<int64_t>> constant_ints(size_t i) const;

  size_t output_count() const { return output_count_; }  // without empty names at the end
  size_t declared_outputs() const;                       // with them
  bool wants(size_t i) const;                            // output i has a name

  // Attributes as the node has them; the getters give the fallback when absent or of another type.
  bool has(const std::string& name) const { return attributes_.count(name) != 0; }
  int64_t get_int(const std::string& name, int64_t fallback) const;
  double get_float(const std::string& name, double fallback) const;
  std::string get_string(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> get_ints(const std::string& name) const;
  std::vector<double> get_floats(const std::string& name) const;
  const onnx::AttributeProto* raw(const std::string& name) const;
  void drop(const std::string& name) { attributes_.erase(name); }
  Result<Attributes> converted() const;
  Result<Tensor> load(const onnx::TensorProto& proto) { return converter_.load_tensor(proto); }
  Result<Tensor> load(const onnx::SparseTensorProto& proto) {
    return converter_.load_sparse(proto);
  }
  // The type attribute of this name; `name` too names the sizes that it leaves open.
  Result<ValueType> type_attribute(const std::string& name) const;

  // A constant made for this node; `role` completes its name.
  Value* constant(Tensor tensor, const std::string& role);
  Value* constant_i64(const std::vector<int64_t>& values, const std::string& role);
  // A scalar of the given real dtype.
  Result<Value*> scalar_like(DType dtype, double value, const std::string& role);

  // Adds and infers an IR node; its outputs are not yet bound to names of the model.
  Result<Node*> emit(const std::string& op, std::vector<Value*> inputs, Attributes attributes = {},
                     int output_count = 1, std::vector<std::unique_ptr<Graph>> subgraphs = {});
  // emit with one output, giving that output.
  Result<Value*> apply(const std::string& op, std::vector<Value*> inputs,
                       Attributes attributes = {});
  // Emits the node that has all outputs of the ONNX node.
  Status finish(const std::string& op, std::vector<Value*> inputs, Attributes attributes = {},
                std::vector<std::unique_ptr<Graph>> subgraphs = {});
  // finish under the default name, with the remaining attributes of the node and `more`.
  Status finish_same(std::vector<Value*> inputs, const Attributes& more = {});
  // Makes `value` output `i` of the ONNX node.
  void bind(size_t i, Value* value);

  // The value of a name that an attribute mentions; null when the graph has none.
  Value* find(const std::string& name) const;
  // The attribute's graph, isolated. `expected`: types of its inputs, for those it does not
  // declare.
  Result<Subgraph> subgraph(const std::string& attribute, std::span<const ValueType> expected = {});
  // The attribute's graph written out here, with `inputs` as its inputs: its outputs.
  Result<std::vector<Value*>> inlined(const std::string& attribute,
                                      const std::vector<Value*>& inputs);
  Graph& graph() { return *scope_.graph; }

 private:
  Status adapt(const Op& op, Attributes& attributes) const;
  Converter& converter_;
  Scope& scope_;
  const onnx::NodeProto& proto_;
  std::string label_;  // name, or OpType_index
  int64_t version_;
  std::vector<Value*> inputs_;
  size_t output_count_ = 0;
  std::map<std::string, const onnx::AttributeProto*> attributes_;
};

}  // namespace stoker
