// Packing into panels of 16 columns, see tile.h. Shared by gemm and attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/cpu/simd.h"

namespace stoker::cpu {

// Columns that lie along K, `stride` elements apart, 4 x 4 elements at a time. Lanes from `width`
// on are left alone.
inline void pack_transposed(const float* from, int64_t stride, int64_t width, int64_t k_count,
                            float* to) {
  int64_t k = 0;
  for (; width == 16 && k + 4 <= k_count; k += 4) {
    for (int64_t j = 0; j < 16; j += 4) {
      const float* p = from + j * stride + k;
      __m128 r0 = _mm_loadu_ps(p), r1 = _mm_loadu_ps(p + stride);
      __m128 r2 = _mm_loadu_ps(p + 2 * stride), r3 = _mm_loadu_ps(p + 3 * stride);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      _mm_storeu_ps(to + k * 16 + j, r0);
      _mm_storeu_ps(to + k * 16 + 16 + j, r1);
      _mm_storeu_ps(to + k * 16 + 32 + j, r2);
      _mm_storeu_ps(to + k * 16 + 48 + j, r3);
    }
  }
  for (; k < k_count; ++k) {
    for (int64_t j = 0; j < width; ++j) to[k * 16 + j] = from[j * stride + k];
  }
}

// Rows of B, `stride` elements apart: one row is one step of the panel.
inline void pack_rows(const float* from, int64_t stride, int64_t width, int64_t k_count,
                      float* to) {
  if (width == 16) {
    for (int64_t k = 0; k < k_count; ++k) store(to + k * 16, load(from + k * stride));
  } else {
    for (int64_t k = 0; k < k_count; ++k) {
      store(to + k * 16, load_first(from + k * stride, static_cast<int>(width)));
    }
  }
}

}  // namespace stoker::cpu
