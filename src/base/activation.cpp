// SPDX-License-Identifier: Apache-2.0
#include "base/activation.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace stoker {

double Activation::operator()(double x) const {
  switch (kind) {
    case ActivationKind::kSigmoid: return 1.0 / (1.0 + std::exp(-x));
    case ActivationKind::kTanh: return std::tanh(x);
    case ActivationKind::kRelu: return std::max(x, 0.0);
    case ActivationKind::kAffine: return alpha * x + beta;
    case ActivationKind::kLeakyRelu: return x < 0 ? alpha * x : x;
    case ActivationKind::kThresholdedRelu: return x > alpha ? x : 0.0;
    case ActivationKind::kScaledTanh: return alpha * std::tanh(beta * x);
    case ActivationKind::kHardSigmoid: return std::max(0.0, std::min(1.0, alpha * x + beta));
    case ActivationKind::kElu: return x < 0 ? alpha * std::expm1(x) : x;
    case ActivationKind::kSoftsign: return x / (1.0 + std::fabs(x));
    case ActivationKind::kSoftplus: break;
  }
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

std::span<const ActivationEntry> activation_entries() {
  static constexpr ActivationEntry kEntries[] = {
      {"Sigmoid", 0, 0, false, false},      {"Tanh", 0, 0, false, false},
      {"Relu", 0, 0, false, false},         {"Affine", 1, 0, true, true},
      {"LeakyRelu", 0.01f, 0, true, false}, {"ThresholdedRelu", 1, 0, true, false},
      {"ScaledTanh", 1, 1, true, true},     {"HardSigmoid", 0.2f, 0.5, true, true},
      {"Elu", 1, 0, true, false},           {"Softsign", 0, 0, false, false},
      {"Softplus", 0, 0, false, false}};
  return kEntries;
}

int find_activation(std::string_view name) {
  const auto entries = activation_entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string_view known = entries[i].name;
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) ==
                 std::tolower(static_cast<unsigned char>(b));
        }))
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace stoker
