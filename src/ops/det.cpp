// Determinants of the matrices in the last two axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "det", 0, "input", kFloats));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (x.rank() < 2) return invalid_model("det: input is {}, expected matrices", type_text(x));
  STOKER_TRY(
      same_dim("det", "rows and columns", x.dims[x.rank() - 2], x.dims[x.rank() - 1]).status());
  set_output(c, 0, x.dtype, Dims(x.dims.begin(), x.dims.end() - 2));
  return Status::ok();
}

// By elimination with the largest pivot of each column; overwrites the matrix.
double determinant(double* a, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + pivot * n);
      product = -product;
    }
    product *= a[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (x.rank() < 2 || x.shape[x.rank() - 2] != x.shape.back())
    return invalid_argument("det: input has shape {}, expected square matrices",
                            shape_text(x.shape));
  const int64_t n = x.shape.back();
  STOKER_TRY(check_count(x, y.count() * n * n, "det", "the input"));
  const Reader read(x);
  const Writer write(y);
  std::vector<double> matrix(static_cast<size_t>(n * n));
  for_each_position(y.count(), c.wanted, [&](int64_t i) {
    for (int64_t k = 0; k < n * n; ++k) matrix[k] = read.number(i * n * n + k);
    write.number(i, determinant(matrix.data(), n));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_det;
const Op op_det = {
    .name = "det",
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
