// Gated recurrent unit; gates in the order update, reset, hidden.
// Inputs: X, W, R, B, sequence_lens, initial_h. Outputs: Y, Y_h.
// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  const RecurrentShape s = recurrent_shape(c);
  const int64_t n = s.hidden;
  STOKER_ASSIGN(const auto f,
                activations_of(c.attributes, "gru", s.directions, {"Sigmoid", "Tanh"}));
  const std::vector<RecurrentWeights> weights = recurrent_weights(c, s, 3);
  const double limit = c.attributes.get_float("clip");
  const bool linear_first = c.attributes.get_int("linear_before_reset") != 0;
  std::vector<double> update(static_cast<size_t>(n)), reset(update), kept(update), next(update);
  return run_recurrent(c, s, -1, [&](int64_t d, const double* x, RecurrentCell& cell) {
    const RecurrentWeights& w = weights[d];
    const Activation &gate = f[d * 2], &hidden = f[d * 2 + 1];
    const double* h = cell.h.data();
    for (int64_t k = 0; k < n; ++k) {
      update[k] = gate(
          clip_to(row_dot(w.w, k, s.input, x) + row_dot(w.r, k, n, h) + w.wb[k] + w.rb[k], limit));
      const int64_t r = n + k;
      reset[k] = gate(
          clip_to(row_dot(w.w, r, s.input, x) + row_dot(w.r, r, n, h) + w.wb[r] + w.rb[r], limit));
      kept[k] = reset[k] * h[k];
    }
    for (int64_t k = 0; k < n; ++k) {
      const int64_t r = 2 * n + k;
      const double recurrent = linear_first ? reset[k] * (row_dot(w.r, r, n, h) + w.rb[r])
                                            : row_dot(w.r, r, n, kept.data()) + w.rb[r];
      next[k] = (1 - update[k]) *
                    hidden(clip_to(row_dot(w.w, r, s.input, x) + w.wb[r] + recurrent, limit)) +
                update[k] * h[k];
    }
    cell.h = next;
  });
}

}  // namespace

extern const Op op_gru;
const Op op_gru = {
    .name = "gru",
    .min_inputs = 3,
    .max_inputs = 6,
    .output_count = -1,
    .attributes = {{"activation_alpha", AttributeKind::kFloats},
                   {"activation_beta", AttributeKind::kFloats},
                   {"activations", AttributeKind::kStrings},
                   {"clip", AttributeKind::kFloat},
                   {"direction", AttributeKind::kString},
                   {"hidden_size", AttributeKind::kInt},
                   {"layout", AttributeKind::kInt},
                   {"linear_before_reset", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_recurrent(c, "gru", 3); },
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
