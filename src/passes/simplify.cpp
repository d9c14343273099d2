// Arithmetic that changes nothing but the sign of a zero (x + 0, x * 1, x ^ 1), pairs that undo
// each other (neg, not), casts behind casts that lose nothing, and empty operands of concat.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/numeric.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

bool same_type(const Value* a, const Value* b) { return a->type.ranked && a->type == b->type; }

// Is every element of the constant this number? One look at most of a tensor that is not.
bool is_filled(const Value* value, double expected) {
  if (!value || !value->constant || value->constant->count() == 0 || value->open) return false;
  const Tensor& tensor = *value->constant;
  const LoadDouble load = load_double(tensor.dtype());
  for (int64_t i = 0; load && i < tensor.count(); ++i) {
    if (load(tensor.data(), i) != expected) return false;
  }
  return load != nullptr;
}

// The operand that the result equals; null when there is none.
Value* neutral(const Node& node) {
  if (node.inputs.size() != 2 || !node.inputs[0] || !node.inputs[1]) return nullptr;
  const bool sum = node.is("add"), product = node.is("mul");
  const bool zero = sum || node.is("sub");
  const bool one = product || node.is("div") || node.is("pow");
  if (!zero && !one) return nullptr;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    if (side == 0 && !sum && !product) break;
    Value* kept = node.inputs[1 - side];
    if (same_type(kept, node.outputs[0]) && is_filled(node.inputs[side], zero ? 0 : 1)) return kept;
  }
  return nullptr;
}

// neg(neg(x)), not(not(x)), relu(relu(x)): what the outer node may be replaced by.
Value* undone(const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || !node.inputs[0]->producer) return nullptr;
  const Node& inner = *node.inputs[0]->producer;
  if (inner.is_constant() || inner.op != node.op) return nullptr;
  for (const char* name : {"neg", "not", "bitwise_not"}) {
    if (node.is(name)) return inner.inputs[0];
  }
  for (const char* name : {"relu", "abs", "ceil", "floor", "round", "sign"}) {
    if (node.is(name)) return inner.outputs[0];
  }
  return nullptr;
}

// How many bits hold every integer of the dtype exactly, the sign left out; 0: not known here.
int magnitude_bits(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const auto bits = static_cast<int>(dtype_bits(dtype));
  if (!is_integer(dtype) || bits < 8) return 0;
  return is_signed(dtype) ? bits - 1 : bits;
}

int mantissa_bits(DType dtype) {
  switch (dtype) {
    case DType::kBF16: return 8;
    case DType::kF16: return 11;
    case DType::kF32: return 24;
    case DType::kF64: return 53;
    default: return 0;
  }
}

// Does `to` hold every value of `from`?
bool holds(DType to, DType from) {
  if (from == to) return true;
  const int have = mantissa_bits(from), room = mantissa_bits(to);
  if (have > 0) return room > have && !(from == DType::kBF16 && to == DType::kF16);
  const int bits = magnitude_bits(from);
  if (bits == 0 || to == DType::kBool) return false;
  if (room > 0) return bits <= room;
  return magnitude_bits(to) >= bits && (is_signed(to) || !is_signed(from));
}

// cast(cast(x, wider), dtype) is cast(x, dtype). An integer that goes on to a narrower integer as
// a float would saturate instead of wrapping.
Value* behind_exact_cast(const Node& node) {
  const Node* inner = node.is("cast") ? producer_of(node.inputs[0], "cast") : nullptr;
  if (!inner) return nullptr;
  const DType from = inner->inputs[0]->type.dtype, through = inner->outputs[0]->type.dtype;
  const DType to = node.outputs[0]->type.dtype;
  if (!holds(through, from) || to == DType::kString) return nullptr;
  const bool plain = mantissa_bits(to) > 0 || magnitude_bits(to) > 0;
  if (!plain && to != from) return nullptr;
  if (!is_float(from) && is_float(through) && !is_float(to) && !holds(to, from)) return nullptr;
  return inner->inputs[0];
}

// Operands of concat without elements.
bool drop_empty_operands(Graph& graph, Node* node) {
  if (!node->is("concat") || !node->inputs[0]->type.ranked) return false;
  const int64_t rank = node->inputs[0]->type.rank();
  int64_t axis = node->attributes.get_int("axis", 0);
  axis += axis < 0 ? rank : 0;
  std::vector<Value*> kept;
  for (Value* value : node->inputs) {
    const bool empty = value->type.ranked && value->type.rank() == rank && axis < rank &&
                       value->type.dims[static_cast<size_t>(axis)] == Dim(0);
    if (!empty) kept.push_back(value);
  }
  if (kept.empty() || kept.size() == node->inputs.size()) return false;
  graph.set_inputs(node, kept);
  return true;
}

}  // namespace

Result<int> simplify(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || node->outputs.size() != 1 || node->inputs.empty()) continue;
    if (Value* source = behind_exact_cast(*node)) {
      graph.set_input(node, 0, source);
      ++changes;
      continue;
    }
    if (drop_empty_operands(graph, node)) {
      ++changes;
      continue;
    }
    Value* same = neutral(*node);
    if (!same) same = undone(*node);
    if (!same || !replace_value(graph, node->outputs[0], same)) continue;
    if (same->producer && !same->is_constant()) append_origins(same->producer, *node);
    graph.erase(node);
    ++changes;
  }
  return changes;
}

}  // namespace stoker
