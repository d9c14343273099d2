// Evaluates nodes whose inputs are all known. The producer stays behind as the recipe of the
// weight. Outputs that are far larger than what they are made from stay computations, and f64
// transcendental functions are left alone, since their last bit differs by CPU.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/numeric.h"
#include "ir/infer.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

constexpr int64_t kAlwaysFoldedBytes = int64_t{1} << 20;
constexpr int64_t kMaxGrowth = 8;

bool small_enough(const Node& node, int64_t max_bytes) {
  int64_t in = 0;
  for (const Value* value : node.inputs) in += value ? value->constant->bytes() : 0;
  int64_t out = 0;
  for (const Value* value : node.outputs) {
    const auto shape = value->type.ranked ? constant_dims(value->type.dims) : std::nullopt;
    if (!shape) continue;  // depends on the data: bounded by it as well
    const auto count = element_count(*shape);
    const auto bytes = count.is_ok() ? byte_size(value->type.dtype, *count) : count;
    if (!bytes.is_ok() || *bytes > max_bytes - out) return false;
    out += *bytes;
  }
  return out <= kAlwaysFoldedBytes || out / kMaxGrowth <= in;
}

bool may_fold(const Node& node, bool keep_dequantize, int64_t max_bytes) {
  const Op& op = *node.op;
  if (!op.evaluate && !op.evaluate_values) return false;
  if (!op.deterministic || !op.foldable || !node.subgraphs.empty()) return false;
  if (node.is_constant()) return false;
  if (keep_dequantize && node.is("dequantize_linear")) return false;
  bool has_f64 = false;
  if (node.inputs.empty() && !op.evaluate) return false;  // an empty sequence and its kind
  for (const Value* value : node.inputs) {
    if (!value) continue;
    if (!value->is_constant()) return false;
    has_f64 |= value->type.dtype == DType::kF64;
  }
  for (const Value* value : node.outputs) {
    if (value->type.kind != ValueType::Kind::kTensor) return false;
    has_f64 |= value->type.dtype == DType::kF64;
  }
  if (has_f64 && op.transcendental) return false;
  return small_enough(node, max_bytes);
}

// An error means that the node would fail at run time too; it is left for then.
bool fold(Node* node) {
  std::vector<Tensor> inputs;
  for (const Value* value : node->inputs) inputs.push_back(value ? *value->constant : Tensor());
  auto outputs =
      evaluate_op(*node->op, node->attributes, inputs, static_cast<int>(node->outputs.size()));
  if (!outputs.is_ok()) return false;
  for (const Tensor& tensor : *outputs) {
    if (!tensor.defined()) return false;
  }
  const bool open = std::any_of(node->inputs.begin(), node->inputs.end(),
                                [](const Value* value) { return value && value->open; });
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    Value* value = node->outputs[i];
    value->open = open;
    Tensor& tensor = (*outputs)[i];
    value->type =
        ValueType::tensor(tensor.dtype(), Dims(tensor.shape().begin(), tensor.shape().end()));
    value->constant = std::move(tensor);
    value->elements.reset();
  }
  return true;
}

// The tensor of a shape value whose elements are all numbers.
Result<Tensor> tensor_of_elements(const Value& value, const std::vector<int64_t>& elements) {
  const Shape shape =
      value.type.rank() == 0 ? Shape{} : Shape{static_cast<int64_t>(elements.size())};
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(value.type.dtype, shape));
  if (tensor.count() != static_cast<int64_t>(elements.size())) {
    return internal_error("shape value '{}' has {} elements for type {}", value.name,
                          elements.size(), type_text(value.type));
  }
  const StoreInt store = store_int(tensor.dtype());
  for (size_t i = 0; i < elements.size(); ++i)
    store(tensor.data(), static_cast<int64_t>(i), elements[i]);
  return tensor;
}

// A shape value that turned out to be numbers becomes a source constant; its producers die.
Result<bool> fold_elements(Graph& graph, Value* value) {
  if (value->is_constant() || !value->elements || !value->producer) return false;
  if (!is_integer(value->type.dtype) || !value->type.ranked || value->type.rank() > 1) return false;
  if (value->uses.empty() && !graph.is_output(value)) return false;
  const auto numbers = constant_dims(*value->elements);
  if (!numbers) return false;
  STOKER_ASSIGN(Tensor tensor, tensor_of_elements(*value, *numbers));
  const std::string name = value->name;
  graph.rename(value, graph.fresh_name(name + "_shape"));
  Value* constant = graph.add_constant(name, std::move(tensor));
  graph.replace_all_uses(value, constant);
  return true;
}

bool refine_outputs(Graph& graph, Node* node) {
  if (!node->op->infer) return false;
  const auto types = infer_types(*node, graph);
  bool changed = false;
  for (size_t i = 0; types.is_ok() && i < node->outputs.size(); ++i) {
    changed |= refine(node->outputs[i], types->outputs[i], types->elements[i]);
  }
  return changed;
}

Result<int> fold_all(Graph& graph, bool keep_dequantize, int64_t max_bytes) {
  int changes = 0;
  std::unordered_set<const Value*> news;  // values that are known better than before
  for (Node* node : node_snapshot(graph)) {
    const bool touched = std::any_of(node->inputs.begin(), node->inputs.end(),
                                     [&](const Value* v) { return v && news.count(v); });
    if (touched && !node->is_constant() && refine_outputs(graph, node)) {
      news.insert(node->outputs.begin(), node->outputs.end());
    }
    bool folded = may_fold(*node, keep_dequantize, max_bytes) && fold(node);
    if (folded) news.insert(node->outputs.begin(), node->outputs.end());
    changes += folded;
    if (folded) continue;
    for (Value* value : node->outputs) {
      STOKER_ASSIGN(const bool replaced, fold_elements(graph, value));
      changes += replaced;
    }
  }
  return changes;
}

}  // namespace

// dequantize_linear of weights stays visible for the quantized patterns.
Result<int> fold_constants(Graph& graph, const PassContext& context) {
  return fold_all(graph, true, context.max_folded_bytes);
}

// What the quantized patterns left becomes plain weights.
Result<int> fold_dequantized(Graph& graph, const PassContext& context) {
  return fold_all(graph, false, context.max_folded_bytes);
}

}  // namespace stoker
