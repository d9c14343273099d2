// Rows times coefficients plus intercepts: what the linear models share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/ml.h"

namespace stoker {

// Scores of one row: coefficients are [targets][features], intercepts [targets] or empty.
struct LinearModel {
  std::vector<double> coefficients, intercepts;
  int64_t targets = 1;

  // An error when the coefficients are not one row of the input per target.
  Status check(const char* op, const Rows& rows) const;
  std::vector<double> scores(const double* row, int64_t features) const;
};

}  // namespace stoker
