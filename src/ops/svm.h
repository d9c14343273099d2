// Support vectors and their kernels: what the two SVM ops share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/ml.h"

namespace stoker {

struct SvmKernel {
  enum class Type { kLinear, kPoly, kRbf, kSigmoid };
  Type type = Type::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;

  double operator()(const double* a, const double* b, int64_t count) const;
};
Result<SvmKernel> svm_kernel(const Attributes& attributes, const char* op);

}  // namespace stoker
