// SPDX-License-Identifier: Apache-2.0
#include "ops/svm.h"

namespace stoker {

double SvmKernel::operator()(const double* a, const double* b, int64_t count) const {
  double sum = 0;
  if (type == Type::kRbf) {
    for (int64_t i = 0; i < count; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::exp(-gamma * sum);
  }
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  switch (type) {
    case Type::kPoly: return std::pow(gamma * sum + coef0, degree);
    case Type::kSigmoid: return std::tanh(gamma * sum + coef0);
    default: return sum;
  }
}

Result<SvmKernel> svm_kernel(const Attributes& attributes, const char* op) {
  SvmKernel kernel;
  const std::string name = attributes.get_string("kernel_type", "LINEAR");
  if (name == "POLY") {
    kernel.type = SvmKernel::Type::kPoly;
  } else if (name == "RBF") {
    kernel.type = SvmKernel::Type::kRbf;
  } else if (name == "SIGMOID") {
    kernel.type = SvmKernel::Type::kSigmoid;
  } else if (name != "LINEAR") {
    return invalid_model("{}: kernel_type is \"{}\", expected LINEAR, POLY, RBF or SIGMOID", op,
                         name);
  }
  const std::vector<double> parameters = attributes.get_floats("kernel_params");
  if (parameters.empty()) return kernel;
  if (parameters.size() != 3)
    return invalid_model("{}: kernel_params holds {} numbers, expected 3", op, parameters.size());
  kernel.gamma = parameters[0];
  kernel.coef0 = parameters[1];
  kernel.degree = parameters[2];
  return kernel;
}

}  // namespace stoker
