// Plain recurrence h = f(W x + R h + b). Inputs: X, W, R, B, sequence_lens, initial_h. Outputs: Y,
// Y_h.
// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  const RecurrentShape s = recurrent_shape(c);
  STOKER_ASSIGN(const auto f, activations_of(c.attributes, "rnn", s.directions, {"Tanh"}));
  const std::vector<RecurrentWeights> weights = recurrent_weights(c, s, 1);
  const double limit = c.attributes.get_float("clip");
  std::vector<double> next(static_cast<size_t>(s.hidden));
  return run_recurrent(c, s, -1, [&](int64_t d, const double* x, RecurrentCell& cell) {
    const RecurrentWeights& w = weights[d];
    for (int64_t k = 0; k < s.hidden; ++k) {
      const double sum = row_dot(w.w, k, s.input, x) + row_dot(w.r, k, s.hidden, cell.h.data()) +
                         w.wb[k] + w.rb[k];
      next[k] = f[d](clip_to(sum, limit));
    }
    cell.h = next;
  });
}

}  // namespace

extern const Op op_rnn;
const Op op_rnn = {
    .name = "rnn",
    .min_inputs = 3,
    .max_inputs = 6,
    .output_count = -1,
    .attributes = {{"activation_alpha", AttributeKind::kFloats},
                   {"activation_beta", AttributeKind::kFloats},
                   {"activations", AttributeKind::kStrings},
                   {"clip", AttributeKind::kFloat},
                   {"direction", AttributeKind::kString},
                   {"hidden_size", AttributeKind::kInt},
                   {"layout", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_recurrent(c, "rnn", 1); },
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
