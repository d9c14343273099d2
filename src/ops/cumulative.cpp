// SPDX-License-Identifier: Apache-2.0
#include "ops/cumulative.h"

namespace stoker {

Status infer_cumulative(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 1, "axis", kIndices));
  STOKER_TRY(infer_unary(c, op, kNumbers));
  const auto axis = c.constant_ints(1);
  if (!axis || !c.type(0).ranked) return Status::ok();
  if (axis->size() != 1)
    return invalid_model("{}: axis has {} elements, expected 1", op, axis->size());
  return normalize_axis(op, (*axis)[0], c.type(0).rank()).status();
}

}  // namespace stoker
