// The extents of the input, from axis `start` to before axis `end`.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

// Both ends clamp to the rank.
std::pair<int64_t, int64_t> range_of(const Attributes& attributes, int64_t rank) {
  const auto limit = [&](int64_t axis) {
    return std::clamp<int64_t>(wrap_axis(axis, rank), 0, rank);
  };
  const int64_t start = limit(attributes.get_int("start", 0));
  return {start, std::max(start, limit(attributes.get_int("end", rank)))};
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "shape", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) {
    set_output(c, 0, DType::kI64, {c.fresh()});
    return Status::ok();
  }
  const auto [start, end] = range_of(c.attributes, x.rank());
  set_output(c, 0, DType::kI64, {Dim(end - start)});
  c.shape_values[0] = Dims(x.dims.begin() + start, x.dims.begin() + end);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const auto [start, end] = range_of(c.attributes, c.inputs[0].rank());
  const Writer write(c.outputs[0]);
  for (int64_t d = start; d < end; ++d) write.integer(d - start, c.inputs[0].shape[d]);
  return Status::ok();
}

}  // namespace

extern const Op op_shape;
const Op op_shape = {
    .name = "shape",
    .attributes = {{"start", AttributeKind::kInt}, {"end", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
