// Self-check of one tactic: chosen output elements against the double-precision reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/harness.h"

namespace stoker {

struct CheckResult {
  double worst = 0;  // largest error in units of the bound's scale
  double bound = 0;  // largest error that rounding explains
  int32_t elements = 0;
  bool passed() const { return worst <= bound; }
};

// Runs the contender once on `inputs` (canonical, as from sample_inputs) and compares.
// Bound for floats: accumulated rounding of a sum of K products grows as sqrt(K) in the mean; the
// bound is 4 (sqrt(K) + 8) epsilon of the largest reference magnitude, plus the polynomial error of
// exp, erf and tanh (4 epsilon each step), plus what sines near zero carry on. Integers must be
// equal, 8-bit results of a float epilogue may differ by one.
Result<CheckResult> check_contender(Contender& contender, const Desc& desc,
                                    const std::vector<Tensor>& inputs, WorkerPool& pool,
                                    int elements, uint64_t seed);

}  // namespace stoker
