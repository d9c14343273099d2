// The equation of an einsum: which label every axis of the operands and of the output carries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

// Labels are letters; the axes that an ellipsis stands for are -1, -2, ... from the right, so that
// they broadcast.
using Labels = std::vector<int>;

struct Equation {
  std::vector<std::string> terms;     // one per operand; '.' is an ellipsis
  std::optional<std::string> output;  // after "->"
};
Result<Equation> parse_equation(const std::string& text);

struct EquationLabels {
  std::vector<Labels> terms;
  Labels output;
};
// The labels for operands of these ranks.
Result<EquationLabels> label_axes(const Equation& equation, const std::vector<int>& ranks);

}  // namespace stoker
