// What scatter_nd and scatter_elements share: combining an update with the element it meets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

enum class ScatterReduction { kNone, kAdd, kMul, kMin, kMax };
Result<ScatterReduction> scatter_reduction(const Attributes& attributes, const char* op);

// Shape value of a vector of sizes, some of them replaced or combined; one index names each.
void scatter_sizes(InferContext& c, ScatterReduction reduction);

// y[to] = reduce(y[to], updates[from]); offsets count elements.
class Scatter {
 public:
  Scatter(ScatterReduction reduction, const TensorView& y, const TensorView& updates);
  void operator()(int64_t to, int64_t from) const;

 private:
  ScatterReduction reduction_;
  const TensorView &y_, &updates_;
  Mover move_;
};

}  // namespace stoker
