// Slices of the input at the coordinates that the last axis of the indices holds.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "gather_nd", 0, "input", kAny));
  STOKER_TRY(check_input(c, "gather_nd", 1, "indices", kIndices));
  const ValueType &x = c.type(0), &indices = c.type(1);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  const int64_t batch = c.attributes.get_int("batch_dims");
  if (indices.rank() == 0)
    return invalid_model("gather_nd: indices are {}, expected rank 1 or more", type_text(indices));
  const auto width = indices.dims.back().constant();
  if (!width) return set_unranked(c, x.dtype);
  if (batch < 0 || batch >= indices.rank() || *width < 1 || *width + batch > x.rank()) {
    return invalid_model("gather_nd: indices {} with batch_dims {} do not fit input {}",
                         type_text(indices), batch, type_text(x));
  }
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  for (int64_t d = 0; d < batch; ++d) {
    STOKER_ASSIGN(dims[d], same_dim("gather_nd", "batch extents", x.dims[d], indices.dims[d]));
  }
  dims.insert(dims.end(), x.dims.begin() + batch + *width, x.dims.end());
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &indices = c.inputs[1], &y = c.outputs[0];
  const int64_t batch = c.attributes.get_int("batch_dims"), width = indices.shape.back();
  const Shape outer(indices.shape.begin(), indices.shape.end() - 1);
  const Shape slice(x.shape.begin() + batch + width, x.shape.end());
  const Shape slice_from(x.strides.begin() + batch + width, x.strides.end());
  const Shape slice_to(y.strides.begin() + outer.size(), y.strides.end());
  const Reader read(indices);
  for (int64_t d = 0; d < batch; ++d) {
    if (indices.shape[d] > x.shape[d]) {
      return invalid_argument(
          "gather_nd: batch axis {} of the indices is {} long, that of the input {}", d,
          indices.shape[d], x.shape[d]);
    }
  }
  std::vector<int64_t> at(outer.size());
  int64_t tuples = 1;
  for (const int64_t extent : outer) tuples *= extent;
  for (int64_t k = 0; k < tuples; ++k) {
    unravel(outer, k, at.data());
    int64_t from = 0, to = 0;
    for (int64_t d = 0; d < batch; ++d) from += at[d] * x.strides[d];
    for (size_t d = 0; d < outer.size(); ++d) to += at[d] * y.strides[d];
    for (int64_t j = 0; j < width; ++j) {
      const int64_t extent = x.shape[batch + j], given = read.integer(k * width + j),
                    i = wrap_axis(given, extent);
      if (i < 0 || i >= extent) {
        return invalid_argument("gather_nd: index {} is outside axis {} of extent {}", given,
                                batch + j, extent);
      }
      from += i * x.strides[batch + j];
    }
    STOKER_TRY(copy_block(slice, y, {to, slice_to}, x, {from, slice_from}));
  }
  return Status::ok();
}

}  // namespace

extern const Op op_gather_nd;
const Op op_gather_nd = {
    .name = "gather_nd",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"batch_dims", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
