// Reverses the first elements along the time axis, as many as input 1 says for each batch entry.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "reverse_sequence";

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kAny));
  STOKER_TRY(check_input(c, kName, 1, "sequence_lens", kIndices));
  const ValueType &x = c.type(0), &lengths = c.type(1);
  const int64_t batch = c.attributes.get_int("batch_axis", 1),
                time = c.attributes.get_int("time_axis", 0);
  if (batch + time != 1 || batch * time != 0) {
    return invalid_model("{}: batch_axis {} and time_axis {}, expected 0 and 1 or 1 and 0", kName,
                         batch, time);
  }
  c.outputs[0] = x;
  if (lengths.ranked && lengths.rank() != 1)
    return invalid_model("{}: sequence_lens is {}, expected rank 1", kName, type_text(lengths));
  if (!x.ranked) return Status::ok();
  if (x.rank() < 2)
    return invalid_model("{}: input is {}, expected rank 2 or more", kName, type_text(x));
  if (!lengths.ranked) return Status::ok();
  return same_dim(kName, "batch and lengths", x.dims[static_cast<size_t>(batch)], lengths.dims[0])
      .status();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t batch = c.attributes.get_int("batch_axis", 1),
                time = c.attributes.get_int("time_axis", 0);
  if (x.rank() < 2 || x.shape != y.shape)
    return invalid_argument("{}: input has shape {}", kName, shape_text(x.shape));
  STOKER_TRY(check_count(c.inputs[1], x.shape[batch], kName, "sequence_lens"));
  const std::vector<int64_t> lengths = to_ints(c.inputs[1]);
  const Shape rest(x.shape.begin() + 2, x.shape.end());
  const Shape in(x.strides.begin() + 2, x.strides.end()),
      out(y.strides.begin() + 2, y.strides.end());
  for (int64_t b = 0; b < x.shape[batch]; ++b) {
    if (lengths[b] < 0 || lengths[b] > x.shape[time]) {
      return invalid_argument("{}: length {} of entry {} lies outside 0 to {}", kName, lengths[b],
                              b, x.shape[time]);
    }
    for (int64_t t = 0; t < x.shape[time]; ++t) {
      const int64_t from = t < lengths[b] ? lengths[b] - 1 - t : t;
      STOKER_TRY(copy_block(rest, y, {b * y.strides[batch] + t * y.strides[time], out}, x,
                            {b * x.strides[batch] + from * x.strides[time], in}));
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_reverse_sequence;
const Op op_reverse_sequence = {
    .name = kName,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"batch_axis", AttributeKind::kInt}, {"time_axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
