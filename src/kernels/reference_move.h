// Reference forms of the families that move elements without computing. Private to the reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

Status reference_copy(const Desc& desc, const void* const* inputs, void* output);
Status reference_gather(const Desc& desc, const void* const* inputs, void* output);

}  // namespace stoker
