// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"

#include "ops/matrix.h"

namespace stoker {
namespace {

// Subtracts a zero point that runs along `axis`, or one for all.
void subtract_zero(std::vector<double>& values, const Shape& shape, const TensorView* zero,
                   int64_t axis) {
  if (!zero) return;
  const std::vector<double> points = to_doubles(*zero);
  if (points.empty()) return;
  int64_t inner = 1;
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d > axis; --d) inner *= shape[d];
  const int64_t extent = axis >= 0 && !shape.empty() ? shape[axis] : 1;
  const bool along = points.size() > 1 && static_cast<int64_t>(points.size()) == extent;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] -= points[along ? static_cast<int64_t>(i) / inner % extent : 0];
  }
}

}  // namespace

Status convolve_integers(const Attributes& attributes, const IntegerProduct& p,
                         std::span<const int64_t> wanted, const StoreSum& store) {
  if (p.a_zero && p.a_zero->count() != 1)
    return invalid_argument("the input's zero point must be a scalar");
  if (p.b_zero && p.b_zero->count() != 1 && p.b_zero->count() != p.y.shape[1]) {
    return invalid_argument("the weight's zero point has {} elements, expected 1 or {}",
                            p.b_zero->count(), p.y.shape[1]);
  }
  std::vector<double> x = to_doubles(p.a), w = to_doubles(p.b);
  subtract_zero(x, p.a.shape, p.a_zero, -1);
  subtract_zero(w, p.b.shape, p.b_zero, 0);
  STOKER_ASSIGN(const Window window, conv_window(attributes, p.a, p.b, p.y));
  const Shape in(p.a.shape.begin() + 2, p.a.shape.end());
  const Taps taps(window, in, dense_strides(in), Shape(p.y.shape.begin() + 2, p.y.shape.end()));
  convolve(
      conv_shape(p.a, p.b, p.y, attributes.get_int("group", 1)), x.data(), w.data(),
      [&](int64_t position, int64_t* offsets) { taps.at(position, offsets); }, wanted, store);
  return Status::ok();
}

Status matmul_integers(const IntegerProduct& p, std::span<const int64_t> wanted,
                       const StoreSum& store) {
  STOKER_TRY(check_matmul(p.a.shape, p.b.shape, p.y.shape));
  std::vector<double> a = to_doubles(p.a), b = to_doubles(p.b);
  // A zero point of full rank ([..., M, 1] or [..., 1, N]) is a vector in all but name.
  subtract_zero(a, p.a.shape, p.a_zero, p.a.rank() - 2);
  subtract_zero(b, p.b.shape, p.b_zero, p.b.rank() - 1);
  const MatmulShape s(p.a.shape, dense_strides(p.a.shape), p.b.shape, dense_strides(p.b.shape));
  const auto keep = [&](int64_t position, double sum) { store(position, position % s.n, sum); };
  if (wanted.empty()) {
    matmul_all(s, a.data(), b.data(), keep);
  } else {
    matmul_at<double>(
        s, wanted, [&](int64_t o) { return a[o]; }, [&](int64_t o) { return b[o]; }, keep);
  }
  return Status::ok();
}

Status check_quantized(const EvalContext& c, int64_t channels, const char* op) {
  for (const size_t i : {1, 6, 7})
    STOKER_TRY(check_count(c.inputs[i], 1, op, "a scale or zero point"));
  if (c.inputs[4].count() == 1) return Status::ok();
  return check_count(c.inputs[4], channels, op, "the weight's scale");
}

Requantize::Requantize(const TensorView& a_scale, const TensorView& b_scale,
                       const TensorView& y_scale, const TensorView& y_zero, DType dtype)
    : zero_(y_zero.present() ? load_int(y_zero.dtype)(y_zero.data, 0) : 0),
      dtype_(dtype),
      in_double_(a_scale.dtype == DType::kF64) {
  const double a = to_doubles(a_scale)[0], y = to_doubles(y_scale)[0];
  for (const double b : to_doubles(b_scale)) {
    // ONNX Runtime multiplies and divides in f32; ties depend on it.
    const float single = static_cast<float>(a) * static_cast<float>(b) / static_cast<float>(y);
    multipliers_.push_back(in_double_ ? a * b / y : static_cast<double>(single));
  }
}

int64_t Requantize::operator()(double sum, int64_t channel) const {
  const double multiplier =
      multipliers_[multipliers_.size() == 1 ? 0 : static_cast<size_t>(channel)];
  const double value =
      in_double_ ? sum * multiplier
                 : static_cast<double>(static_cast<float>(sum) * static_cast<float>(multiplier));
  return quantize_to_integer(std::nearbyint(value), zero_, dtype_);
}

}  // namespace stoker
