// Inverses of square matrices, one for each position of the leading axes: Gauss-Jordan elimination
// in double with row exchanges. A singular matrix gives infinities and NaN.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, "inverse", kFloats));
  const ValueType& x = c.type(0);
  if (!x.ranked) return Status::ok();
  if (x.rank() < 2) {
    return invalid_model("inverse: input is {}, expected rank 2 or more", type_text(x));
  }
  return same_dim("inverse", "rows and columns", x.dims[x.rank() - 2], x.dims[x.rank() - 1])
      .status();
}

// a and b are n x n and dense; b becomes the inverse of a, which is destroyed.
void invert(int64_t n, std::vector<double>& a, std::vector<double>& b) {
  for (int64_t i = 0; i < n * n; ++i) b[i] = i % (n + 1) == 0 ? 1 : 0;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    for (int64_t k = 0; k < n && pivot != column; ++k) {
      std::swap(a[pivot * n + k], a[column * n + k]);
      std::swap(b[pivot * n + k], b[column * n + k]);
    }
    const double scale = 1 / a[column * n + column];
    for (int64_t k = 0; k < n; ++k) {
      a[column * n + k] *= scale;
      b[column * n + k] *= scale;
    }
    for (int64_t row = 0; row < n; ++row) {
      const double factor = a[row * n + column];
      if (row == column || factor == 0) continue;
      for (int64_t k = 0; k < n; ++k) {
        a[row * n + k] -= factor * a[column * n + k];
        b[row * n + k] -= factor * b[column * n + k];
      }
    }
  }
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t n = y.shape.back(), size = n * n;
  if (x.shape != y.shape || x.rank() < 2 || x.shape[x.shape.size() - 2] != n) {
    return invalid_argument("inverse: a tensor of shape {} holds no square matrices",
                            shape_text(x.shape));
  }
  if (size == 0) return Status::ok();
  const Reader read(x);
  const Writer write(y);
  std::vector<double> a(static_cast<size_t>(size)), b(static_cast<size_t>(size));
  int64_t done = -1;
  // Positions come in order, so each wanted matrix is inverted once.
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const int64_t matrix = position / size;
    if (matrix != done) {
      for (int64_t i = 0; i < size; ++i) a[i] = read.number(matrix * size + i);
      invert(n, a, b);
      done = matrix;
    }
    write.number(position, b[position % size]);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_inverse;
const Op op_inverse = {
    .name = "inverse",
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
