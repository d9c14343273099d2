// Matrix products of the reference evaluations. Every sum runs over k in ascending order in one
// accumulator, so the fast path, the path for wanted elements and every tiling give the same bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

inline constexpr int64_t kTile = 4;

// tile[4][4] = a (4 rows, `lda` apart) * panel (k x 4). Rows from `rows` on are not to be used.
void multiply_tile(int64_t rows, int64_t k, const double* a, int64_t lda, const double* panel,
                   double* tile);

// a (m x k, row-major) times a matrix of n columns that `fill(column, count, panel)` delivers as k
// x 4 panels; `store(row, column, value)` takes the products.
template <class Fill, class Store>
void multiply(int64_t m, int64_t n, int64_t k, const double* a, Fill fill, Store store) {
  std::vector<double> panel(static_cast<size_t>(k * kTile), 0.0);
  double tile[kTile * kTile];
  for (int64_t j = 0; j < n; j += kTile) {
    const int64_t columns = std::min(kTile, n - j);
    fill(j, columns, panel.data());
    for (int64_t i = 0; i < m; i += kTile) {
      const int64_t rows = std::min(kTile, m - i);
      multiply_tile(rows, k, a + i * k, k, panel.data(), tile);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t s = 0; s < columns; ++s) store(i + r, j + s, tile[r * kTile + s]);
      }
    }
  }
}

// The matmul rule of numpy: batch axes broadcast, vectors are promoted and the axis is dropped
// again.
Result<Dims> matmul_dims(const char* op, const Dims& a, const Dims& b);

struct MatmulShape {
  Walk batches;  // operands: a, b
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column;  // strides

  // Strides of the operands as given; the output is dense.
  MatmulShape(const Shape& a, const Shape& a_strides, const Shape& b, const Shape& b_strides);
};

// An error when the extents of a and b, or the product and y, do not fit together.
Status check_matmul(const Shape& a, const Shape& b, const Shape& y);

// Calls store(position, sum) with products of double.
template <class Store>
void matmul_all(const MatmulShape& s, const double* a, const double* b, Store store) {
  std::vector<double> rows(static_cast<size_t>(s.m * s.k));
  int64_t base = 0;
  for_each_wanted(s.batches, {}, [&](const int64_t* o) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t l = 0; l < s.k; ++l) rows[i * s.k + l] = a[o[0] + i * s.a_row + l * s.a_column];
    }
    const auto fill = [&](int64_t column, int64_t count, double* panel) {
      for (int64_t l = 0; l < s.k; ++l) {
        const double* from = b + o[1] + l * s.b_row + column * s.b_column;
        for (int64_t j = 0; j < count; ++j) panel[l * kTile + j] = from[j * s.b_column];
      }
    };
    multiply(s.m, s.n, s.k, rows.data(), fill,
             [&](int64_t i, int64_t j, double value) { store(base + i * s.n + j, value); });
    base += s.m * s.n;
  });
}

// The same for chosen positions, or all of them element by element: a(offset) * b(offset) in T.
template <class T, class A, class B, class Store>
void matmul_at(const MatmulShape& s, std::span<const int64_t> wanted, A a, B b, Store store) {
  std::vector<int64_t> at(s.batches.shape.size());
  const int64_t area = s.m * s.n;
  for_each_position(s.batches.count() * area, wanted, [&](int64_t position) {
    unravel(s.batches.shape, position / area, at.data());
    const int64_t i = position % area / s.n, j = position % s.n;
    const int64_t a0 = dot(at.data(), s.batches.strides[0]) + i * s.a_row;
    const int64_t b0 = dot(at.data(), s.batches.strides[1]) + j * s.b_column;
    T sum = 0;
    for (int64_t l = 0; l < s.k; ++l) sum += a(a0 + l * s.a_column) * b(b0 + l * s.b_row);
    store(position, sum);
  });
}

}  // namespace stoker
