// What happens to the gates of 16 hidden units after their products.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/simd.h"
#include "kernels/desc/desc.h"

namespace stoker::cpu {

// Of one sequence and 16 hidden units: the products of the input, of the hidden state, and the
// biases, a gate every 16 elements, in the order of the op's gates. Products by weights of 8 bits
// come unscaled.
struct GateInputs {
  const float* input = nullptr;
  const float* state = nullptr;
  const float* bias = nullptr;
  const float *input_scale = nullptr, *state_scale = nullptr;  // null: 1

  VecF of_input(int gate) const { return scaled(input, input_scale, gate * kLanes); }
  VecF of_state(int gate) const { return scaled(state, state_scale, gate * kLanes); }
  VecF of_bias(int gate) const { return load(bias + gate * kLanes); }
  VecF sum(int gate) const { return of_input(gate) + of_state(gate) + of_bias(gate); }

 private:
  static VecF scaled(const float* products, const float* scales, int at) {
    return scales ? load(products + at) * load(scales + at) : load(products + at);
  }
};

// Clips and applies an activation to 16 elements.
class GateFunction {
 public:
  GateFunction() = default;
  GateFunction(const Activation& a, double clip)
      : kind_(a.kind),
        alpha_(static_cast<float>(a.alpha)),
        beta_(static_cast<float>(a.beta)),
        clip_(static_cast<float>(clip)) {}
  VecF operator()(VecF x) const { return activated(clipped(x)); }
  VecF clipped(VecF x) const {
    if (!(clip_ > 0)) return x;
    // NaN stays: the second operand comes out.
    return max_second(broadcast(-clip_), min_second(broadcast(clip_), x));
  }
  VecF activated(VecF x) const;

 private:
  ActivationKind kind_ = ActivationKind::kSigmoid;
  float alpha_ = 0, beta_ = 0, clip_ = 0;
};

// A step of an LSTM. `peepholes`: of input, output and forget gate, 16 elements each; null: none.
// `c` is the cell state before and after; returns the hidden state.
VecF lstm_step(const GateFunction* functions, bool coupled, const GateInputs& in,
               const float* peepholes, float* c);

// A step of a GRU whose reset gate multiplies the product of the state. `state_bias`: of the
// product.
VecF gru_step(const GateFunction* functions, const GateInputs& in, const float* state_bias, VecF h);

// A step of the other GRU in two parts: update gate and h * reset gate; then, with the sum of the
// candidate's terms, the hidden state.
struct GruGates {
  VecF update, kept;
};
GruGates gru_gates(const GateFunction* functions, const GateInputs& in, VecF h);
VecF gru_finish(const GateFunction* functions, VecF sum, VecF update, VecF h);

VecF rnn_step(const GateFunction* functions, const GateInputs& in);

}  // namespace stoker::cpu
