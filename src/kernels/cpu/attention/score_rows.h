// What happens to a row of scores between the two products, 16 elements at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/attention/attention_plan.h"

namespace stoker::cpu {

// Scale, softcap and mask of `n` scores in place, for positions from `position` on; `mask` is the
// row's first. What is ruled out becomes -inf. Returns the maximum; NaN is passed over.
float finish_scores(const AttentionPlan& plan, const void* mask, int64_t position, int64_t n,
                    float* scores);

// exp(x - most) in place; returns the sum.
float exponentials_of(float* x, int64_t n, float most);

// y = sums * factor; false when an element is infinite or NaN.
bool scale_row(const float* sums, float factor, int64_t n, float* y);

}  // namespace stoker::cpu
