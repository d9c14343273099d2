// dequantize -> data movement -> quantize under equal scales: the elements only move, so they move
// as integers and the pair disappears. Rounding back gives each integer exactly (up to 16 bits).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "passes/match.h"
#include "passes/quantized.h"

namespace stoker {
namespace {

constexpr std::string_view kMovements[] = {
    "concat", "depth_to_space", "expand", "flatten", "gather", "identity",  "reshape",
    "slice",  "space_to_depth", "split",  "squeeze", "tile",   "transpose", "unsqueeze"};

bool narrow(DType dtype) { return is_integer(dtype) && dtype_bits(dtype) <= 16; }

// The inputs that carry data: all of concat's, the first of the others.
size_t data_inputs(const Node& node) { return node.is("concat") ? node.inputs.size() : 1; }

// Every operand comes from a dequantize node with the scales of `quantize`.
bool all_same_scales(const Node& node, const Node& quantize) {
  for (size_t i = 0; i < data_inputs(node); ++i) {
    const Node* dequantize = dequantize_of(node.inputs[i]);
    if (!dequantize || !same_scales(quantize, *dequantize)) return false;
  }
  return true;
}

Result<bool> drop_pair(Graph& graph, Node* quantize) {
  const DType dtype = quantize->outputs[0]->type.dtype;
  if (!has_constant_scales(*quantize) || !narrow(dtype)) return false;
  Value* value = quantize->inputs[0];
  if (const Node* direct = dequantize_of(value)) {
    if (!same_scales(*quantize, *direct)) return false;
    return replace_value(graph, quantize->outputs[0], direct->inputs[0]);
  }
  Node* move = value->producer;
  if (!move || move->is_constant() || move->outputs.size() != 1 || !single_use(graph, value))
    return false;
  if (!std::binary_search(std::begin(kMovements), std::end(kMovements), move->op->name))
    return false;
  if (move->inputs.empty() || !all_same_scales(*move, *quantize)) return false;
  std::vector<Value*> inputs = move->inputs;
  for (size_t i = 0; i < data_inputs(*move); ++i) inputs[i] = dequantize_of(inputs[i])->inputs[0];
  const ValueType type = quantize->outputs[0]->type;
  STOKER_ASSIGN(Node * fresh, replace_with_node(graph, quantize->outputs[0], *move->op, inputs,
                                                move->attributes, {move, quantize}));
  fresh->outputs[0]->type = type;
  return true;
}

}  // namespace

Result<int> quantized_movement(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!node->is("quantize_linear") || node->is_constant()) continue;
    STOKER_ASSIGN(const bool changed, drop_pair(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
