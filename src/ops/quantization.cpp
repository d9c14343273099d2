// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization.h"

namespace stoker {

Status check_scale(const InferContext& c, const char* op) {
  if (!c.type(0).ranked || !c.type(1).ranked) return Status::ok();
  const Dims &x = c.type(0).dims, &scale = c.type(1).dims;
  if (c.has(2) && c.type(2).ranked && c.type(2).rank() != c.type(1).rank() &&
      product(c.type(2).dims) != Dim(1)) {
    return invalid_model("{}: the zero point {} must have the shape of the scale {}", op,
                         type_text(c.type(2)), type_text(c.type(1)));
  }
  if (scale.empty() || (scale.size() == 1 && scale[0] == Dim(1))) return Status::ok();
  const int64_t block = c.attributes.get_int("block_size");
  if (block < 0) return invalid_model("{}: block_size is {}, expected at least 0", op, block);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis(op, c.attributes.get_int("axis", 1), c.type(0).rank()));
  if (block == 0) {
    if (scale.size() != 1)
      return invalid_model("{}: scale {} must be a scalar or of rank 1", op, dims_text(scale));
    return same_dim(op, "the scale's length and the axis' extent", scale[0], x[axis]).status();
  }
  if (scale.size() != x.size()) {
    return invalid_model("{}: a blocked scale {} must have the rank of the input {}", op,
                         dims_text(scale), dims_text(x));
  }
  for (size_t d = 0; d < x.size(); ++d) {
    const Dim expected = static_cast<int64_t>(d) == axis ? Dim::ceil_div(x[d], Dim(block)) : x[d];
    STOKER_TRY(same_dim(op, "extents of the blocked scale", scale[d], expected).status());
  }
  return Status::ok();
}

Status check_scale_shapes(const EvalContext& c, const char* op) {
  const Shape& x = c.inputs[0].shape;
  const int64_t rank = static_cast<int64_t>(x.size());
  const int64_t axis = wrap_axis(c.attributes.get_int("axis", 1), rank);
  const int64_t block = c.attributes.get_int("block_size");
  for (size_t i = 1; i < 3; ++i) {
    if (!c.has(i) || c.inputs[i].count() == 1) continue;
    const Shape& scale = c.inputs[i].shape;
    bool fits = axis >= 0 && axis < rank;
    if (block > 0 && fits) {
      fits = scale.size() == x.size();
      for (int64_t d = 0; fits && d < rank; ++d) {
        fits = d == axis ? scale[d] >= (x[d] + block - 1) / block : scale[d] == x[d];
      }
    } else {
      fits = fits && scale.size() == 1 && scale[0] == x[axis];
    }
    if (!fits) {
      return invalid_argument("{}: input {} of shape {} does not fit the tensor {}", op, i,
                              shape_text(scale), shape_text(x));
    }
  }
  return Status::ok();
}

ScaleIndex::ScaleIndex(const Attributes& attributes, const Shape& shape, const TensorView& scale)
    : shape_(shape), strides_(shape.size(), 0) {
  if (scale.count() == 1) return;
  const int64_t rank = static_cast<int64_t>(shape.size());
  axis_ = std::clamp<int64_t>(wrap_axis(attributes.get_int("axis", 1), rank), 0, rank - 1);
  const int64_t block = attributes.get_int("block_size");
  if (block > 0 && scale.rank() == rank) {
    strides_ = scale.strides;
    block_ = block;
  } else {
    strides_[axis_] = scale.strides[0];
  }
}

int64_t ScaleIndex::offset(const int64_t* coordinates) const {
  int64_t sum = 0;
  for (size_t d = 0; d < strides_.size(); ++d) {
    sum +=
        (static_cast<int64_t>(d) == axis_ ? coordinates[d] / block_ : coordinates[d]) * strides_[d];
  }
  return sum;
}

int64_t ScaleIndex::at(int64_t position) const {
  if (axis_ < 0) return 0;
  int64_t sum = 0;
  for (size_t d = shape_.size(); d-- > 0;) {
    const int64_t i = position % shape_[d];
    position /= shape_[d];
    sum += (static_cast<int64_t>(d) == axis_ ? i / block_ : i) * strides_[d];
  }
  return sum;
}

int64_t quantize_to_integer(double rounded, int64_t zero_point, DType dtype) {
  const double low = static_cast<double>(integer_min(dtype)),
               high = static_cast<double>(integer_max(dtype));
  const double value = rounded + static_cast<double>(zero_point);
  if (std::isnan(value)) return integer_min(dtype);
  return static_cast<int64_t>(std::min(std::max(value, low), high));
}

}  // namespace stoker
