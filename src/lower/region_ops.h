// The list of ops that regions express, each with the rule that emits its instructions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/region_builder.h"

namespace stoker {

struct RegionRule {
  std::string_view op;
  Status (*emit)(RegionBuilder& builder, const Node& node);
};

// Null: no rule.
const RegionRule* find_region_rule(std::string_view op);

}  // namespace stoker
