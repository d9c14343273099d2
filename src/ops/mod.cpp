// Remainder: with the sign of b for integers (fmod=0), with the sign of a otherwise.
// An integer remainder by zero is 0 rather than a trap.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {
template <class T>
T integer_mod(T a, T b, bool c_style) {
  if (b == 0 || b == T(-1)) return 0;
  const T r = static_cast<T>(a % b);
  return !c_style && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}
}  // namespace

extern const Op op_mod;
const Op op_mod = {
    .name = "mod",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"fmod", AttributeKind::kInt}},
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(infer_broadcast(c, "mod", kNumbers));
      if (c.attributes.get_int("fmod") == 0) {
        infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
          return b == Dim(0) ? std::nullopt : std::optional(Dim::mod(a, b));
        });
      } else {  // the same where nothing is negative
        infer_elements(c, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
          const bool plain = b != Dim(0) && surely_not_negative(a) && surely_not_negative(b);
          return plain ? std::optional(Dim::mod(a, b)) : std::nullopt;
        });
      }
      return Status::ok();
    },
    .evaluate =
        [](const EvalContext& c) {
          const bool c_style = c.attributes.get_int("fmod") != 0;
          return map_number2(c, [=](auto a, auto b) {
            if constexpr (std::is_integral_v<decltype(a)>) {
              if (std::is_unsigned_v<decltype(a)>)
                return b == 0 ? decltype(a)(0) : static_cast<decltype(a)>(a % b);
              return integer_mod(a, b, c_style);
            } else {
              const double r = std::fmod(a, b);
              return !c_style && r != 0 && (r < 0) != (b < 0) ? r + b : r;
            }
          });
        },
    .pointwise = true,
};

}  // namespace stoker
