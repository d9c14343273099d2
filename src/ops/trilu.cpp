// The upper or lower triangle of the last two axes, zeros (empty strings) elsewhere; k moves the
// diagonal.
// SPDX-License-Identifier: Apache-2.0
#include "ops/fill.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, "trilu", kAny));
  if (c.has(1)) STOKER_TRY(check_input(c, "trilu", 1, "k", kIndices));
  if (c.type(0).ranked && c.type(0).rank() < 2) {
    return invalid_model("trilu: input is {}, expected rank 2 or more", type_text(c.type(0)));
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (c.has(1)) STOKER_TRY(check_count(c.inputs[1], 1, "trilu", "k"));
  const int64_t k = c.has(1) ? Reader(c.inputs[1]).integer(0) : 0;
  const bool upper = c.attributes.get_int("upper", 1) != 0;
  const Reader read(x);
  const Writer write(y);
  const Mover move(y, x);
  const int64_t rows = y.shape[y.rank() - 2], columns = y.shape[y.rank() - 1];
  fill_zero(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const int64_t column = position % columns, row = position / columns % rows;
    // Compared without adding, since k may be any 64-bit number.
    const bool keep = upper ? column - row >= k : column - row <= k;
    if (keep) move(write.offset(position), read.offset(position));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_trilu;
const Op op_trilu = {
    .name = "trilu",
    .max_inputs = 2,
    .attributes = {{"upper", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
