// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/score_rows.h"

#include <limits>

#include "kernels/cpu/region/vector_math.h"
#include "kernels/cpu/simd.h"

namespace stoker::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

float largest(VecF a) {
  alignas(64) float t[kLanes];
  store(t, a);
  float most = t[0];
  for (int i = 1; i < kLanes; ++i) most = t[i] > most ? t[i] : most;
  return most;
}

float total(VecF a) {
  alignas(64) float t[kLanes];
  store(t, a);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) t[i] += t[i + width];
  }
  return t[0];
}

void softcap(float scale, float cap, int64_t n, float* x) {
  const float inner = scale / cap;
  int64_t j = 0;
#if defined(__AVX512F__)
  for (; j + kLanes <= n; j += kLanes) {
    const VecF y = {Math16::tanh((load(x + j) * broadcast(inner)).v[0])};
    store(x + j, y * broadcast(cap));
  }
#endif
  for (; j < n; ++j) x[j] = cap * tanh_f32(x[j] * inner);
}

// Elements of the mask `step` apart; 0: one for all.
template <class T>
void masked(const T* mask, int64_t step, float scale, float instead, int64_t n, float* x) {
  const auto one = [&](int64_t j, T m) {
    if constexpr (std::is_same_v<T, float>)
      x[j] = m == kMinusInfinity ? m : x[j] * scale + m;
    else
      x[j] = m != 0 ? x[j] * scale : instead;
  };
  if (step == 1) {  // a loop of its own, which the compiler vectorises
    for (int64_t j = 0; j < n; ++j) one(j, mask[j]);
  } else {
    for (int64_t j = 0; j < n; ++j) one(j, mask[j * step]);
  }
}

float scaled_maximum(float scale, int64_t n, float* x) {
  // NaN is passed over: the second operand comes out.
  VecF most = broadcast(kMinusInfinity);
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const VecF v = load(x + j) * broadcast(scale);
    store(x + j, v);
    most = max_second(v, most);
  }
  float result = largest(most);
  for (; j < n; ++j) {
    x[j] *= scale;
    result = x[j] > result ? x[j] : result;
  }
  return result;
}

}  // namespace

float finish_scores(const AttentionPlan& plan, const void* mask, int64_t position, int64_t n,
                    float* scores) {
  float scale = plan.scale;
  if (plan.softcap > 0) {
    softcap(scale, plan.softcap, n, scores);
    scale = 1;
  }
  if (mask) {
    const int64_t step = plan.mask_strides[3], at = position * step;
    if (plan.bool_mask) {
      const auto* allowed = static_cast<const uint8_t*>(mask) + at;
      masked(allowed, step, scale, plan.masked_score, n, scores);
    } else {
      const auto* added = static_cast<const float*>(mask) + at;
      masked(added, step, scale, 0, n, scores);
    }
    scale = 1;
  }
  return scaled_maximum(scale, n, scores);
}

float exponentials_of(float* x, int64_t n, float most) {
  int64_t j = 0;
#if defined(__AVX512F__)
  VecF sum = broadcast(0.0f);
  for (; j < n; j += kLanes) {
    const int count = static_cast<int>(n - j < kLanes ? n - j : kLanes);
    const VecF e = {Math16::exp((load_first(x + j, count) - broadcast(most)).v[0])};
    store_first(x + j, e, count);
    sum = sum + keep_first(e, count);
  }
  return total(sum);
#else
  for (int64_t i = 0; i < n; ++i) x[i] = exp_f32(x[i] - most);
  VecF sum = broadcast(0.0f);
  for (; j + kLanes <= n; j += kLanes) sum = sum + load(x + j);
  float rest = 0;
  for (; j < n; ++j) rest += x[j];
  return total(sum) + rest;
#endif
}

bool scale_row(const float* sums, float factor, int64_t n, float* y) {
  // Infinity and NaN times 0 are NaN.
  VecF check = broadcast(0.0f);
  for (int64_t j = 0; j < n; j += kLanes) {
    const int count = static_cast<int>(n - j < kLanes ? n - j : kLanes);
    const VecF v = load_first(sums + j, count) * broadcast(factor);
    store_first(y + j, v, count);
    check = check + v * broadcast(0.0f);
  }
  const float zero = total(check);
  return zero == 0;
}

}  // namespace stoker::cpu
