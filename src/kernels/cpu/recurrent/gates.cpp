// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/recurrent/gates.h"

#include "kernels/cpu/region/vector_math.h"

namespace stoker::cpu {
namespace {

// A loop over 16 elements, which the compiler vectorises.
template <class F>
VecF each(VecF x, F f) {
  alignas(64) float t[kLanes];
  store(t, x);
  for (int i = 0; i < kLanes; ++i) t[i] = f(t[i]);
  return load(t);
}

VecF sigmoid(VecF x) {
#if defined(__AVX512F__)
  return {Math16::sigmoid(x.v[0])};
#else
  return each(x, [](float v) { return sigmoid_f32(v); });
#endif
}

VecF tanh(VecF x) {
#if defined(__AVX512F__)
  return {Math16::tanh(x.v[0])};
#else
  return each(x, [](float v) { return tanh_f32(v); });
#endif
}

}  // namespace

VecF GateFunction::activated(VecF x) const {
  const VecF zero = broadcast(0.0f), one = broadcast(1.0f);
  const float a = alpha_, b = beta_;
  switch (kind_) {
    case ActivationKind::kSigmoid: return sigmoid(x);
    case ActivationKind::kTanh: return tanh(x);
    case ActivationKind::kRelu: return max_second(zero, x);
    case ActivationKind::kAffine: return fma(broadcast(a), x, broadcast(b));
    case ActivationKind::kLeakyRelu: return each(x, [a](float v) { return v < 0 ? a * v : v; });
    case ActivationKind::kThresholdedRelu:
      return each(x, [a](float v) { return v > a ? v : 0.0f; });
    case ActivationKind::kScaledTanh: return broadcast(a) * tanh(broadcast(b) * x);
    // NaN becomes 1, as std::min in the reference has it.
    case ActivationKind::kHardSigmoid:
      return max_second(min_second(fma(broadcast(a), x, broadcast(b)), one), zero);
    case ActivationKind::kElu:
      return each(x, [a](float v) {
        // exp(v) - 1 loses the digits of small v; the series ends where its terms no longer count.
        const float small = v * (1 + v * (0.5f + v * (1 / 6.0f + v * (1 / 24.0f))));
        return v < 0 ? a * (v > -0.05f ? small : exp_f32(v) - 1) : v;
      });
    case ActivationKind::kSoftsign:
      return each(x, [](float v) { return v / (1 + __builtin_fabsf(v)); });
    case ActivationKind::kSoftplus: break;
  }
  return each(x, [](float v) {
    const float e = exp_f32(-__builtin_fabsf(v));
    // log(1 + e) with the digits that 1 + e loses (Kahan's correction).
    const float u = 1 + e;
    const float log1p = u == 1 ? e : log_f32(u) * (e / (u - 1));
    return (v < 0 ? 0 : v) + log1p;
  });
}

VecF lstm_step(const GateFunction* functions, bool coupled, const GateInputs& in,
               const float* peepholes, float* c) {
  const GateFunction &act = functions[0], &candidate = functions[1], &output = functions[2];
  const VecF before = load(c);
  VecF i = in.sum(0), f = in.sum(2), o = in.sum(1);
  if (peepholes) {
    i = fma(load(peepholes), before, i);
    f = fma(load(peepholes + 2 * kLanes), before, f);
  }
  i = act(i);
  f = coupled ? broadcast(1.0f) - i : act(f);
  const VecF now = fma(f, before, i * candidate(in.sum(3)));
  store(c, now);
  if (peepholes) o = fma(load(peepholes + kLanes), now, o);
  return act(o) * output.activated(now);
}

VecF gru_step(const GateFunction* functions, const GateInputs& in, const float* state_bias,
              VecF h) {
  const VecF update = functions[0](in.sum(0)), reset = functions[0](in.sum(1));
  const VecF product = in.of_state(2) + load(state_bias);
  const VecF next = in.of_input(2) + in.of_bias(2);
  const VecF candidate = functions[1](fma(reset, product, next));
  return fma(broadcast(1.0f) - update, candidate, update * h);
}

GruGates gru_gates(const GateFunction* functions, const GateInputs& in, VecF h) {
  return {functions[0](in.sum(0)), functions[0](in.sum(1)) * h};
}

VecF gru_finish(const GateFunction* functions, VecF sum, VecF update, VecF h) {
  return fma(broadcast(1.0f) - update, functions[1](sum), update * h);
}

VecF rnn_step(const GateFunction* functions, const GateInputs& in) {
  return functions[0](in.sum(0));
}

}  // namespace stoker::cpu
