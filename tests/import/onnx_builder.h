// Short spelling of ONNX models for the importer's tests, and an interpreter that runs an imported
// graph through the reference evaluations, so that a test can check numbers and not only structure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/import.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker::test {

constexpr auto kFloat = onnx::TensorProto::FLOAT;
constexpr auto kInt64 = onnx::TensorProto::INT64;

// A node being written; setters chain.
class NodeText {
 public:
  explicit NodeText(onnx::NodeProto* node) : node_(node) {}
  NodeText& set(const std::string& name, int64_t value) {
    auto& a = add(name, onnx::AttributeProto::INT);
    a.set_i(value);
    return *this;
  }
  NodeText& set(const std::string& name, float value) {
    auto& a = add(name, onnx::AttributeProto::FLOAT);
    a.set_f(value);
    return *this;
  }
  NodeText& set(const std::string& name, const std::string& value) {
    auto& a = add(name, onnx::AttributeProto::STRING);
    a.set_s(value);
    return *this;
  }
  NodeText& ints(const std::string& name, const std::vector<int64_t>& values) {
    auto& a = add(name, onnx::AttributeProto::INTS);
    for (const int64_t value : values) a.add_ints(value);
    return *this;
  }
  NodeText& floats(const std::string& name, const std::vector<float>& values) {
    auto& a = add(name, onnx::AttributeProto::FLOATS);
    for (const float value : values) a.add_floats(value);
    return *this;
  }
  NodeText& refer(const std::string& name, const std::string& attribute) {
    auto& a = add(name, onnx::AttributeProto::INT);
    a.set_ref_attr_name(attribute);
    return *this;
  }
  onnx::GraphProto& graph(const std::string& name) {
    return *add(name, onnx::AttributeProto::GRAPH).mutable_g();
  }
  onnx::TensorProto& tensor(const std::string& name) {
    return *add(name, onnx::AttributeProto::TENSOR).mutable_t();
  }
  NodeText& named(const std::string& name) {
    node_->set_name(name);
    return *this;
  }
  NodeText& domain(const std::string& name) {
    node_->set_domain(name);
    return *this;
  }

 private:
  onnx::AttributeProto& add(const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
  }
  onnx::NodeProto* node_;
};

using Names = std::vector<std::string>;

template <class Body>  // GraphProto or FunctionProto
NodeText add_node(Body& body, const std::string& op, const Names& inputs, const Names& outputs) {
  auto* node = body.add_node();
  node->set_op_type(op);
  for (const auto& name : inputs) node->add_input(name);
  for (const auto& name : outputs) node->add_output(name);
  return NodeText(node);
}

inline void fill_tensor(onnx::TensorProto& tensor, const Shape& shape,
                        const std::vector<float>& values) {
  tensor.set_data_type(kFloat);
  for (const int64_t extent : shape) tensor.add_dims(extent);
  for (const float value : values) tensor.add_float_data(value);
}

inline void fill_tensor(onnx::TensorProto& tensor, const Shape& shape,
                        const std::vector<int64_t>& values) {
  tensor.set_data_type(kInt64);
  for (const int64_t extent : shape) tensor.add_dims(extent);
  for (const int64_t value : values) tensor.add_int64_data(value);
}

class ModelText {
 public:
  explicit ModelText(int64_t opset) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("test");
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  // Extents are numbers, symbols, or "" for an unnamed one.
  void input(const std::string& name, const Names& extents, int type = kFloat) {
    auto* info = graph().add_input();
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const auto& extent : extents) {
      auto* dim = tensor->mutable_shape()->add_dim();
      int64_t number = 0;
      const char* end = extent.data() + extent.size();
      if (std::from_chars(extent.data(), end, number).ptr == end && !extent.empty()) {
        dim->set_dim_value(number);
      } else if (!extent.empty()) {
        dim->set_dim_param(extent);
      }
    }
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  NodeText node(const std::string& op, const Names& inputs, const Names& outputs) {
    return add_node(graph(), op, inputs, outputs);
  }
  template <class T>
  void initializer(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    fill_tensor(*tensor, shape, values);
  }
  std::string bytes() const { return model.SerializeAsString(); }

  onnx::ModelProto model;
};

inline Result<ImportedModel> import_text(const std::string& bytes,
                                         const ImportOptions& options = {},
                                         const std::string& folder = "") {
  return import_onnx_bytes(std::as_bytes(std::span(bytes)), folder, options);
}
inline Result<ImportedModel> import_text(const ModelText& model,
                                         const ImportOptions& options = {}) {
  return import_text(model.bytes(), options);
}

inline std::string failure(const Result<ImportedModel>& imported) {
  EXPECT_FALSE(imported.is_ok());
  return imported.is_ok() ? "" : imported.status().message();
}

inline void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

// The graph's outputs in order. Not for graphs with sub-graphs.
inline Result<std::vector<Tensor>> evaluate(const Graph& graph, const TensorMap& inputs) {
  std::map<const Value*, Tensor> known;
  for (const auto& value : graph.values()) {
    if (value->constant) known[value.get()] = *value->constant;
  }
  for (const Value* input : graph.inputs) known[input] = inputs.at(input->name);
  for (const auto& node : graph.nodes()) {
    std::vector<Tensor> operands;
    for (const Value* value : node->inputs) operands.push_back(value ? known.at(value) : Tensor());
    auto results =
        evaluate_op(*node->op, node->attributes, operands, static_cast<int>(node->outputs.size()));
    if (!results.is_ok()) return results.status().at(node->name);
    for (size_t i = 0; i < node->outputs.size(); ++i) known[node->outputs[i]] = (*results)[i];
  }
  std::vector<Tensor> outputs;
  for (const Value* value : graph.outputs) outputs.push_back(known.at(value));
  return outputs;
}

}  // namespace stoker::test
