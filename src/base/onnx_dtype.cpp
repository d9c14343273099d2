// SPDX-License-Identifier: Apache-2.0
#include "base/onnx_dtype.h"

#include <algorithm>
#include <array>

namespace stoker {
namespace {

constexpr std::array kDTypes = {
    DType::kInvalid,    DType::kF32,  DType::kU8,       DType::kI8,         DType::kU16,
    DType::kI16,        DType::kI32,  DType::kI64,      DType::kString,     DType::kBool,
    DType::kF16,        DType::kF64,  DType::kU32,      DType::kU64,        DType::kC64,
    DType::kC128,       DType::kBF16, DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
    DType::kF8E5M2FNUZ, DType::kU4,   DType::kI4,       DType::kF4E2M1,     DType::kF8E8M0,
    DType::kU2,         DType::kI2,
};

}  // namespace

DType dtype_from_onnx(int64_t number) {
  const bool known = number >= 0 && number < static_cast<int64_t>(kDTypes.size());
  return known ? kDTypes[static_cast<size_t>(number)] : DType::kInvalid;
}

int32_t onnx_number(DType dtype) {
  const auto found = std::find(kDTypes.begin(), kDTypes.end(), dtype);
  return found == kDTypes.end() ? 0 : static_cast<int32_t>(found - kDTypes.begin());
}

}  // namespace stoker
