// x / sqrt(mean(x^2) + epsilon) * scale over the trailing axes, in the spellings of exporters
// -> rms_normalization. A scale in another dtype (behind the cast back to f16) stays a product.
// SPDX-License-Identifier: Apache-2.0
#include "passes/patterns/norm_parts.h"

namespace stoker {
namespace {

Result<bool> rewrite(Graph& graph, Node* root) {
  const auto m = match_root(*root);
  if (!m) return false;
  Value* x = m->squared;
  Node* last = division_by_root(graph, root, x);
  // The square may be taken of x behind a cast: then x itself is what is divided.
  if (!last && behind_casts(x) != x) {
    x = behind_casts(x);
    last = division_by_root(graph, root, x);
  }
  if (!last || !(last->outputs[0]->type == x->type)) return false;
  const Dims shape(x->type.dims.begin() + m->axis, x->type.dims.end());
  Value* scale = nullptr;
  if (Node* mul = affine(graph, last->outputs[0], "mul", shape, &scale)) {
    last = mul;
  } else {
    STOKER_ASSIGN(scale, ones(graph, x->type.dtype, shape, last));
    if (!scale) return false;
  }
  return replace_by_norm(graph, last, "rms_normalization", m->axis, m->epsilon, {x, scale});
}

}  // namespace

Result<int> rms_norm(Graph& graph, const PassContext&) { return rewrite_roots(graph, rewrite); }

}  // namespace stoker
