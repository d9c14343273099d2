// New axes of extent 1 at the output positions `axes`.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "unsqueeze", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const auto given = c.constant_ints(1);
  if (!given) {
    const auto count = vector_length(c, 1);
    return set_open(c, x.dtype, count ? std::optional(x.rank() + *count) : std::nullopt);
  }
  const int64_t rank = x.rank() + static_cast<int64_t>(given->size());
  STOKER_ASSIGN(const auto axes, axes_of(c, "unsqueeze", 1, rank));
  Dims dims;
  auto next = x.dims.begin();
  for (int64_t d = 0; d < rank; ++d) {
    dims.push_back(std::binary_search(axes->begin(), axes->end(), d) ? Dim(1) : *next++);
  }
  set_output(c, 0, x.dtype, std::move(dims));
  pass_elements(c, 0);
  return Status::ok();
}

}  // namespace

extern const Op op_unsqueeze;
const Op op_unsqueeze = {
    .name = "unsqueeze",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
};

}  // namespace stoker
