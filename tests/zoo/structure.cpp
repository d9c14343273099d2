// SPDX-License-Identifier: Apache-2.0
#include "tests/zoo/structure.h"

#include <set>

#include "base/status.h"
#include "onnx/onnx-ml.pb.h"
#include "zoo/builder.h"
#include "zoo/zoo.h"

namespace stoker {

namespace {

void fix_sizes(onnx::ValueInfoProto& info, const Sizes& sizes) {
  for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    const auto size = sizes.find(dim.dim_param());
    if (size != sizes.end()) dim.set_dim_value(size->second);
  }
}

void declare_weight(onnx::GraphProto& graph, const onnx::TensorProto& weight) {
  auto& info = *graph.add_input();
  info.set_name(weight.name());
  info.mutable_type()->mutable_tensor_type()->set_elem_type(weight.data_type());
  auto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int64_t extent : weight.dims()) shape.add_dim()->set_dim_value(extent);
}

Result<int64_t> extent(const Value& value, int axis) {
  const int rank = value.type.rank();
  if (axis < 0) axis += rank;
  if (!value.type.ranked || axis >= rank || !value.type.dims[static_cast<size_t>(axis)].is_const())
    return invalid_model("{}: axis {} of {} is not known", value.name, axis, type_text(value.type));
  return value.type.dims[static_cast<size_t>(axis)].value();
}

Result<int64_t> elements(const Value& value) {
  int64_t count = 1;
  for (int axis = 0; axis < value.type.rank(); ++axis) {
    STOKER_ASSIGN(const int64_t size, extent(value, axis));
    count *= size;
  }
  return count;
}

// What one element of the node's first output, or of its input, is multiplied with.
Result<int64_t> node_work(const Node& node) {
  if (node.is("matmul")) {
    STOKER_ASSIGN(const int64_t outputs, elements(*node.outputs[0]));
    STOKER_ASSIGN(const int64_t depth, extent(*node.inputs[0], -1));
    return outputs * depth;
  }
  if (node.is("gemm")) {
    STOKER_ASSIGN(const int64_t outputs, elements(*node.outputs[0]));
    const int axis = node.attributes.get_int("transA") ? 0 : 1;
    STOKER_ASSIGN(const int64_t depth, extent(*node.inputs[0], axis));
    return outputs * depth;
  }
  if (node.is("conv") || node.is("conv_transpose")) {
    const bool forward = node.is("conv");
    STOKER_ASSIGN(const int64_t places, elements(forward ? *node.outputs[0] : *node.inputs[0]));
    STOKER_ASSIGN(const int64_t weights, elements(*node.inputs[1]));
    STOKER_ASSIGN(const int64_t first, extent(*node.inputs[1], 0));
    return places * (weights / first);
  }
  if (node.is("lstm")) {
    STOKER_ASSIGN(const int64_t steps, extent(*node.inputs[0], 0));
    STOKER_ASSIGN(const int64_t batch, extent(*node.inputs[0], 1));
    STOKER_ASSIGN(const int64_t from_input, elements(*node.inputs[1]));
    STOKER_ASSIGN(const int64_t from_state, elements(*node.inputs[2]));
    return steps * batch * (from_input + from_state);
  }
  return 0;
}

}  // namespace

Result<ImportedModel> import_structure(const std::string& name, const Sizes& sizes) {
  const ZooEntry* entry = find_zoo_entry(name);
  if (!entry) return error(StatusCode::kNotFound, "no zoo model '{}'", name);
  zoo::ModelBuilder model(name);
  entry->build(model);
  onnx::GraphProto& graph = *model.proto().mutable_graph();
  for (auto& input : *graph.mutable_input()) fix_sizes(input, sizes);
  for (auto& output : *graph.mutable_output()) fix_sizes(output, sizes);
  std::set<int> moved;
  for (const zoo::Weight& weight : model.weights()) {
    declare_weight(graph, graph.initializer(weight.initializer));
    moved.insert(weight.initializer);
  }
  onnx::GraphProto kept;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    if (!moved.count(i)) *kept.add_initializer() = graph.initializer(i);
  }
  graph.mutable_initializer()->Swap(kept.mutable_initializer());
  const std::string bytes = model.proto().SerializeAsString();
  return import_onnx_bytes(std::as_bytes(std::span(bytes)), "");
}

Result<int64_t> multiply_adds(const Graph& graph) {
  int64_t total = 0;
  for (const auto& node : graph.nodes()) {
    STOKER_ASSIGN(const int64_t work, node_work(*node));
    total += work;
  }
  return total;
}

}  // namespace stoker
