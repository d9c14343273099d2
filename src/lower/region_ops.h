// The list of ops that regions express, each with the rule that emits its instructions. Arithmetic
// stays in the op's own dtype, f32 in f32; narrow types are loaded and cast, since regions compute
// in f32, f64, i32, i64 and bool only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lower/region_builder.h"

namespace stoker {

struct RegionRule {
  std::string_view op;
  Status (*emit)(RegionBuilder& builder, const Node& node);
};

// Null: no rule.
const RegionRule* find_region_rule(std::string_view op);

// One list per file.
std::span<const RegionRule> pointwise_rules();  // region_pointwise.cpp
std::span<const RegionRule> row_rules();        // region_rows.cpp
std::span<const RegionRule> quantized_rules();  // region_quantized.cpp

// Helpers of the rules.
inline DType out_dtype(const Node& node) { return node.outputs[0]->type.dtype; }
inline DType in_dtype(const Node& node, size_t i) { return node.inputs[i]->type.dtype; }
Status require_compute(DType dtype);  // unsupported unless regions compute in it
Status require_float(DType dtype);    // f32 or f64

}  // namespace stoker
