// out[i][j] = x[index[i][j]][j] for axis 0, and so on for the other axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "gather_elements", 0, "input", kAny));
  STOKER_TRY(check_input(c, "gather_elements", 1, "indices", kIndices));
  const ValueType &x = c.type(0), &indices = c.type(1);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  STOKER_TRY(normalize_axis("gather_elements", c.attributes.get_int("axis"), x.rank()).status());
  if (x.rank() != indices.rank()) {
    return invalid_model("gather_elements: input {} and indices {} must have one rank",
                         type_text(x), type_text(indices));
  }
  set_output(c, 0, x.dtype, indices.dims);
  const auto elements = c.elements(0);
  const auto picked = c.constant_ints(1);
  if (!elements || !picked || x.rank() != 1) return Status::ok();
  Dims result;
  const int64_t n = static_cast<int64_t>(elements->size());
  for (const int64_t i : *picked) {
    const int64_t at = wrap_axis(i, n);
    if (at < 0 || at >= n) return Status::ok();
    result.push_back((*elements)[at]);
  }
  c.shape_values[0] = std::move(result);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &indices = c.inputs[1], &y = c.outputs[0];
  const int64_t axis = wrap_axis(c.attributes.get_int("axis"), x.rank()), extent = x.shape[axis];
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.shape[d] > x.shape[d]) {
      return invalid_argument(
          "gather_elements: axis {} of the indices is {} long, that of the input {}", d,
          indices.shape[d], x.shape[d]);
    }
  }
  const Reader index(indices);
  const Writer write(y);
  const Mover move(y, x);
  std::vector<int64_t> at(y.shape.size());
  Status status;
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    unravel(y.shape, position, at.data());
    const int64_t i = wrap_axis(index.integer(position), extent);
    if (i < 0 || i >= extent) {
      status = invalid_argument("gather_elements: index {} is outside axis {} of extent {}",
                                index.integer(position), axis, extent);
      return;
    }
    at[axis] = i;
    move(write.offset(position), dot(at.data(), x.strides));
  });
  return status;
}

}  // namespace

extern const Op op_gather_elements;
const Op op_gather_elements = {
    .name = "gather_elements",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
