// Weights that a model stores in 8 bits and spells out with other operations:
//   mul(cast(w), scale)                 => dequantize_linear(w, scale), for products and look-ups
//   gather(dequantize(w), indices)      => dequantize of the gathered rows, so that the table stays
// The numbers are the same: a cast of 8 bits is exact, and one rounding follows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/quantized.h"

namespace stoker {
namespace {

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

// Do products and look-ups alone read the value? Elsewhere a constant is worth more.
bool serves_weights(const Graph& graph, const Value* value) {
  if (value->uses.empty() || graph.is_output(value)) return false;
  return std::all_of(value->uses.begin(), value->uses.end(), [](const Use& use) {
    if (use.node->is("gather")) return use.input == 0;
    return use.input == 1 && (use.node->is("matmul") || use.node->is("gemm"));
  });
}

// The dim of a matrix that the scale varies along; -1: none, one number; nothing: another form.
std::optional<int64_t> scale_axis(const Value& scale, const Value& weight) {
  if (!scale.is_constant() || scale.type.dtype != DType::kF32) return std::nullopt;
  if (!weight.type.ranked || weight.type.rank() != 2) return std::nullopt;
  const Shape& shape = scale.constant->shape();
  const Shape& matrix = weight.constant->shape();
  if (scale.constant->count() == 1 && shape.size() <= 2) return -1;
  if (shape == Shape{matrix[0], 1}) return 0;
  if (shape == Shape{matrix[1]} || shape == Shape{1, matrix[1]}) return 1;
  return std::nullopt;
}

// The scale as dequantize_linear wants it, known at once: the node is its recipe.
Result<Value*> flattened(Graph& graph, Node* before, Value* scale, bool by_channel) {
  const Shape flat = by_channel ? Shape{scale->constant->count()} : Shape{};
  if (scale->constant->shape() == flat) return scale;
  Value* shape =
      graph.add_constant(graph.fresh_name("scale_shape"),
                         Tensor::from<int64_t>({static_cast<int64_t>(flat.size())}, flat));
  STOKER_ASSIGN(Node * reshape, insert_node(graph, before, "reshape", {scale, shape}));
  Value* made = reshape->outputs[0];
  STOKER_ASSIGN(made->constant, scale->constant->reshaped(flat));
  made->open = scale->open;
  return made;
}

// Now, not by dce: folding would evaluate what is left.
void erase_unused(Graph& graph, std::initializer_list<Node*> nodes) {
  for (Node* node : nodes) {
    if (node->outputs[0]->uses.empty() && !graph.is_output(node->outputs[0])) graph.erase(node);
  }
}

Result<bool> spell_dequantize(Graph& graph, Node* mul) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* cast = producer_of(mul->inputs[side], "cast");
    if (!cast || cast->outputs[0]->type.dtype != DType::kF32) continue;
    Value *weight = cast->inputs[0], *scale = mul->inputs[1 - side];
    if (!weight->is_constant() || !is_byte(weight->type.dtype)) continue;
    const auto axis = scale_axis(*scale, *weight);
    if (!axis || !serves_weights(graph, mul->outputs[0])) continue;
    STOKER_ASSIGN(scale, flattened(graph, mul, scale, *axis >= 0));
    STOKER_TRY(replace_with_node(graph, mul->outputs[0], *find_op("dequantize_linear"),
                                 {weight, scale}, {{"axis", std::max<int64_t>(*axis, 0)}},
                                 {cast, mul})
                   .status());
    Node* widened = mul->inputs[side]->producer;
    erase_unused(graph, {mul, widened});
    return true;
  }
  return false;
}

// Scales along the look-up's axis are looked up as well; others go along with the rows.
Result<bool> gather_first(Graph& graph, Node* gather) {
  Node* dequantize = dequantize_of(gather->inputs[0]);
  if (!dequantize || !dequantize->inputs[0]->is_constant()) return false;
  Value *table = dequantize->inputs[0], *scale = dequantize->inputs[1],
        *indices = gather->inputs[1];
  const bool zero = dequantize->inputs.size() > 2 && dequantize->inputs[2];
  const int64_t axis = gather->attributes.get_int("axis", 0);
  if (!is_byte(table->type.dtype) || !table->type.ranked || table->type.rank() != 2 || axis != 0 ||
      !indices->type.ranked || dequantize->attributes.get_int("block_size", 0) != 0)
    return false;
  const bool one = scale->constant->count() == 1;
  const int64_t scale_axis = dequantize->attributes.get_int("axis", 1);
  const bool by_row = !one && (scale_axis == 0 || scale_axis == -2);
  if (zero && by_row) return false;
  const Attributes attributes = {{"axis", int64_t{0}}};
  STOKER_ASSIGN(Node * rows, insert_node(graph, gather, "gather", {table, indices}, attributes));
  if (!by_row) {
    std::vector<Value*> inputs = {rows->outputs[0], scale};
    if (zero) inputs.push_back(dequantize->inputs[2]);
    STOKER_TRY(replace_with_node(graph, gather->outputs[0], *dequantize->op, std::move(inputs),
                                 {{"axis", one ? int64_t{0} : int64_t{indices->type.rank()}}},
                                 {dequantize, gather})
                   .status());
    erase_unused(graph, {gather, dequantize});
    return true;
  }
  STOKER_ASSIGN(Node * scales, insert_node(graph, gather, "gather", {scale, indices}, attributes));
  Value* last = graph.add_constant(graph.fresh_name("last_axis"), Tensor::from<int64_t>({1}, {-1}));
  STOKER_ASSIGN(Node * column, insert_node(graph, gather, "unsqueeze", {scales->outputs[0], last}));
  STOKER_ASSIGN(Node * wide,
                insert_node(graph, gather, "cast", {rows->outputs[0]}, {{"to", DType::kF32}}));
  STOKER_TRY(replace_with_node(graph, gather->outputs[0], *find_op("mul"),
                               {wide->outputs[0], column->outputs[0]}, {}, {dequantize, gather})
                 .status());
  erase_unused(graph, {gather, dequantize});
  return true;
}

}  // namespace

Result<int> dequantized_weights(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || node->inputs.size() < 2 || !node->inputs[0] || !node->inputs[1])
      continue;
    STOKER_ASSIGN(const bool changed, node->is("mul")      ? spell_dequantize(graph, node)
                                      : node->is("gather") ? gather_first(graph, node)
                                                           : Result<bool>(false));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
