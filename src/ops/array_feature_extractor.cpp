// The elements of the last axis that the indices name; the indices' own shape does not matter.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "array_feature_extractor";

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kAny));
  STOKER_TRY(check_input(c, kName, 1, "indices", kIndices));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (x.rank() == 0)
    return invalid_model("{}: input is {}, expected rank 1 or more", kName, type_text(x));
  Dims dims(x.dims.begin(), x.dims.end() - 1);
  if (dims.empty()) dims.push_back(Dim(1));
  dims.push_back(c.type(1).ranked ? product(c.type(1).dims) : c.fresh());
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const std::vector<int64_t> indices = to_ints(c.inputs[1]);
  const int64_t features = x.shape.back(), count = static_cast<int64_t>(indices.size());
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < x.shape.size(); ++d) rows *= x.shape[d];
  STOKER_TRY(check_count(y, rows * count, kName, "the output"));
  for (const int64_t i : indices) {
    if (i < 0 || i >= features)
      return invalid_argument("{}: index {} is outside of {} features", kName, i, features);
  }
  const Mover move(y, x);
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    move(write.offset(position),
         read.offset(position / count * features + indices[position % count]));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_array_feature_extractor;
const Op op_array_feature_extractor = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
