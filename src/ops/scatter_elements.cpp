// The input with single elements replaced (or combined): y[index[i][j]][j] = updates[i][j] for axis
// 0.
// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "scatter_elements", 0, "input", kAny));
  STOKER_TRY(check_input(c, "scatter_elements", 1, "indices", kIndices));
  STOKER_TRY(check_same_dtype(c, "scatter_elements", 0, 2));
  STOKER_ASSIGN(const ScatterReduction reduction,
                scatter_reduction(c.attributes, "scatter_elements"));
  if (reduction != ScatterReduction::kNone)
    STOKER_TRY(check_input(c, "scatter_elements", 0, "input", kReal));
  const ValueType &x = c.type(0), &indices = c.type(1), &updates = c.type(2);
  c.outputs[0] = x;
  if (!all_ranked(c)) return Status::ok();
  STOKER_TRY(normalize_axis("scatter_elements", c.attributes.get_int("axis"), x.rank()).status());
  if (x.rank() != indices.rank() || indices.rank() != updates.rank()) {
    return invalid_model("scatter_elements: input {}, indices {} and updates {} must have one rank",
                         type_text(x), type_text(indices), type_text(updates));
  }
  for (int d = 0; d < x.rank(); ++d) {
    STOKER_TRY(same_dim("scatter_elements", "extents of indices and updates", indices.dims[d],
                        updates.dims[d])
                   .status());
  }
  scatter_sizes(c, reduction);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &indices = c.inputs[1], &updates = c.inputs[2],
                   &y = c.outputs[0];
  STOKER_ASSIGN(const ScatterReduction reduction,
                scatter_reduction(c.attributes, "scatter_elements"));
  STOKER_TRY(copy_block(y.shape, y, {0, y.strides}, x, {0, x.strides}));
  const int64_t axis = wrap_axis(c.attributes.get_int("axis"), x.rank()), extent = x.shape[axis];
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.shape[d] > x.shape[d]) {
      return invalid_argument(
          "scatter_elements: axis {} of the indices is {} long, that of the input {}", d,
          indices.shape[d], x.shape[d]);
    }
  }
  STOKER_TRY(check_count(updates, indices.count(), "scatter_elements", "updates"));
  const Reader index(indices), update(updates);
  const Scatter scatter(reduction, y, updates);
  std::vector<int64_t> at(x.shape.size());
  const int64_t total = indices.count();
  for (int64_t k = 0; k < total; ++k) {
    unravel(indices.shape, k, at.data());
    const int64_t given = index.integer(k), i = wrap_axis(given, extent);
    if (i < 0 || i >= extent) {
      return invalid_argument("scatter_elements: index {} is outside axis {} of extent {}", given,
                              axis, extent);
    }
    at[axis] = i;
    scatter(dot(at.data(), y.strides), update.offset(k));
  }
  return Status::ok();
}

}  // namespace

extern const Op op_scatter_elements;
const Op op_scatter_elements = {
    .name = "scatter_elements",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"axis", AttributeKind::kInt}, {"reduction", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
