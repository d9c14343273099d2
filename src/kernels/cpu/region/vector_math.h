// exp, log, tanh, erf and sigmoid as branch-free f32 code that the compiler turns into vector code:
// polynomials fitted for this project on the reduced ranges, NaN and infinities as in libm.
//   exp      2^n * p(r), |r| <= ln2/2        error <= 2 ulp, denormal results exact to 1 of their
//   ulps log      frexp to [sqrt(1/2), sqrt(2))   error <= 2 ulp tanh     odd polynomial below
//   0.625, then 1 - 2 / (exp(2x) + 1)      error <= 3e-7 relative erf      odd polynomial below
//   0.9, then 1 - exp(-x * q(x))           error <= 2e-7 absolute
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
// g++ 12 takes the undefined pass-through operands of its own intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

namespace stoker::cpu {

// Contraction is off for the whole build, so that levels without FMA do not differ by accident;
// here it is wanted where the level has it.
inline float madd(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }

inline float exp_f32(float x) {
  // Clamped so that the exponent arithmetic stays in range; NaN passes both comparisons.
  float v = x > 89.0f ? 89.0f : x;
  v = v < -104.0f ? -104.0f : v;
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float t = madd(v, 1.44269504f, kMagic);
  const float n = t - kMagic;
  float r = madd(n, -0.693359375f, v);
  r = madd(n, 2.12194440e-4f, r);
  float p = madd(1.381455920636654e-3f, r, 8.368736132979393e-3f);
  p = madd(p, r, 4.166838899254799e-2f);
  p = madd(p, r, 1.666652113199234e-1f);
  p = madd(p, r, 0.5f);
  p = madd(p, r * r, r) + 1.0f;
  // Two factors, since one alone cannot reach 2^128 or the denormals.
  const int32_t exponent = static_cast<int32_t>(bits_of(t)) - static_cast<int32_t>(0x4B400000);
  const int32_t half = exponent >> 1;
  const float scale_a = float_of(static_cast<uint32_t>(half + 127) << 23);
  const float scale_b = float_of(static_cast<uint32_t>(exponent - half + 127) << 23);
  const float y = p * scale_a * scale_b;
  return x != x ? x : y;
}

inline float log_f32(float x) {
  // Denormals are lifted into the normal range first.
  const bool tiny = x < 1.17549435e-38f;
  const float lifted = tiny ? x * 8388608.0f : x;
  const uint32_t bits = bits_of(lifted);
  // Splits at sqrt(1/2), so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  const uint32_t moved = bits - 0x3F3504F3u;
  const int32_t exponent = static_cast<int32_t>(moved) >> 23;
  const float m = float_of((moved & 0x007FFFFFu) + 0x3F3504F3u);
  const float n = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  const float f = m - 1.0f;
  float p = madd(6.757558882236481e-2f, f, -1.1694340407848358e-1f);
  p = madd(p, f, 1.1893520504236221e-1f);
  p = madd(p, f, -1.2403083592653275e-1f);
  p = madd(p, f, 1.421855390071869e-1f);
  p = madd(p, f, -1.6668090224266052e-1f);
  p = madd(p, f, 2.000216692686081e-1f);
  p = madd(p, f, -2.5000008940696716e-1f);
  p = madd(p, f, 3.333331048488617e-1f);
  const float square = f * f;
  float y = madd(p * f, square, -0.5f * square);
  y = madd(n, -2.12194440e-4f, y);
  y = f + y;
  y = madd(n, 0.693359375f, y);
  const float infinity = __builtin_inff();
  y = x == infinity ? infinity : y;
  y = x == 0.0f ? -infinity : y;
  return x < 0.0f ? __builtin_nanf("") : (x != x ? x : y);
}

inline float tanh_f32(float x) {
  const float a = __builtin_fabsf(x);
  const float s = x * x;
  float p = madd(2.0264596678316593e-3f, s, -8.047142066061497e-3f);
  p = madd(p, s, 2.164689637720585e-2f);
  p = madd(p, s, -5.3936757147312164e-2f);
  p = madd(p, s, 1.3333125412464142e-1f);
  p = madd(p, s, -3.33333283662796e-1f);
  const float small = madd(p * s, x, x);
  const float large = 1.0f - 2.0f / (exp_f32(2.0f * a) + 1.0f);
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

inline float erf_f32(float x) {
  const float a = __builtin_fabsf(x);
  const float s = x * x;
  float p = madd(8.185173646779731e-5f, s, -8.097727550193667e-4f);
  p = madd(p, s, 5.196955054998398e-3f);
  p = madd(p, s, -2.6857705786824226e-2f);
  p = madd(p, s, 1.1283664405345917e-1f);
  p = madd(p, s, -3.7612631916999817e-1f);
  p = madd(p, s, 1.2837916612625122e-1f);
  const float small = madd(p, x, x);
  const float t = a > 4.1f ? 4.1f : a;  // erf rounds to 1 from there on; NaN passes on
  float q = madd(8.663986591272987e-6f, t, -2.973892551381141e-4f);
  q = madd(q, t, 3.540363162755966e-3f);
  q = madd(q, t, -2.3548956960439682e-2f);
  q = madd(q, t, 1.0599299520254135e-1f);
  q = madd(q, t, 6.352965235710144e-1f);
  q = madd(q, t, 1.1286133527755737f);
  const float large = 1.0f - exp_f32(-t * q);
  return a < 0.9f ? small : __builtin_copysignf(large, x);
}

inline float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

#if defined(__AVX512F__)
// The same functions on 16 elements, with the instructions that the compiler does not find by
// itself: scalef applies 2^n with overflow and denormals in one step.
struct Math16 {
  using V = __m512;
  static V set(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V abs(V x) { return _mm512_abs_ps(x); }
  static V with_sign(V x, V sign) {
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(0x80000000u));
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(mask, _mm512_castps_si512(sign), _mm512_castps_si512(x), 0xCA));
  }

  static V exp(V x) {
    // The second operand comes out of min and max when one is NaN.
    const V v = _mm512_max_ps(set(-150.0f), _mm512_min_ps(set(130.0f), x));
    const V n = _mm512_roundscale_ps(_mm512_mul_ps(v, set(1.44269504f)), 0x08);
    V r = fma(n, set(-0.693359375f), v);
    r = fma(n, set(2.12194440e-4f), r);
    V p = fma(set(1.381455920636654e-3f), r, set(8.368736132979393e-3f));
    p = fma(p, r, set(4.166838899254799e-2f));
    p = fma(p, r, set(1.666652113199234e-1f));
    p = fma(p, r, set(0.5f));
    p = _mm512_add_ps(fma(p, _mm512_mul_ps(r, r), r), set(1.0f));
    return _mm512_scalef_ps(p, n);
  }
  static V tanh(V x) {
    const V a = abs(x), s = _mm512_mul_ps(x, x);
    V p = fma(set(2.0264596678316593e-3f), s, set(-8.047142066061497e-3f));
    p = fma(p, s, set(2.164689637720585e-2f));
    p = fma(p, s, set(-5.3936757147312164e-2f));
    p = fma(p, s, set(1.3333125412464142e-1f));
    p = fma(p, s, set(-3.33333283662796e-1f));
    const V small = fma(_mm512_mul_ps(p, s), a, a);
    const V grown = _mm512_add_ps(exp(_mm512_add_ps(a, a)), set(1.0f));
    const V large = _mm512_sub_ps(set(1.0f), _mm512_div_ps(set(2.0f), grown));
    const __mmask16 is_small = _mm512_cmp_ps_mask(a, set(0.625f), _CMP_LT_OQ);
    return with_sign(_mm512_mask_mov_ps(large, is_small, small), x);
  }
  static V erf(V x) {
    const V a = abs(x), s = _mm512_mul_ps(x, x);
    V p = fma(set(8.185173646779731e-5f), s, set(-8.097727550193667e-4f));
    p = fma(p, s, set(5.196955054998398e-3f));
    p = fma(p, s, set(-2.6857705786824226e-2f));
    p = fma(p, s, set(1.1283664405345917e-1f));
    p = fma(p, s, set(-3.7612631916999817e-1f));
    p = fma(p, s, set(1.2837916612625122e-1f));
    const V small = fma(p, a, a);
    const V t = _mm512_min_ps(set(4.1f), a);
    V q = fma(set(8.663986591272987e-6f), t, set(-2.973892551381141e-4f));
    q = fma(q, t, set(3.540363162755966e-3f));
    q = fma(q, t, set(-2.3548956960439682e-2f));
    q = fma(q, t, set(1.0599299520254135e-1f));
    q = fma(q, t, set(6.352965235710144e-1f));
    q = fma(q, t, set(1.1286133527755737f));
    const V large = _mm512_sub_ps(set(1.0f), exp(_mm512_mul_ps(_mm512_sub_ps(set(0.0f), t), q)));
    const __mmask16 is_small = _mm512_cmp_ps_mask(a, set(0.9f), _CMP_LT_OQ);
    return with_sign(_mm512_mask_mov_ps(large, is_small, small), x);
  }
  static V sigmoid(V x) {
    const V e = exp(_mm512_sub_ps(set(0.0f), x));
    return _mm512_div_ps(set(1.0f), _mm512_add_ps(set(1.0f), e));
  }
};
#endif

}  // namespace stoker::cpu
