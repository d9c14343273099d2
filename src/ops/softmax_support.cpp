// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.h"

namespace stoker {

Status infer_softmax(InferContext& c, const char* op) {
  STOKER_TRY(infer_unary(c, op, kFloats));
  const ValueType& x = c.type(0);
  const bool flatten = c.attributes.get_int("legacy_flatten") != 0;
  if (!x.ranked) return Status::ok();
  const int64_t axis = c.attributes.get_int("axis", flatten ? 1 : -1);
  // A flattened scalar or an axis equal to the rank leaves rows of one element.
  if (flatten && axis == x.rank()) return Status::ok();
  if (x.rank() == 0 && (axis == -1 || axis == 0)) return Status::ok();
  return normalize_axis(op, axis, x.rank()).status();
}

}  // namespace stoker
