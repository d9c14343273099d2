// SPDX-License-Identifier: Apache-2.0
#include "ops/matrix.h"

namespace stoker {

// Two registers on SSE2; the compiler splits or joins it for the target.
typedef double Lanes __attribute__((vector_size(32), aligned(8)));

void multiply_tile(int64_t rows, int64_t k, const double* a, int64_t lda, const double* panel,
                   double* tile) {
  const double* a0 = a;
  const double* a1 = rows > 1 ? a + lda : a;
  const double* a2 = rows > 2 ? a + 2 * lda : a;
  const double* a3 = rows > 3 ? a + 3 * lda : a;
  Lanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  if (rows == 1) {
    for (int64_t l = 0; l < k; ++l)
      sum0 += a0[l] * *reinterpret_cast<const Lanes*>(panel + l * kTile);
  } else {
    for (int64_t l = 0; l < k; ++l) {
      const Lanes b = *reinterpret_cast<const Lanes*>(panel + l * kTile);
      sum0 += a0[l] * b;
      sum1 += a1[l] * b;
      sum2 += a2[l] * b;
      sum3 += a3[l] * b;
    }
  }
  std::memcpy(tile, &sum0, sizeof sum0);
  std::memcpy(tile + kTile, &sum1, sizeof sum1);
  std::memcpy(tile + 2 * kTile, &sum2, sizeof sum2);
  std::memcpy(tile + 3 * kTile, &sum3, sizeof sum3);
}

Result<Dims> matmul_dims(const char* op, const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) {
    return invalid_model("{}: operands {} and {} must have rank 1 or more", op, dims_text(a),
                         dims_text(b));
  }
  const Dim& k = a.back();
  const Dim& rows = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (k.is_const() && rows.is_const() && k != rows) {
    return invalid_model("{}: operand 0 {} has {} columns, operand 1 {} has {} rows", op,
                         dims_text(a), k.text(), dims_text(b), rows.text());
  }
  const auto batch = [](const Dims& d) {
    return d.size() <= 2 ? Dims() : Dims(d.begin(), d.end() - 2);
  };
  auto dims = broadcast_dims(batch(a), batch(b));
  if (!dims.is_ok()) return dims.status().at(op);
  if (a.size() > 1) dims->push_back(a[a.size() - 2]);
  if (b.size() > 1) dims->push_back(b.back());
  return dims;
}

Status check_matmul(const Shape& a, const Shape& b, const Shape& y) {
  auto dims = matmul_dims("matmul", Dims(a.begin(), a.end()), Dims(b.begin(), b.end()));
  if (!dims.is_ok()) return dims.status();
  if (constant_dims(*dims) == y) return Status::ok();
  return invalid_argument("matmul: the product is {}, expected {}", dims_text(*dims),
                          shape_text(y));
}

MatmulShape::MatmulShape(const Shape& a, const Shape& a_strides, const Shape& b,
                         const Shape& b_strides) {
  const size_t ra = a.size(), rb = b.size();
  k = a.back();
  m = ra > 1 ? a[ra - 2] : 1;
  n = rb > 1 ? b[rb - 1] : 1;
  a_row = ra > 1 ? a_strides[ra - 2] : 0;
  a_column = a_strides[ra - 1];
  b_row = rb > 1 ? b_strides[rb - 2] : b_strides[0];
  b_column = rb > 1 ? b_strides[rb - 1] : 0;
  const auto batch = [](const Shape& s) {
    return s.size() <= 2 ? Shape() : Shape(s.begin(), s.end() - 2);
  };
  TensorView va{DType::kF64, batch(a), batch(a_strides)},
      vb{DType::kF64, batch(b), batch(b_strides)};
  Shape shape(std::max(va.shape.size(), vb.shape.size()), 1);
  for (const TensorView* v : {&va, &vb}) {
    for (size_t d = 0; d < v->shape.size(); ++d) {
      int64_t& extent = shape[d + shape.size() - v->shape.size()];
      if (v->shape[d] != 1) extent = v->shape[d];
    }
  }
  batches = broadcast_walk(shape, {&va, &vb});
}

}  // namespace stoker
