// Windows that are sums of cosines: Hann, Hamming, Blackman.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Input 0 is the number of points; attributes "periodic" and "output_datatype".
Status infer_cosine_window(InferContext& c, const char* op);
// Point i of a period of n: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
Status evaluate_cosine_window(const EvalContext& c, const char* op, double a0, double a1,
                              double a2);

}  // namespace stoker
