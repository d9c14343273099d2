// What lstm, gru and rnn share: inputs X, W, R, B, sequence_lens, initial_h; directions and layout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/activation.h"
#include "ops/support.h"

namespace stoker {

// Checks the inputs for `gates` rows of W per hidden unit and sets the outputs Y, Y_h and, for
// three outputs, Y_c.
Status infer_recurrent(InferContext& c, const char* op, int64_t gates);

// `per_direction` activations a direction; default names apply when none are given.
Result<std::vector<Activation>> activations_of(const Attributes& attributes, const char* op,
                                               int64_t directions,
                                               std::vector<std::string> defaults);

struct RecurrentShape {
  int64_t steps, batch, input, hidden, directions;
  bool batch_first;
};
RecurrentShape recurrent_shape(const EvalContext& c);

// One direction of one sequence. `step` turns the states and the input row into the next hidden
// state.
struct RecurrentCell {
  std::vector<double> h, c;  // hidden and cell state of the running sequence
};
using RecurrentStep = std::function<void(int64_t direction, const double* x, RecurrentCell& cell)>;
// Runs all sequences and writes the outputs. initial_c stands at input `c_index` (-1: none).
Status run_recurrent(const EvalContext& c, const RecurrentShape& s, int c_index,
                     const RecurrentStep& step);

// Rows of weights where they lie, or converted when they are neither f32 nor f64: the same engine
// runs them again and again, and conversions took most of the time.
struct WeightRows {
  const float* f32 = nullptr;
  const double* f64 = nullptr;  // when f32 is null
  std::vector<double> converted;
};
// W, R, B of one direction.
struct RecurrentWeights {
  WeightRows w, r;
  std::vector<double> wb, rb;
};
std::vector<RecurrentWeights> recurrent_weights(const EvalContext& c, const RecurrentShape& s,
                                                int64_t gates);
// rows . v
double row_dot(const WeightRows& matrix, int64_t row, int64_t columns, const double* v);
double clip_to(double x, double limit);  // limit 0: none

}  // namespace stoker
