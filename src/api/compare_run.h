// Runs an engine on one thread and looks at the values that its steps make.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "api/compare_values.h"

namespace stoker {

// Takes value `wanted` of the list, each time it is made; tensors are row-major.
using TakeValue = std::function<void(size_t wanted, AnyValue value)>;

// The outputs of the run. `inputs` have passed an ordinary run.
Result<ValueMap> run_reading(const Engine& engine, const ValueMap& inputs,
                             const std::vector<MadeValue>& wanted, TakeValue take);

}  // namespace stoker
