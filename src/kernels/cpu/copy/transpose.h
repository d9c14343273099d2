// Transposition of small blocks: dst[r * dst_stride + c] = src[r + c * src_stride]. 4-byte elements
// go through 8x8 blocks in registers where the level has AVX, the rest through 16x16 blocks that
// stay in L1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace stoker::cpu {

#if defined(__AVX__)
inline void transpose_8x8(const float* src, int64_t src_stride, float* dst, int64_t dst_stride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(src + i * src_stride);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(dst + i * dst_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(dst + (i + 4) * dst_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
#endif

template <class T>
inline void transpose_scalar(int64_t rows, int64_t columns, const T* src, int64_t src_stride,
                             T* dst, int64_t dst_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) dst[r * dst_stride + c] = src[r + c * src_stride];
  }
}

template <class T>
inline void transpose_block(int64_t rows, int64_t columns, const T* src, int64_t src_stride, T* dst,
                            int64_t dst_stride) {
  constexpr int64_t kEdge = 16;
#if defined(__AVX__)
  if constexpr (sizeof(T) == 4) {
    const int64_t full_rows = rows / 8 * 8, full_columns = columns / 8 * 8;
    for (int64_t r = 0; r < full_rows; r += 8) {
      for (int64_t c = 0; c < full_columns; c += 8) {
        transpose_8x8(reinterpret_cast<const float*>(src + r + c * src_stride), src_stride,
                      reinterpret_cast<float*>(dst + r * dst_stride + c), dst_stride);
      }
    }
    transpose_scalar(full_rows, columns - full_columns, src + full_columns * src_stride, src_stride,
                     dst + full_columns, dst_stride);
    transpose_scalar(rows - full_rows, columns, src + full_rows, src_stride,
                     dst + full_rows * dst_stride, dst_stride);
    return;
  }
#endif
  for (int64_t r = 0; r < rows; r += kEdge) {
    for (int64_t c = 0; c < columns; c += kEdge) {
      transpose_scalar(std::min(kEdge, rows - r), std::min(kEdge, columns - c),
                       src + r + c * src_stride, src_stride, dst + r * dst_stride + c, dst_stride);
    }
  }
}

}  // namespace stoker::cpu
