// SPDX-License-Identifier: Apache-2.0
#include "ops/linear_model.h"

namespace stoker {

Status LinearModel::check(const char* op, const Rows& rows) const {
  const int64_t count = static_cast<int64_t>(coefficients.size());
  if (targets < 1 || count % targets != 0 || count / targets != rows.features) {
    return invalid_argument("{}: {} coefficients for {} targets and an input of {} features", op,
                            count, targets, rows.features);
  }
  if (intercepts.empty() || static_cast<int64_t>(intercepts.size()) == targets) return Status::ok();
  return invalid_model("{}: {} intercepts, expected {}", op, intercepts.size(), targets);
}

std::vector<double> LinearModel::scores(const double* row, int64_t features) const {
  std::vector<double> sums(static_cast<size_t>(targets));
  for (int64_t t = 0; t < targets; ++t) {
    double sum = 0;
    for (int64_t k = 0; k < features; ++k) sum += row[k] * coefficients[t * features + k];
    sums[t] = intercepts.empty() ? sum : sum + intercepts[t];
  }
  return sums;
}

}  // namespace stoker
