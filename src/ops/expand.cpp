// The input broadcast with the shape of input 1.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "expand", 0, "input", kAny));
  STOKER_TRY(check_input(c, "expand", 1, "shape", kIndices));
  const ValueType& x = c.type(0);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  if (const auto target = c.elements(1)) {
    for (const Dim& d : *target) {
      if (d.is_const() && d.value() < 0)
        return invalid_model("expand: shape {} has a negative extent", dims_text(*target));
    }
    auto dims = broadcast_dims(x.dims, *target);
    if (!dims.is_ok()) return dims.status().at("expand");
    set_output(c, 0, x.dtype, std::move(*dims));
    if (c.outputs[0].rank() == 1 && c.outputs[0].dims == x.dims) pass_elements(c, 0);
    return Status::ok();
  }
  const auto length = c.type(1).rank() == 1 ? c.type(1).dims[0].constant() : std::nullopt;
  if (!length || *length > 64) return set_unranked(c, x.dtype);
  Dims dims;
  for (int64_t i = 0; i < std::max<int64_t>(*length, x.rank()); ++i) dims.push_back(c.fresh());
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&x}));
  return copy_block(y.shape, y, {0, y.strides}, x, {0, broadcast_walk(y.shape, {&x}).strides[0]});
}

}  // namespace

extern const Op op_expand;
const Op op_expand = {
    .name = "expand",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
