// Reading the constants of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace stoker {

// Value of a constant with one element of a real dtype; nothing otherwise (null included).
std::optional<double> scalar_constant(const Value* value);
// Elements of a constant integer tensor; nothing otherwise (null included).
std::optional<std::vector<int64_t>> constant_ints(const Value* value);

}  // namespace stoker
