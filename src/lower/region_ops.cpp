// SPDX-License-Identifier: Apache-2.0
#include "lower/region_ops.h"

namespace stoker {

const RegionRule* find_region_rule(std::string_view op) {
  for (const auto list : {pointwise_rules(), row_rules(), quantized_rules()}) {
    for (const RegionRule& rule : list) {
      if (rule.op == op) return &rule;
    }
  }
  return nullptr;
}

Status require_compute(DType dtype) {
  return RegionBuilder::computes(dtype) ? Status::ok()
                                        : unsupported("{} arithmetic", dtype_name(dtype));
}

Status require_float(DType dtype) {
  const bool is_region_float = dtype == DType::kF32 || dtype == DType::kF64;
  return is_region_float ? Status::ok() : unsupported("{} arithmetic", dtype_name(dtype));
}

}  // namespace stoker
