// The input with slices replaced (or combined) at the coordinates in the last axis of the indices.
// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "scatter_nd", 0, "input", kAny));
  STOKER_TRY(check_input(c, "scatter_nd", 1, "indices", kIndices));
  STOKER_TRY(check_same_dtype(c, "scatter_nd", 0, 2));
  STOKER_ASSIGN(const ScatterReduction reduction, scatter_reduction(c.attributes, "scatter_nd"));
  if (reduction != ScatterReduction::kNone)
    STOKER_TRY(check_input(c, "scatter_nd", 0, "input", kReal));
  const ValueType &x = c.type(0), &indices = c.type(1), &updates = c.type(2);
  c.outputs[0] = x;
  if (!all_ranked(c)) return Status::ok();
  if (indices.rank() == 0)
    return invalid_model("scatter_nd: indices are {}, expected rank 1 or more", type_text(indices));
  const auto width = indices.dims.back().constant();
  if (!width) return Status::ok();
  if (*width < 0 || *width > x.rank() || updates.rank() != indices.rank() - 1 + x.rank() - *width) {
    return invalid_model("scatter_nd: indices {} and updates {} do not fit input {}",
                         type_text(indices), type_text(updates), type_text(x));
  }
  Dims expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), x.dims.begin() + *width, x.dims.end());
  for (size_t d = 0; d < expected.size(); ++d) {
    STOKER_TRY(
        same_dim("scatter_nd", "extents of the updates", updates.dims[d], expected[d]).status());
  }
  scatter_sizes(c, reduction);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &indices = c.inputs[1], &updates = c.inputs[2],
                   &y = c.outputs[0];
  STOKER_ASSIGN(const ScatterReduction reduction, scatter_reduction(c.attributes, "scatter_nd"));
  STOKER_TRY(copy_block(y.shape, y, {0, y.strides}, x, {0, x.strides}));
  const int64_t width = indices.shape.back();
  const Shape outer(indices.shape.begin(), indices.shape.end() - 1);
  const Walk slice{Shape(x.shape.begin() + width, x.shape.end()),
                   {Shape(y.strides.begin() + width, y.strides.end()),
                    Shape(updates.strides.begin() + outer.size(), updates.strides.end())}};
  const Reader read(indices);
  int64_t expected = slice.count();
  for (const int64_t extent : outer) expected *= extent;
  STOKER_TRY(check_count(updates, expected, "scatter_nd", "updates"));
  const Scatter scatter(reduction, y, updates);
  std::vector<int64_t> at(outer.size());
  int64_t tuples = 1;
  for (const int64_t extent : outer) tuples *= extent;
  for (int64_t k = 0; k < tuples; ++k) {
    unravel(outer, k, at.data());
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < outer.size(); ++d) from += at[d] * updates.strides[d];
    for (int64_t j = 0; j < width; ++j) {
      const int64_t given = read.integer(k * width + j), i = wrap_axis(given, x.shape[j]);
      if (i < 0 || i >= x.shape[j]) {
        return invalid_argument("scatter_nd: index {} is outside axis {} of extent {}", given, j,
                                x.shape[j]);
      }
      to += i * y.strides[j];
    }
    for_each_wanted(slice, {}, [&](const int64_t* o) { scatter(to + o[0], from + o[1]); });
  }
  return Status::ok();
}

}  // namespace

extern const Op op_scatter_nd;
const Op op_scatter_nd = {
    .name = "scatter_nd",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"reduction", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
