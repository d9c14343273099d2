// a to the power of b, in the dtype of a; b may have another dtype.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    // The truncated quotient 1 / base^|exponent|.
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

}  // namespace

extern const Op op_pow;
const Op op_pow = {
    .name = "pow",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(check_input(c, "pow", 0, "base", kNumbers));
      STOKER_TRY(check_input(c, "pow", 1, "exponent", kNumbers));
      const DType dtype = c.type(0).dtype;
      if (!all_ranked(c)) return set_unranked(c, dtype);
      auto dims = broadcast_dims(c.type(0).dims, c.type(1).dims);
      if (!dims.is_ok()) return dims.status().at("pow");
      set_output(c, 0, dtype, std::move(*dims));
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          if (is_integer(c.inputs[0].dtype) && is_integer(c.inputs[1].dtype)) {
            return map_number2(c, [](auto a, auto b) {
              return integer_power(static_cast<int64_t>(a), static_cast<int64_t>(b));
            });
          }
          return map_float2(c, [](double a, double b) { return std::pow(a, b); });
        },
    .pointwise = true,
    .transcendental = true,
};

}  // namespace stoker
