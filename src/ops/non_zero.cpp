// Coordinates of the elements that are not zero (of strings: not empty), one column each; their
// number depends on the data.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

template <class Body>
void for_each_non_zero(const TensorView& x, Body body) {
  const LoadDouble load = load_double(x.dtype);  // null for strings
  int64_t position = 0;
  for_each_wanted(broadcast_walk(x.shape, {&x}), {}, [&](const int64_t* o) {
    if (load ? load(x.data, o[0]) != 0 : !(*x.strings)[static_cast<size_t>(o[0])].empty())
      body(position);
    ++position;
  });
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "non_zero", 0, "input", kNumbers | kBools | kStrings));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, DType::kI64);
  Dim count;
  if (c.inputs[0].constant) {
    int64_t n = 0;
    for_each_non_zero(view_of(*c.inputs[0].constant), [&](int64_t) { ++n; });
    count = Dim(n);
  } else {
    count = c.fresh();
  }
  set_output(c, 0, DType::kI64, {Dim(x.rank()), count});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const Writer write(y);
  const int64_t columns = y.shape[1];
  std::vector<int64_t> at(x.shape.size());
  int64_t column = 0;
  for_each_non_zero(x, [&](int64_t position) {
    if (column < columns) {
      unravel(x.shape, position, at.data());
      for (size_t d = 0; d < at.size(); ++d)
        write.integer(static_cast<int64_t>(d) * columns + column, at[d]);
    }
    ++column;
  });
  if (column == columns) return Status::ok();
  return invalid_argument("non_zero: found {} elements, the output holds {}", column, columns);
}

}  // namespace

extern const Op op_non_zero;
const Op op_non_zero = {
    .name = "non_zero",
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
