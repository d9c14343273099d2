// a == b, broadcast; strings too.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

// Equality of two sizes when it is certain. A difference without a minus sign is a sum of sizes, so
// it never equals a negative number.
std::optional<Dim> equal_dims(const Dim& a, const Dim& b) {
  const Dim d = a - b;
  if (d.is_const()) return Dim(d.value() == 0);
  const auto never = [](const Dim& symbolic, const Dim& number) {
    return number.is_const() && number.value() < 0 &&
           symbolic.text().find('-') == std::string::npos;
  };
  return never(a, b) || never(b, a) ? std::optional(Dim(0)) : std::nullopt;
}

Status equal_strings(const EvalContext& c) {
  const TensorView &a = c.inputs[0], &b = c.inputs[1], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&a, &b}));
  for_each_wanted(broadcast_walk(y.shape, {&y, &a, &b}), c.wanted, [&](const int64_t* o) {
    y.as<bool>()[o[0]] =
        (*a.strings)[static_cast<size_t>(o[1])] == (*b.strings)[static_cast<size_t>(o[2])];
  });
  return Status::ok();
}

}  // namespace

extern const Op op_equal;
const Op op_equal = {
    .name = "equal",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "equal", kNumbers | kBools | kStrings, DType::kBool));
      infer_elements(c, equal_dims);
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          if (c.inputs[0].dtype == DType::kString) return equal_strings(c);
          return map_number2(c, [](auto a, auto b) { return a == b; });
        },
    .pointwise = true,
};

}  // namespace stoker
