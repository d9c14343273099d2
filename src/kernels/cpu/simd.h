// Sixteen lanes of f32 or i32 as one type on every ISA level: one zmm, two ymm or four xmm. One
// kernel source thus serves all levels; special paths test the compiler's feature macros.
// Everything here is inlined and local to its level.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// gcc 12 takes the deliberately undefined operands inside its own intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#define STOKER_INLINE inline __attribute__((always_inline))

namespace stoker::cpu {

inline constexpr int kLanes = 16;

#if defined(__AVX512F__)
using PartF = __m512;
using PartM = __m512i;
typedef int32_t PartI __attribute__((vector_size(64), may_alias));
#elif defined(__AVX2__)
using PartF = __m256;
using PartM = __m256i;
typedef int32_t PartI __attribute__((vector_size(32), may_alias));
#else
using PartF = __m128;
using PartM = __m128i;
typedef int32_t PartI __attribute__((vector_size(16), may_alias));
#endif
inline constexpr int kPartLanes = static_cast<int>(sizeof(PartF) / 4);
inline constexpr int kParts = kLanes / kPartLanes;

struct VecF {
  PartF v[kParts];
};
struct VecI {
  PartI v[kParts];
};

// Runs `statement` for every part i.
#define STOKER_PARTS(statement) \
  _Pragma("GCC unroll 4") for (int i = 0; i < ::stoker::cpu::kParts; ++i) { statement; }

namespace part {
#if defined(__AVX512F__)
STOKER_INLINE PartF load(const float* p) { return _mm512_loadu_ps(p); }
STOKER_INLINE void store(float* p, PartF a) { _mm512_storeu_ps(p, a); }
STOKER_INLINE PartM load(const int32_t* p) { return _mm512_loadu_si512(p); }
STOKER_INLINE void store(int32_t* p, PartM a) { _mm512_storeu_si512(p, a); }
STOKER_INLINE PartF set1(float x) { return _mm512_set1_ps(x); }
STOKER_INLINE PartM set1(int32_t x) { return _mm512_set1_epi32(x); }
STOKER_INLINE PartF fma(PartF a, PartF b, PartF c) { return _mm512_fmadd_ps(a, b, c); }
STOKER_INLINE PartF min(PartF a, PartF b) { return _mm512_min_ps(a, b); }
STOKER_INLINE PartF max(PartF a, PartF b) { return _mm512_max_ps(a, b); }
STOKER_INLINE PartF sqrt(PartF a) { return _mm512_sqrt_ps(a); }
STOKER_INLINE PartF round_even(PartF a) { return _mm512_roundscale_ps(a, 8); }
STOKER_INLINE PartF to_f32(PartM a) { return _mm512_cvtepi32_ps(a); }
STOKER_INLINE PartM to_i32(PartF a) { return _mm512_cvtps_epi32(a); }
STOKER_INLINE PartM madd16(PartM a, PartM b) { return _mm512_madd_epi16(a, b); }
STOKER_INLINE PartM shift_left16(PartM a) { return _mm512_slli_epi16(a, 8); }
STOKER_INLINE PartM shift_right16(PartM a) { return _mm512_srai_epi16(a, 8); }
#elif defined(__AVX2__)
STOKER_INLINE PartF load(const float* p) { return _mm256_loadu_ps(p); }
STOKER_INLINE void store(float* p, PartF a) { _mm256_storeu_ps(p, a); }
STOKER_INLINE PartM load(const int32_t* p) { return _mm256_loadu_si256((const __m256i_u*)p); }
STOKER_INLINE void store(int32_t* p, PartM a) { _mm256_storeu_si256((__m256i_u*)p, a); }
STOKER_INLINE PartF set1(float x) { return _mm256_set1_ps(x); }
STOKER_INLINE PartM set1(int32_t x) { return _mm256_set1_epi32(x); }
STOKER_INLINE PartF fma(PartF a, PartF b, PartF c) { return _mm256_fmadd_ps(a, b, c); }
STOKER_INLINE PartF min(PartF a, PartF b) { return _mm256_min_ps(a, b); }
STOKER_INLINE PartF max(PartF a, PartF b) { return _mm256_max_ps(a, b); }
STOKER_INLINE PartF sqrt(PartF a) { return _mm256_sqrt_ps(a); }
STOKER_INLINE PartF round_even(PartF a) { return _mm256_round_ps(a, 8); }
STOKER_INLINE PartF to_f32(PartM a) { return _mm256_cvtepi32_ps(a); }
STOKER_INLINE PartM to_i32(PartF a) { return _mm256_cvtps_epi32(a); }
STOKER_INLINE PartM madd16(PartM a, PartM b) { return _mm256_madd_epi16(a, b); }
STOKER_INLINE PartM shift_left16(PartM a) { return _mm256_slli_epi16(a, 8); }
STOKER_INLINE PartM shift_right16(PartM a) { return _mm256_srai_epi16(a, 8); }
#else
STOKER_INLINE PartF load(const float* p) { return _mm_loadu_ps(p); }
STOKER_INLINE void store(float* p, PartF a) { _mm_storeu_ps(p, a); }
STOKER_INLINE PartM load(const int32_t* p) { return _mm_loadu_si128((const __m128i_u*)p); }
STOKER_INLINE void store(int32_t* p, PartM a) { _mm_storeu_si128((__m128i_u*)p, a); }
STOKER_INLINE PartF set1(float x) { return _mm_set1_ps(x); }
STOKER_INLINE PartM set1(int32_t x) { return _mm_set1_epi32(x); }
STOKER_INLINE PartF fma(PartF a, PartF b, PartF c) { return a * b + c; }
STOKER_INLINE PartF min(PartF a, PartF b) { return _mm_min_ps(a, b); }
STOKER_INLINE PartF max(PartF a, PartF b) { return _mm_max_ps(a, b); }
STOKER_INLINE PartF sqrt(PartF a) { return _mm_sqrt_ps(a); }
STOKER_INLINE PartF round_even(PartF a) {
  const PartF sign = _mm_and_ps(a, _mm_set1_ps(-0.0f));
  const PartF magnitude = _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
  const PartF magic = _mm_set1_ps(8388608.0f);  // 2^23: from there on every float is an integer
  const PartF small = _mm_cmplt_ps(magnitude, magic);
  const PartF rounded = (magnitude + magic) - magic;
  return _mm_or_ps(sign, _mm_or_ps(_mm_and_ps(small, rounded), _mm_andnot_ps(small, magnitude)));
}
STOKER_INLINE PartF to_f32(PartM a) { return _mm_cvtepi32_ps(a); }
STOKER_INLINE PartM to_i32(PartF a) { return _mm_cvtps_epi32(a); }
STOKER_INLINE PartM madd16(PartM a, PartM b) { return _mm_madd_epi16(a, b); }
STOKER_INLINE PartM shift_left16(PartM a) { return _mm_slli_epi16(a, 8); }
STOKER_INLINE PartM shift_right16(PartM a) { return _mm_srai_epi16(a, 8); }
#endif
}  // namespace part

// --- f32 ---
STOKER_INLINE VecF load(const float* p) {
  VecF r;
  STOKER_PARTS(r.v[i] = part::load(p + i * kPartLanes));
  return r;
}
STOKER_INLINE void store(float* p, VecF a) {
  STOKER_PARTS(part::store(p + i * kPartLanes, a.v[i]));
}
STOKER_INLINE VecF broadcast(float x) {
  VecF r;
  STOKER_PARTS(r.v[i] = part::set1(x));
  return r;
}
STOKER_INLINE VecF operator+(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = a.v[i] + b.v[i]);
  return a;
}
STOKER_INLINE VecF operator-(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = a.v[i] - b.v[i]);
  return a;
}
STOKER_INLINE VecF operator*(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = a.v[i] * b.v[i]);
  return a;
}
STOKER_INLINE VecF operator/(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = a.v[i] / b.v[i]);
  return a;
}
// a * b + c, in one rounding where the level has FMA.
STOKER_INLINE VecF fma(VecF a, VecF b, VecF c) {
  STOKER_PARTS(c.v[i] = part::fma(a.v[i], b.v[i], c.v[i]));
  return c;
}
// When either is NaN the result is `b`.
STOKER_INLINE VecF min_second(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = part::min(a.v[i], b.v[i]));
  return a;
}
STOKER_INLINE VecF max_second(VecF a, VecF b) {
  STOKER_PARTS(a.v[i] = part::max(a.v[i], b.v[i]));
  return a;
}
STOKER_INLINE VecF sqrt(VecF a) {
  STOKER_PARTS(a.v[i] = part::sqrt(a.v[i]));
  return a;
}
STOKER_INLINE VecF round_even(VecF a) {
  STOKER_PARTS(a.v[i] = part::round_even(a.v[i]));
  return a;
}

// --- i32 ---
STOKER_INLINE VecI load(const int32_t* p) {
  VecI r;
  STOKER_PARTS(r.v[i] = (PartI)part::load(p + i * kPartLanes));
  return r;
}
STOKER_INLINE void store(int32_t* p, VecI a) {
  STOKER_PARTS(part::store(p + i * kPartLanes, (PartM)a.v[i]));
}
STOKER_INLINE VecI broadcast(int32_t x) {
  VecI r;
  STOKER_PARTS(r.v[i] = (PartI)part::set1(x));
  return r;
}
// Sums wrap modulo 2^32: unsigned in between, since signed overflow is undefined.
STOKER_INLINE VecI operator+(VecI a, VecI b) {
  typedef uint32_t U __attribute__((vector_size(sizeof(PartI))));
  STOKER_PARTS(a.v[i] = (PartI)((U)a.v[i] + (U)b.v[i]));
  return a;
}
STOKER_INLINE VecI operator-(VecI a, VecI b) {
  typedef uint32_t U __attribute__((vector_size(sizeof(PartI))));
  STOKER_PARTS(a.v[i] = (PartI)((U)a.v[i] - (U)b.v[i]));
  return a;
}
STOKER_INLINE VecI operator&(VecI a, VecI b) {
  STOKER_PARTS(a.v[i] = a.v[i] & b.v[i]);
  return a;
}
STOKER_INLINE VecI operator^(VecI a, VecI b) {
  STOKER_PARTS(a.v[i] = a.v[i] ^ b.v[i]);
  return a;
}
// Lanes as pairs of i16: the sum of the two products.
STOKER_INLINE VecI madd16(VecI a, VecI b) {
  STOKER_PARTS(a.v[i] = (PartI)part::madd16((PartM)a.v[i], (PartM)b.v[i]));
  return a;
}
// Lanes as four bytes b0 b1 b2 b3: the even or odd bytes as two i16.
STOKER_INLINE VecI even_signed(VecI a) {
  STOKER_PARTS(a.v[i] = (PartI)part::shift_right16(part::shift_left16((PartM)a.v[i])));
  return a;
}
STOKER_INLINE VecI odd_signed(VecI a) {
  STOKER_PARTS(a.v[i] = (PartI)part::shift_right16((PartM)a.v[i]));
  return a;
}
STOKER_INLINE VecF to_f32(VecI a) {
  VecF r;
  STOKER_PARTS(r.v[i] = part::to_f32((PartM)a.v[i]));
  return r;
}
// Rounds to nearest even; the value must fit.
STOKER_INLINE VecI to_i32(VecF a) {
  VecI r;
  STOKER_PARTS(r.v[i] = (PartI)part::to_i32(a.v[i]));
  return r;
}

// --- 16 bytes <-> 16 lanes ---
STOKER_INLINE VecI load_u8(const uint8_t* p) {
  const __m128i x = _mm_loadu_si128((const __m128i_u*)p);
  VecI r;
#if defined(__AVX512F__)
  r.v[0] = (PartI)_mm512_cvtepu8_epi32(x);
#elif defined(__AVX2__)
  r.v[0] = (PartI)_mm256_cvtepu8_epi32(x);
  r.v[1] = (PartI)_mm256_cvtepu8_epi32(_mm_srli_si128(x, 8));
#else
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_unpacklo_epi8(x, zero), high = _mm_unpackhi_epi8(x, zero);
  r.v[0] = (PartI)_mm_unpacklo_epi16(low, zero);
  r.v[1] = (PartI)_mm_unpackhi_epi16(low, zero);
  r.v[2] = (PartI)_mm_unpacklo_epi16(high, zero);
  r.v[3] = (PartI)_mm_unpackhi_epi16(high, zero);
#endif
  return r;
}
STOKER_INLINE VecI load_i8(const int8_t* p) {
  const __m128i x = _mm_loadu_si128((const __m128i_u*)p);
  VecI r;
#if defined(__AVX512F__)
  r.v[0] = (PartI)_mm512_cvtepi8_epi32(x);
#elif defined(__AVX2__)
  r.v[0] = (PartI)_mm256_cvtepi8_epi32(x);
  r.v[1] = (PartI)_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8));
#else
  const __m128i low = _mm_srai_epi16(_mm_unpacklo_epi8(x, x), 8);
  const __m128i high = _mm_srai_epi16(_mm_unpackhi_epi8(x, x), 8);
  r.v[0] = (PartI)_mm_srai_epi32(_mm_unpacklo_epi16(low, low), 16);
  r.v[1] = (PartI)_mm_srai_epi32(_mm_unpackhi_epi16(low, low), 16);
  r.v[2] = (PartI)_mm_srai_epi32(_mm_unpacklo_epi16(high, high), 16);
  r.v[3] = (PartI)_mm_srai_epi32(_mm_unpackhi_epi16(high, high), 16);
#endif
  return r;
}
// The low byte of each lane.
STOKER_INLINE __m128i low_bytes(VecI a) {
#if defined(__AVX512F__)
  return _mm512_cvtepi32_epi8((__m512i)a.v[0]);
#else
  const VecI b = a & broadcast(255);
#if defined(__AVX2__)
  const __m256i words = _mm256_packs_epi32((__m256i)b.v[0], (__m256i)b.v[1]);
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);
  return _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
#else
  return _mm_packus_epi16(_mm_packs_epi32((__m128i)b.v[0], (__m128i)b.v[1]),
                          _mm_packs_epi32((__m128i)b.v[2], (__m128i)b.v[3]));
#endif
#endif
}

// --- the first `count` lanes, 0 <= count <= 16; other memory is not touched, other lanes are 0 ---
STOKER_INLINE VecF load_first(const float* p, int count) {
#if defined(__AVX512F__)
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p)};
#else
  alignas(64) float t[kLanes] = {};
  std::memcpy(t, p, static_cast<size_t>(count) * 4);
  return load(t);
#endif
}
STOKER_INLINE void store_first(float* p, VecF a, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), a.v[0]);
#else
  alignas(64) float t[kLanes];
  store(t, a);
  std::memcpy(p, t, static_cast<size_t>(count) * 4);
#endif
}
STOKER_INLINE VecI load_first(const int32_t* p, int count) {
  alignas(64) int32_t t[kLanes] = {};
  std::memcpy(t, p, static_cast<size_t>(count) * 4);
  return load(t);
}
STOKER_INLINE void store_first(int32_t* p, VecI a, int count) {
  alignas(64) int32_t t[kLanes];
  store(t, a);
  std::memcpy(p, t, static_cast<size_t>(count) * 4);
}
// Zero beyond the first `count` lanes.
STOKER_INLINE VecF keep_first(VecF a, int count) {
#if defined(__AVX512F__)
  return {_mm512_maskz_mov_ps(static_cast<__mmask16>((1u << count) - 1), a.v[0])};
#else
  alignas(64) float t[kLanes];
  store(t, a);
  for (int i = count; i < kLanes; ++i) t[i] = 0;
  return load(t);
#endif
}

}  // namespace stoker::cpu
