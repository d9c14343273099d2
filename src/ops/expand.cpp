// The input broadcast with the shape of input 1.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

// A shape value that keeps its length, or one size repeated.
void expand_elements(InferContext& c) {
  const auto elements = c.elements(0);
  const auto count = constant_dims(c.outputs[0].dims);
  if (!elements || !count || count->size() > 1) return;
  const size_t n = count->empty() ? 1 : static_cast<size_t>((*count)[0]);
  if (elements->size() == n) {
    c.shape_values[0] = *elements;
  } else if (elements->size() == 1 && n <= 4096) {
    c.shape_values[0] = Dims(n, (*elements)[0]);
  }
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "expand", 0, "input", kAny));
  STOKER_TRY(check_input(c, "expand", 1, "shape", kIndices));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (const auto target = c.elements(1)) {
    for (const Dim& d : *target) {
      if (d.is_const() && d.value() < 0)
        return invalid_model("expand: shape {} has a negative extent", dims_text(*target));
    }
    auto dims = broadcast_dims(x.dims, *target);
    if (!dims.is_ok()) return dims.status().at("expand");
    set_output(c, 0, x.dtype, std::move(*dims));
    expand_elements(c);
    return Status::ok();
  }
  const auto length = vector_length(c, 1);
  return set_open(c, x.dtype,
                  length ? std::optional(std::max<int64_t>(*length, x.rank())) : std::nullopt);
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
