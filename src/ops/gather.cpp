// Slices of the input along `axis`, picked by an integer tensor; negative indices count from the
// end.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

void infer_gathered(InferContext& c) {
  const auto elements = c.elements(0);
  const auto indices = c.constant_ints(1);
  if (!elements || !indices || c.type(0).rank() != 1 || c.type(1).rank() > 1) return;
  Dims result;
  const int64_t n = static_cast<int64_t>(elements->size());
  for (const int64_t i : *indices) {
    const int64_t at = i < 0 ? i + n : i;
    if (at < 0 || at >= n) return;
    result.push_back((*elements)[at]);
  }
  c.shape_values[0] = std::move(result);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "gather", 0, "input", kAny));
  STOKER_TRY(check_input(c, "gather", 1, "indices", kIndices));
  const ValueType &x = c.type(0), &indices = c.type(1);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("gather", c.attributes.get_int("axis"), x.rank()));
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  set_output(c, 0, x.dtype, std::move(dims));
  infer_gathered(c);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t axis = wrap_axis(c.attributes.get_int("axis"), x.rank());
  const int64_t extent = x.shape[axis];
  const std::vector<int64_t> indices = to_ints(c.inputs[1]);
  // The output without the axes of the indices is one slice; every index copies one.
  const size_t index_rank = c.inputs[1].shape.size();
  Shape slice, from_strides, to_strides;
  for (int d = 0; d < x.rank(); ++d) {
    if (d == axis) continue;
    slice.push_back(x.shape[d]);
    from_strides.push_back(x.strides[d]);
    to_strides.push_back(y.strides[d < axis ? d : d + index_rank - 1]);
  }
  const Shape index_strides(y.strides.begin() + axis, y.strides.begin() + axis + index_rank);
  std::vector<int64_t> at(index_rank);
  for (size_t k = 0; k < indices.size(); ++k) {
    const int64_t i = wrap_axis(indices[k], extent);
    if (i < 0 || i >= extent) {
      return invalid_argument("gather: index {} is outside axis {} of extent {}", indices[k], axis,
                              extent);
    }
    unravel(c.inputs[1].shape, static_cast<int64_t>(k), at.data());
    const int64_t to = dot(at.data(), index_strides);
    STOKER_TRY(copy_block(slice, y, {to, to_strides}, x, {i * x.strides[axis], from_strides}));
  }
  return Status::ok();
}

}  // namespace

extern const Op op_gather;
const Op op_gather = {
    .name = "gather",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
