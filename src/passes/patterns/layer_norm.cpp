// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gain + bias, over the trailing axes and
// in the spellings of exporters -> layer_normalization.
// SPDX-License-Identifier: Apache-2.0
#include "passes/patterns/norm_parts.h"

namespace stoker {
namespace {

struct Match {
  Value* x = nullptr;
  int64_t axis = 0;
  double epsilon = 0;
  Node* centred = nullptr;  // x - mean
  Node* last = nullptr;     // the division
};

std::optional<Match> match(const Graph& graph, Node* root) {
  const auto found = match_root(*root);
  if (!found) return std::nullopt;
  Match m;
  m.centred = producer_of(behind_casts(found->squared), "sub");
  if (!m.centred) return std::nullopt;
  m.x = m.centred->inputs[0];
  const Node* mean = producer_of(behind_casts(m.centred->inputs[1]), "reduce_mean");
  if (!mean || !m.x->type.ranked || !is_float(m.x->type.dtype)) return std::nullopt;
  if (mean->inputs[0] != m.x && behind_casts(mean->inputs[0]) != m.x) return std::nullopt;
  m.axis = found->axis;
  if (trailing_axis(*mean) != m.axis) return std::nullopt;
  m.epsilon = found->epsilon;
  m.last = division_by_root(graph, root, m.centred->outputs[0]);
  if (!m.last || !(m.last->outputs[0]->type == m.x->type)) return std::nullopt;
  return m;
}

Result<bool> rewrite(Graph& graph, Node* root) {
  const auto m = match(graph, root);
  if (!m) return false;
  const Dims shape(m->x->type.dims.begin() + m->axis, m->x->type.dims.end());
  Value *gain = nullptr, *bias = nullptr;
  Node* last = m->last;
  if (Node* mul = affine(graph, last->outputs[0], "mul", shape, &gain)) {
    last = mul;
    if (Node* add = affine(graph, last->outputs[0], "add", shape, &bias)) last = add;
  }
  if (!gain) {
    STOKER_ASSIGN(gain, ones(graph, m->x->type.dtype, shape, last));
    if (!gain) return false;
  }
  std::vector<Value*> inputs{m->x, gain};
  if (bias) inputs.push_back(bias);
  return replace_by_norm(graph, last, "layer_normalization", m->axis, m->epsilon,
                         std::move(inputs));
}

}  // namespace

Result<int> layer_norm(Graph& graph, const PassContext&) { return rewrite_roots(graph, rewrite); }

}  // namespace stoker
