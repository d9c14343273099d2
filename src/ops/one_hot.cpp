// on_value at the position that each index names along a new axis, off_value elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "one_hot", 0, "indices", kNumbers));
  STOKER_TRY(check_input(c, "one_hot", 1, "depth", kNumbers));
  STOKER_TRY(check_input(c, "one_hot", 2, "values", kAny));
  const DType dtype = c.type(2).dtype;
  if (!c.type(0).ranked) return set_unranked(c, dtype);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("one_hot", c.attributes.get_int("axis", -1), c.type(0).rank() + 1));
  Dim depth;
  const auto elements = c.elements(1);
  if (elements && elements->size() == 1) {
    depth = (*elements)[0];
  } else if (c.inputs[1].constant && c.inputs[1].constant->count() == 1) {
    depth =
        Dim(static_cast<int64_t>(load_double(c.type(1).dtype)(c.inputs[1].constant->data(), 0)));
  } else {
    depth = c.fresh();
  }
  if (depth.is_const() && depth.value() < 0)
    return invalid_model("one_hot: depth is {}", depth.text());
  Dims dims = c.type(0).dims;
  dims.insert(dims.begin() + axis, depth);
  set_output(c, 0, dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &indices = c.inputs[0], &values = c.inputs[2], &y = c.outputs[0];
  if (values.count() != 2)
    return invalid_argument("one_hot: values has {} elements, expected 2", values.count());
  const int64_t axis = wrap_axis(c.attributes.get_int("axis", -1), y.rank()), depth = y.shape[axis];
  int64_t inner = 1;
  for (int d = static_cast<int>(axis) + 1; d < y.rank(); ++d) inner *= y.shape[d];
  const std::vector<int64_t> at = to_ints(indices);
  const Writer write(y);
  const Mover move(y, values);
  const Reader value(values);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const int64_t outer = position / (inner * depth), k = position / inner % depth;
    const bool hit = wrap_axis(at[outer * inner + position % inner], depth) == k;
    move(write.offset(position), value.offset(hit ? 1 : 0));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_one_hot;
const Op op_one_hot = {
    .name = "one_hot",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
