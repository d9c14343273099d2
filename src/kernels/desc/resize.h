// Axes and checks of the resize family.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

// One per dim of x, at the bound shape.
std::vector<ResizeAxis> resize_axes_of(const Desc& desc);

// The family's parts of check_desc_static and check_desc.
Status check_resize_static(const Desc& desc);
Status check_resize(const Desc& desc);

}  // namespace stoker
