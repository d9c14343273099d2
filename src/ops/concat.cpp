// The inputs one after the other along `axis`.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    STOKER_TRY(check_input(c, "concat", i, "input", kAny));
    STOKER_TRY(check_same_dtype(c, "concat", 0, i));
  }
  const DType dtype = c.type(0).dtype;
  if (!all_ranked(c)) return set_unranked(c, dtype);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("concat", c.attributes.get_int("axis"), c.type(0).rank()));
  Dims dims = c.type(0).dims;
  std::optional<Dims> elements = c.elements(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    const Dims& other = c.type(i).dims;
    if (other.size() != dims.size()) {
      return invalid_model("concat: input {} is {}, expected the rank of input 0, {}", i,
                           type_text(c.type(i)), type_text(c.type(0)));
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        dims[d] = dims[d] + other[d];
      } else {
        STOKER_ASSIGN(dims[d],
                      same_dim("concat", "the extents beside the axis", dims[d], other[d]));
      }
    }
    const auto more = elements ? c.elements(i) : std::nullopt;
    if (more)
      elements->insert(elements->end(), more->begin(), more->end());
    else
      elements.reset();
  }
  set_output(c, 0, dtype, std::move(dims));
  if (c.outputs[0].rank() == 1) c.shape_values[0] = std::move(elements);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const int64_t axis = wrap_axis(c.attributes.get_int("axis"), y.rank());
  int64_t start = 0;
  for (const TensorView& x : c.inputs) {
    bool fits = start + x.shape[axis] <= y.shape[axis];
    for (int64_t d = 0; fits && d < y.rank(); ++d) fits = d == axis || x.shape[d] == y.shape[d];
    if (!fits) {
      return invalid_argument("concat: an input of shape {} does not fit into {}",
                              shape_text(x.shape), shape_text(y.shape));
    }
    STOKER_TRY(copy_block(x.shape, y, {start * y.strides[axis], y.strides}, x, {0, x.strides}));
    start += x.shape[axis];
  }
  return Status::ok();
}

}  // namespace

extern const Op op_concat;
const Op op_concat = {
    .name = "concat",
    .max_inputs = -1,
    .attributes = {{"axis", AttributeKind::kInt, true}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
