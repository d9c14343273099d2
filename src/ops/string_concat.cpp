// The strings of a followed by those of b, broadcast.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  const TensorView &a = c.inputs[0], &b = c.inputs[1], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&a, &b}));
  for_each_wanted(broadcast_walk(y.shape, {&y, &a, &b}), c.wanted, [&](const int64_t* o) {
    (*y.strings)[static_cast<size_t>(o[0])] =
        (*a.strings)[static_cast<size_t>(o[1])] + (*b.strings)[static_cast<size_t>(o[2])];
  });
  return Status::ok();
}

}  // namespace

extern const Op op_string_concat;
const Op op_string_concat = {
    .name = "string_concat",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) { return infer_broadcast(c, "string_concat", kStrings); },
    .evaluate = evaluate,
};

}  // namespace stoker
