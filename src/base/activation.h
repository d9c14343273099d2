// The activation functions of recurrent networks, as ONNX names them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stoker {

enum class ActivationKind : uint8_t {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus
};

struct Activation {
  ActivationKind kind = ActivationKind::kSigmoid;
  double alpha = 0, beta = 0;
  double operator()(double x) const;
};

// A kind's name, the alpha and beta of a model that gives none, and whether it takes them: lists of
// alphas hold values of those that do only.
struct ActivationEntry {
  const char* name;
  double alpha, beta;
  bool uses_alpha, uses_beta;
};
// By the number of the kind.
std::span<const ActivationEntry> activation_entries();
// Whatever the case of the letters; -1: unknown.
int find_activation(std::string_view name);

}  // namespace stoker
