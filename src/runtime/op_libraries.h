// Which libraries of custom operators an engine calls, and whether its loader named just those.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/plan.h"
#include "ops/custom_library.h"

namespace stoker {

// Of the steps: sorted, each once.
std::vector<UsedLibrary> used_op_libraries(const EngineContents& contents);

// Every library that the steps call is among those `named`. A process may have loaded others for
// somebody else: an engine does not get at them.
Status check_op_libraries(const EngineContents& contents, const OpLibraries& named);

}  // namespace stoker
