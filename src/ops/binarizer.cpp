// 1 where the input is above the threshold, 0 elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) { return infer_unary(c, "binarizer", kNumbers); }

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(y, x.count(), "binarizer", "the output"));
  const double threshold = c.attributes.get_float("threshold");
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(broadcast_walk(y.shape, {&y, &x}), c.wanted, [&](const int64_t* o) {
    store(y.data, o[0], load(x.data, o[1]) > threshold ? 1 : 0);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_binarizer;
const Op op_binarizer = {
    .name = "binarizer",
    .attributes = {{"threshold", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate = evaluate,
    .pointwise = true,
};

}  // namespace stoker
