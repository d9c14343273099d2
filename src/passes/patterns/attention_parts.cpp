// SPDX-License-Identifier: Apache-2.0
#include "passes/patterns/attention_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMaxAdded = 2;
constexpr int kMaxDepth = 8;
using Permutation = std::vector<int64_t>;

Node* transpose_of(const Value* value, const Permutation& perm) {
  Node* node = producer_of(value, "transpose");
  return node && permutation_of(*node) == perm ? node : nullptr;
}

// value = x * factor (or x / (1 / factor)) with a constant: the x; null otherwise.
Value* scaled_from(const Value* value, double* factor) {
  const Node* node = producer_of(value, "mul");
  const bool product = node != nullptr;
  if (!product) node = producer_of(value, "div");
  if (!node) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto number = scalar_constant(node->inputs[1 - side]);
    Value* x = node->inputs[side];
    if (!number || !(x->type == value->type) || (side == 1 && !product)) continue;
    *factor = product ? *number : 1 / *number;
    return x;
  }
  return nullptr;
}

Value* unscaled(Value* value, double* scale) {
  double factor = 1;
  while (Value* x = scaled_from(value, &factor)) {
    *scale *= factor;
    value = x;
  }
  return value;
}

// [batch, heads, ...] as [batch * heads, ...].
bool joins(const Dims& four, const Dims& three) {
  return four.size() == 4 && three.size() == 3 && four[0] * four[1] == three[0] &&
         four[2] == three[1] && four[3] == three[2];
}

Value* before_join(const Value* value) {
  const Node* reshape = producer_of(value, "reshape");
  if (!reshape || !reshape->inputs[0]->type.ranked) return nullptr;
  return joins(reshape->inputs[0]->type.dims, value->type.dims) ? reshape->inputs[0] : nullptr;
}

// ---- from the probabilities to the scores.

// where(is_nan(p), 0, p), or where(reduce_max(mask) == -inf, 0, p): rows without any position are
// zero. Gives p, and for the second form the mask, which must be the one that is added.
Value* behind_zeroed_rows(const Graph& graph, const Value* value, Value** mask) {
  const Node* where = producer_of(value, "where");
  if (!where || scalar_constant(where->inputs[1]) != 0.0) return nullptr;
  Value *condition = where->inputs[0], *p = where->inputs[2];
  if (!single_use(graph, condition) || !(p->type == value->type)) return nullptr;
  if (const Node* is_nan = producer_of(condition, "is_nan"))
    return is_nan->inputs[0] == p && p->uses.size() == 2 && !graph.is_output(p) ? p : nullptr;
  const Node* equal = producer_of(condition, "equal");
  if (!equal || scalar_constant(equal->inputs[1]) != -kInfinity) return nullptr;
  const Node* most = producer_of(equal->inputs[0], "reduce_max");
  if (!most || most->attributes.get_int("keepdims", 1) != 1) return nullptr;
  const auto axes = reduce_axes(*most);
  if (!axes || *axes != Permutation{most->inputs[0]->type.rank() - 1}) return nullptr;
  *mask = most->inputs[0];
  return single_use(graph, p) ? p : nullptr;
}

const Node* softmax_over_last(const Value* value) {
  const Node* softmax = producer_of(value, "softmax");
  if (!softmax || softmax->attributes.has("legacy_flatten") || !value->type.ranked) return nullptr;
  const int64_t axis = softmax->attributes.get_int("axis", -1);
  return axis == -1 || axis == value->type.rank() - 1 ? softmax : nullptr;
}

// Does the mask broadcast to the scores by what is known of the extents?
bool broadcasts(const Value* mask, const Value* scores) {
  if (!mask->type.ranked || mask->type.dims.empty()) return false;
  const Dims &have = mask->type.dims, &full = scores->type.dims;
  if (have.size() > full.size()) return false;
  for (size_t k = 0; k < have.size(); ++k) {
    const Dim &mine = have[have.size() - 1 - k], &wanted = full[full.size() - 1 - k];
    if (!(mine == wanted) && !(mine == Dim(1))) return false;
  }
  return true;
}

// Walks from the softmax's operand inwards: masks, a softcap, scales, the first matmul.
class Scores {
 public:
  Scores(const Graph& graph, AttentionParts& parts) : graph_(graph), parts_(parts) {}

  // The first matmul; null when something else stands in between.
  Node* walk(Value* value) {
    while (Value* inner = behind_mask(value)) value = inner;
    double outer = 1, inner = 1;
    value = behind_scales(value, &outer);
    if (const Node* tanh = producer_of(value, "tanh"); tanh && single_use(graph_, value)) {
      if (!(outer > 0)) return nullptr;
      parts_.softcap = outer;  // cap * tanh(x / cap)
      value = behind_scales(tanh->inputs[0], &inner);
    }
    parts_.scale *= outer * inner;
    const bool one_mask = parts_.added.empty() || !parts_.condition;
    if (!one_mask && parts_.masked_score != -kInfinity) return nullptr;
    return single_use(graph_, value) ? producer_of(value, "matmul") : nullptr;
  }

  // Masks found in the form [batch, heads, ...] although the products have the joined one.
  const Dims& mask_dims() const { return mask_dims_; }
  // Is there a mask with an extent of its own for each joined batch and head?
  bool has_joined_mask() const { return has_joined_mask_; }

 private:
  Value* behind_scales(Value* value, double* scale) const {
    double factor = 1;
    for (Value* x = nullptr; single_use(graph_, value) && (x = scaled_from(value, &factor));) {
      *scale *= factor;
      value = x;
    }
    return value;
  }

  // Tells the side of the scores from a mask.
  bool leads_to_product(const Value* value, int depth = 0) const {
    if (!value || !value->producer || value->is_constant() || !single_use(graph_, value))
      return false;
    const Node& node = *value->producer;
    if (node.is("matmul")) return true;
    const bool passes = node.is("mul") || node.is("div") || node.is("add") || node.is("where") ||
                        node.is("tanh") || node.is("reshape");
    return passes && depth < kMaxDepth &&
           std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Value* input) { return leads_to_product(input, depth + 1); });
  }

  Value* behind_mask(Value* value) {
    if (!value->producer || value->is_constant() || !single_use(graph_, value)) return nullptr;
    const Node& node = *value->producer;
    if (node.is("add")) return behind_sum(node);
    if (node.is("where")) return behind_where(node);
    return node.is("reshape") ? behind_reshape(node) : nullptr;
  }

  void note(const Value* mask) {
    const Dims& dims = mask->type.dims;
    if (!inside_ && dims.size() == 3 && !(dims[0] == Dim(1))) has_joined_mask_ = true;
  }

  Value* behind_sum(const Node& add) {
    const Value* value = add.outputs[0];
    if (parts_.added.size() == kMaxAdded) return nullptr;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Value *scores = add.inputs[side], *mask = add.inputs[1 - side];
      if (!(scores->type == value->type) || !leads_to_product(scores)) continue;
      if (mask->type.dtype != value->type.dtype || !broadcasts(mask, value)) continue;
      parts_.added.push_back(mask);
      note(mask);
      return scores;
    }
    return nullptr;
  }

  Value* behind_where(const Node& where) {
    const Value* value = where.outputs[0];
    if (parts_.condition || !broadcasts(where.inputs[0], value)) return nullptr;
    for (const size_t side : {size_t{1}, size_t{2}}) {
      Value* scores = where.inputs[side];
      const auto number = scalar_constant(where.inputs[3 - side]);
      if (!number || std::isnan(*number) || !(scores->type == value->type)) continue;
      parts_.condition = where.inputs[0];
      note(parts_.condition);
      parts_.where_true = side == 2;
      parts_.masked_score = *number;
      return scores;
    }
    return nullptr;
  }

  // Into [batch, heads, ...] for a mask, and back.
  Value* behind_reshape(const Node& reshape) {
    Value* inner = reshape.inputs[0];
    const Dims& dims = reshape.outputs[0]->type.dims;
    if (!inner->type.ranked) return nullptr;
    if (mask_dims_.empty() && joins(inner->type.dims, dims)) {
      mask_dims_ = inner->type.dims;
      inside_ = true;
      return inner;
    }
    if (!inside_ || !(mask_dims_ == dims) || !joins(dims, inner->type.dims)) return nullptr;
    inside_ = false;
    return inner;
  }

  const Graph& graph_;
  AttentionParts& parts_;
  Dims mask_dims_;
  bool inside_ = false, has_joined_mask_ = false;
};

// ---- the operands.

HeadOperand head_operand(Value* value, double* scale) {
  HeadOperand operand;
  operand.heads_first = unscaled(value, scale);
  if (const Node* transpose = transpose_of(operand.heads_first, {0, 2, 1, 3})) {
    operand.heads_third = unscaled(transpose->inputs[0], scale);
    if (operand.heads_third != transpose->inputs[0]) operand.heads_first = nullptr;
  }
  return operand;
}

// reshape(expand(x of [batch, heads, 1, length, width])): the [batch, heads, length, width].
Value* unrepeated(Value* value) {
  const Node* reshape = producer_of(value, "reshape");
  const Node* expand = reshape ? producer_of(reshape->inputs[0], "expand") : nullptr;
  const Node* split = nullptr;
  for (const char* op : {"reshape", "unsqueeze"}) {
    if (expand && !split) split = producer_of(expand->inputs[0], op);
  }
  if (!split || !split->inputs[0]->type.ranked) return nullptr;
  const Dims &wide = expand->outputs[0]->type.dims, &narrow = expand->inputs[0]->type.dims;
  const Dims& x = split->inputs[0]->type.dims;
  if (x.size() != 4 || !(narrow == Dims{x[0], x[1], Dim(1), x[2], x[3]})) return nullptr;
  if (wide.size() != 5 || !(wide == Dims{x[0], x[1], wide[2], x[2], x[3]})) return nullptr;
  const Dims joined{x[0], x[1] * wide[2], x[2], x[3]};
  return value->type.dims == joined ? split->inputs[0] : nullptr;
}

// K of rank 4 from its transposed form; heads_third alone when one transpose says it all.
HeadOperand key_operand(Value* transposed, double* scale) {
  Value* value = unscaled(transposed, scale);
  if (const Node* swap = transpose_of(value, {0, 1, 3, 2}))
    return head_operand(swap->inputs[0], scale);
  if (const Node* both = transpose_of(value, {0, 2, 3, 1}))
    return {nullptr, unscaled(both->inputs[0], scale)};
  // [batch, heads, ...] joined around the transpose.
  const Node* reshape = producer_of(value, "reshape");
  const Node* swap = reshape ? transpose_of(reshape->inputs[0], {0, 2, 1}) : nullptr;
  Value* source = swap ? before_join(swap->inputs[0]) : nullptr;
  if (!source || !joins(value->type.dims, swap->outputs[0]->type.dims)) return {};
  const bool same = source->type.dims[0] == value->type.dims[0];
  return same ? head_operand(source, scale) : HeadOperand{};
}

bool one_type(std::initializer_list<const Value*> values, int64_t rank) {
  const DType dtype = (*values.begin())->type.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return false;
  return std::all_of(values.begin(), values.end(), [&](const Value* value) {
    return value->type.dtype == dtype && value->type.ranked && value->type.rank() == rank;
  });
}

bool agree(const AttentionParts& p, bool shared) {
  if (!(p.q.batch() == p.k.batch()) || !(p.q.batch() == p.v.batch())) return false;
  if (!(p.k.heads() == p.v.heads()) || !(p.k.length() == p.v.length())) return false;
  return p.q.width() == p.k.width() && (shared || p.q.heads() == p.k.heads());
}

bool match_heads(AttentionParts& parts, Value* q, Value* k_transposed, Value* v) {
  parts.has_heads = true;
  double v_scale = 1;
  parts.q = head_operand(q, &parts.scale);
  parts.k = key_operand(k_transposed, &parts.scale);
  if (!parts.k.heads_first && !parts.k.heads_third) return false;
  parts.v = head_operand(v, &v_scale);
  if (v_scale != 1) parts.v = {v, nullptr};
  Value* k_shared = parts.k.heads_first ? unrepeated(parts.k.heads_first) : nullptr;
  Value* v_shared = parts.v.heads_first ? unrepeated(parts.v.heads_first) : nullptr;
  if (!k_shared || !v_shared) return agree(parts, false);
  // Both of as many heads as the query, made from as many: so repeated as often.
  if (!agree(parts, false)) return false;
  AttentionParts narrow = parts;
  narrow.k = head_operand(k_shared, &narrow.scale);
  narrow.v = {v_shared, nullptr};
  if (const Node* transpose = transpose_of(v_shared, {0, 2, 1, 3}))
    narrow.v.heads_third = transpose->inputs[0];
  if (agree(narrow, true)) parts = narrow;
  return true;
}

// Rank 3 whose operands and result are reshaped from and to [batch, heads, ...].
bool match_joined(const Graph& graph, AttentionParts& parts, Value* q, Value* k_transposed,
                  Value* v, const Dims& mask_dims) {
  AttentionParts trial = parts;
  const Node* swap = transpose_of(k_transposed, {0, 2, 1});
  Value* sources[] = {before_join(q), swap ? before_join(swap->inputs[0]) : nullptr,
                      before_join(v)};
  const Value* result = parts.last->outputs[0];
  if (!sources[0] || !sources[1] || !sources[2] || !single_use(graph, result)) return false;
  Node* split = result->uses[0].node;
  if (!split->is("reshape") || !joins(split->outputs[0]->type.dims, result->type.dims))
    return false;
  trial.has_heads = true;
  trial.last = split;
  double v_scale = 1;
  trial.q = head_operand(sources[0], &trial.scale);
  trial.k = head_operand(sources[1], &trial.scale);
  trial.v = head_operand(sources[2], &v_scale);
  if (v_scale != 1 || !agree(trial, false)) return false;
  const Dims& y = split->outputs[0]->type.dims;
  if (!(y[0] == trial.q.batch()) || !(y[1] == trial.q.heads())) return false;
  if (!mask_dims.empty() && !(mask_dims[0] == y[0] && mask_dims[1] == y[1])) return false;
  parts = trial;
  return true;
}

bool match_flat(AttentionParts& parts, Value* q, Value* k_transposed, Value* v) {
  const bool matrix = q->type.rank() == 2;
  Value* k = unscaled(k_transposed, &parts.scale);
  const Node* swap = transpose_of(k, matrix ? Permutation{1, 0} : Permutation{0, 2, 1});
  if (!swap) return false;
  parts.flat[0] = unscaled(q, &parts.scale);
  parts.flat[1] = unscaled(swap->inputs[0], &parts.scale);
  parts.flat[2] = v;
  return matrix || (q->type.dims[0] == k->type.dims[0] && q->type.dims[0] == v->type.dims[0]);
}

}  // namespace

Node* transposing_user(const Graph& graph, const Value* value, const Permutation& perm) {
  if (!single_use(graph, value)) return nullptr;
  Node* user = value->uses[0].node;
  return user->is("transpose") && permutation_of(*user) == perm ? user : nullptr;
}

std::optional<AttentionParts> match_attention(const Graph& graph, Node* product) {
  if (product->is_constant() || !product->is("matmul")) return std::nullopt;
  AttentionParts parts;
  parts.last = product;
  const Value* p = product->inputs[0];
  if (!single_use(graph, p)) return std::nullopt;
  Value* zeroed_by = nullptr;
  if (const Value* inner = behind_zeroed_rows(graph, p, &zeroed_by)) {
    parts.nan_rows = false;
    p = inner;
  }
  const Node* softmax = softmax_over_last(p);
  if (!softmax) return std::nullopt;
  Scores scores(graph, parts);
  const Node* first = scores.walk(softmax->inputs[0]);
  if (!first) return std::nullopt;
  if (zeroed_by && (parts.condition || parts.added.size() != 1 || parts.added[0] != zeroed_by))
    return std::nullopt;
  Value *q = first->inputs[0], *k = first->inputs[1], *v = product->inputs[1];
  const int64_t rank = q->type.ranked ? q->type.rank() : 0;
  if (!one_type({q, k, v, product->outputs[0]}, rank)) return std::nullopt;
  bool matched = false;
  if (rank == 4) {
    matched = scores.mask_dims().empty() && match_heads(parts, q, k, v);
  } else if (rank == 2 || rank == 3) {
    matched = (rank == 3 && !scores.has_joined_mask() &&
               match_joined(graph, parts, q, k, v, scores.mask_dims())) ||
              (scores.mask_dims().empty() && match_flat(parts, q, k, v));
  }
  if (!matched || !std::isfinite(parts.scale)) return std::nullopt;
  return parts;
}

}  // namespace stoker
