// Long short-term memory; gates in the order input, output, forget, cell; optional peepholes.
// Inputs: X, W, R, B, sequence_lens, initial_h, initial_c, P. Outputs: Y, Y_h, Y_c.
// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  const RecurrentShape s = recurrent_shape(c);
  const int64_t n = s.hidden;
  STOKER_ASSIGN(const auto f,
                activations_of(c.attributes, "lstm", s.directions, {"Sigmoid", "Tanh", "Tanh"}));
  const std::vector<RecurrentWeights> weights = recurrent_weights(c, s, 4);
  const std::vector<double> peep =
      c.has(7) ? to_doubles(c.inputs[7]) : std::vector<double>(s.directions * 3 * n, 0.0);
  const double limit = c.attributes.get_float("clip");
  const bool coupled = c.attributes.get_int("input_forget") != 0;
  std::vector<double> gates(static_cast<size_t>(4 * n));
  return run_recurrent(c, s, 6, [&](int64_t d, const double* x, RecurrentCell& cell) {
    const RecurrentWeights& w = weights[d];
    for (int64_t k = 0; k < 4 * n; ++k) {
      gates[k] =
          row_dot(w.w, k, s.input, x) + row_dot(w.r, k, n, cell.h.data()) + w.wb[k] + w.rb[k];
    }
    const double* p = peep.data() + d * 3 * n;
    const Activation *gate = &f[d * 3], *candidate = gate + 1, *output = gate + 2;
    for (int64_t k = 0; k < n; ++k) {
      const double i = (*gate)(clip_to(gates[k] + p[k] * cell.c[k], limit));
      const double forget =
          coupled ? 1 - i : (*gate)(clip_to(gates[2 * n + k] + p[2 * n + k] * cell.c[k], limit));
      cell.c[k] = forget * cell.c[k] + i * (*candidate)(clip_to(gates[3 * n + k], limit));
      const double o = (*gate)(clip_to(gates[n + k] + p[n + k] * cell.c[k], limit));
      cell.h[k] = o * (*output)(cell.c[k]);
    }
  });
}

}  // namespace

extern const Op op_lstm;
const Op op_lstm = {
    .name = "lstm",
    .min_inputs = 3,
    .max_inputs = 8,
    .output_count = -1,
    .attributes = {{"activation_alpha", AttributeKind::kFloats},
                   {"activation_beta", AttributeKind::kFloats},
                   {"activations", AttributeKind::kStrings},
                   {"clip", AttributeKind::kFloat},
                   {"direction", AttributeKind::kString},
                   {"hidden_size", AttributeKind::kInt},
                   {"layout", AttributeKind::kInt},
                   {"input_forget", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_recurrent(c, "lstm", 4); },
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
