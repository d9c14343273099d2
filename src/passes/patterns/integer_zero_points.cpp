// matmul_integer and conv_integer whose weight has zero points that differ between columns, for
// which there are no kernels: one zero point for all and what that leaves out of the sums.
//   sum (a - za) (b - zb[n]) = sum (a - za) (b - z) - (zb[n] - z) * sum (a - za)
// The last sum is the same product with a weight of ones. All in 32 bits that wrap, as the op does.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The zero points when they are constants of the weight's columns and differ.
std::optional<std::vector<int64_t>> columns_of(const Node& node) {
  if (node.inputs.size() < 4 || !node.inputs[3]) return std::nullopt;
  const Value *weight = node.inputs[1], *zero = node.inputs[3];
  auto zeros = constant_ints(zero);
  if (!zeros || zero->type.rank() != 1 || !weight->type.ranked) return std::nullopt;
  const bool same =
      std::all_of(zeros->begin(), zeros->end(), [&](int64_t z) { return z == zeros->front(); });
  return same ? std::nullopt : zeros;
}

// i8 ones in the shape of the weight, with one column; nothing when that cannot be told or the
// weight has not so many columns.
std::optional<Tensor> ones_of(const Node& node, size_t columns) {
  const Value* weight = node.inputs[1];
  auto dims = constant_dims(weight->type.dims);
  if (!dims) return std::nullopt;
  int64_t found = 1;
  if (node.is("matmul_integer")) {
    // With a batch of weights or a vector the columns lie otherwise.
    if (dims->size() != 2 || !node.inputs[0]->type.ranked || node.inputs[0]->type.rank() < 2)
      return std::nullopt;
    std::swap(found, dims->back());
  } else {
    if (dims->size() < 3 || node.attributes.get_int("group", 1) != 1) return std::nullopt;
    std::swap(found, dims->front());
  }
  if (found != static_cast<int64_t>(columns)) return std::nullopt;
  auto ones = Tensor::allocate(DType::kI8, *dims);
  if (!ones.is_ok()) return std::nullopt;
  std::fill_n(static_cast<int8_t*>(ones->data()), ones->count(), int8_t{1});
  return *ones;
}

// What is left of the zero points, along the columns of the result.
Result<Tensor> rest_of(const std::vector<int64_t>& zeros, int64_t z, size_t dims_behind) {
  Shape shape(dims_behind + 1, 1);
  shape[0] = static_cast<int64_t>(zeros.size());
  STOKER_ASSIGN(Tensor rest, Tensor::allocate(DType::kI32, shape));
  for (size_t i = 0; i < zeros.size(); ++i)
    rest.values<int32_t>()[i] = static_cast<int32_t>(zeros[i] - z);
  return rest;
}

// The node's product with another weight and its zero point.
Result<Node*> product(Graph& graph, Node* node, Value* weight, Value* zero) {
  std::vector<Value*> inputs = {node->inputs[0], weight, node->inputs[2], zero};
  while (!inputs.back()) inputs.pop_back();
  STOKER_ASSIGN(Node * part, insert_node(graph, node, node->op->name, inputs, node->attributes));
  append_origins(part, *node);
  return part;
}

Result<bool> split(Graph& graph, Node* node) {
  const auto zeros = columns_of(*node);
  const auto ones = zeros ? ones_of(*node, zeros->size()) : std::nullopt;
  if (!ones) return false;
  Value* weight = node->inputs[1];
  // Kernels move u8 weights by 128 anyway.
  const bool moved = weight->type.dtype == DType::kU8;
  Value* middle = moved ? graph.add_constant("middle", Tensor::from<uint8_t>({}, {128})) : nullptr;
  STOKER_ASSIGN(Tensor rest,
                rest_of(*zeros, moved ? 128 : 0, node->is("conv_integer") ? ones->rank() - 2 : 0));
  STOKER_ASSIGN(const Node* main, product(graph, node, weight, middle));
  STOKER_ASSIGN(const Node* sums, product(graph, node, graph.add_constant("ones", *ones), nullptr));
  Value* left = graph.add_constant("zeros", rest);
  STOKER_ASSIGN(Node * extra, insert_node(graph, node, "mul", {sums->outputs[0], left}));
  append_origins(extra, *node);
  STOKER_TRY(replace_with_node(graph, node->outputs[0], *find_op("sub"),
                               {main->outputs[0], extra->outputs[0]}, {}, {node})
                 .status());
  graph.erase(node);
  return true;
}

}  // namespace

Result<int> integer_zero_points(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || (!node->is("matmul_integer") && !node->is("conv_integer"))) continue;
    STOKER_ASSIGN(const bool changed, split(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
