// Sizes that inference cannot tell, because an operand's value is known only when the model runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

inline constexpr int64_t kMaxOpenRank = 64;

// Number of elements of input `i`, a vector or scalar, when it is known.
std::optional<int64_t> vector_length(const InferContext& c, size_t i);
// One new symbol for each axis.
Dims fresh_dims(const InferContext& c, int64_t rank);
// Output 0 of this rank with sizes of its own, or unranked when the rank is not known either.
Status set_open(InferContext& c, DType dtype, std::optional<int64_t> rank);

// 1 when the condition on two sizes holds, otherwise 0; exact for all values.
Dim is_greater(const Dim& a, const Dim& b);
Dim is_equal(const Dim& a, const Dim& b);
// a where the condition, an expression that gives 0 or 1, holds; otherwise b. Nothing when that is
// not worth following.
std::optional<Dim> select(const Dim& condition, const Dim& a, const Dim& b);
// Shape value of f(f(input 0, input 1), input 2)..., elementwise and broadcast.
void infer_variadic_elements(InferContext& c, Dim (*f)(const Dim& a, const Dim& b));

// Nothing instead of an expression that has grown too long to be worth following.
std::optional<Dim> short_enough(const Dim& d);
// True when the expression cannot be negative: a sum of sizes.
bool surely_not_negative(const Dim& d);

}  // namespace stoker
