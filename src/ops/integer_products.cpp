// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"

#include "ops/matrix.h"

namespace stoker {
namespace {

Status subtract_zero(std::vector<double>& values, const Shape& shape, const TensorView* zero,
                     int64_t axis) {
  if (!zero) return Status::ok();
  STOKER_ASSIGN(const Spread points, Spread::over(shape, axis, *zero, "zero point"));
  for (size_t i = 0; i < values.size(); ++i) values[i] -= points.at(static_cast<int64_t>(i));
  return Status::ok();
}

Result<double> scalar_of(const TensorView& view, const char* what) {
  if (view.count() == 1) return to_doubles(view)[0];
  return invalid_argument("the {} has shape {}, expected a scalar", what, shape_text(view.shape));
}

}  // namespace

Result<Spread> Spread::over(const Shape& shape, int64_t axis, const TensorView& values,
                            const char* what) {
  Spread spread;
  spread.values_ = to_doubles(values);
  if (values.count() == 1) return spread;
  spread.shape_ = shape;
  spread.strides_.assign(shape.size(), 0);
  const size_t rank = shape.size(), count = values.shape.size();
  bool fits = count <= rank;
  if (count == 1) {
    fits = axis >= 0 && values.shape[0] == shape[axis];
    if (fits) spread.strides_[axis] = 1;
  } else if (fits) {
    const Shape dense = dense_strides(values.shape);
    for (size_t d = 0; d < count; ++d) {
      const size_t to = rank - count + d;
      if (values.shape[d] != 1) spread.strides_[to] = dense[d];
      fits = fits && (values.shape[d] == 1 || values.shape[d] == shape[to]);
    }
  }
  if (fits) return spread;
  return invalid_argument("the {} has shape {}, which does not spread over {}", what,
                          shape_text(values.shape), shape_text(shape));
}

double Spread::at(int64_t position) const {
  size_t offset = 0;
  for (size_t d = strides_.size(); d-- > 0; position /= shape_[d])
    offset += static_cast<size_t>(position % shape_[d] * strides_[d]);
  return values_[offset];
}

Status convolve_integers(const Attributes& attributes, const IntegerProduct& p,
                         std::span<const int64_t> wanted, const StoreSum& store) {
  if (p.a_zero && p.a_zero->count() != 1)
    return invalid_argument("the input's zero point must be a scalar");
  std::vector<double> x = to_doubles(p.a), w = to_doubles(p.b);
  STOKER_TRY(subtract_zero(x, p.a.shape, p.a_zero, -1));
  STOKER_TRY(subtract_zero(w, p.b.shape, p.b_zero, 0));
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
  STOKER_TRY(subtract_zero(a, p.a.shape, p.a_zero, p.a.rank() - 2));
  STOKER_TRY(subtract_zero(b, p.b.shape, p.b_zero, p.b.rank() - 1));
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

Result<Requantize> Requantize::of(const EvalContext& c, int64_t a_axis, int64_t b_axis) {
  const TensorView& y = c.outputs[0];
  Requantize r;
  STOKER_ASSIGN(r.a_, Spread::over(y.shape, a_axis, c.inputs[1], "scale of the first operand"));
  STOKER_ASSIGN(r.b_, Spread::over(y.shape, b_axis, c.inputs[4], "scale of the second operand"));
  STOKER_ASSIGN(r.y_scale_, scalar_of(c.inputs[6], "scale of the output"));
  STOKER_ASSIGN(r.zero_, scalar_of(c.inputs[7], "zero point of the output"));
  r.dtype_ = y.dtype;
  r.in_double_ = c.inputs[1].dtype == DType::kF64;
  return r;
}

double Requantize::operator()(int64_t position, double sum) const {
  const double a = a_.at(position), b = b_.at(position);
  double value = sum * (a * b / y_scale_);
  if (!in_double_) {
    // ONNX Runtime multiplies and divides in f32; ties depend on it.
    const float scale =
        static_cast<float>(a) * static_cast<float>(b) / static_cast<float>(y_scale_);
    value = static_cast<double>(static_cast<float>(sum) * scale);
  }
  if (!is_integer(dtype_)) return value + zero_;
  const int64_t zero = static_cast<int64_t>(zero_);
  return static_cast<double>(quantize_to_integer(std::nearbyint(value), zero, dtype_));
}

}  // namespace stoker
