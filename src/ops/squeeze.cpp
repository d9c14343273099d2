// The input without the axes of extent 1 that are named, or without all of them.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "squeeze", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const auto axes, axes_of(c, "squeeze", 1, x.rank()));
  if (c.has(1) && !axes) {
    const auto count = vector_length(c, 1);
    if (count && *count > x.rank())
      return invalid_model("squeeze: {} axes for input {}", *count, type_text(x));
    return set_open(c, x.dtype, count ? std::optional(x.rank() - *count) : std::nullopt);
  }
  // Any size that is not known may turn out to be 1.
  if (!axes && !constant_dims(x.dims)) return set_unranked(c, x.dtype);
  Dims dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const Dim& extent = x.dims[d];
    if (!axes) {
      if (extent != Dim(1)) dims.push_back(extent);
    } else if (!std::binary_search(axes->begin(), axes->end(), d)) {
      dims.push_back(extent);
    } else if (extent.is_const() && extent != Dim(1)) {
      return invalid_model("squeeze: axis {} of {} has extent {}, expected 1", d, type_text(x),
                           extent.text());
    }
  }
  set_output(c, 0, x.dtype, std::move(dims));
  pass_elements(c, 0);
  return Status::ok();
}

}  // namespace

extern const Op op_squeeze;
const Op op_squeeze = {
    .name = "squeeze",
    .max_inputs = 2,
    .infer = infer,
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
};

}  // namespace stoker
