// ONNX's numbers of the element types: in model files and in the interface of custom operators.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stoker/dtype.h"

namespace stoker {

// kInvalid for a number that ONNX does not define.
DType dtype_from_onnx(int64_t number);
// 0 for kInvalid.
int32_t onnx_number(DType dtype);

}  // namespace stoker
