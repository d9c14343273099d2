// "x:1x3x224x224..32x3x224x224,opt=8x3x224x224": shapes of one input with the ranges of its dynamic
// dims.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph.h"
#include "lower/lower_graph.h"

namespace stoker {

struct ShapeSpec {
  std::string input;
  Dims dims;                                     // of the graph's input
  std::map<std::string, SymbolProfile> profile;  // of the symbols in dims
};

// `graph`: names symbols as the model does where it has any. Errors show the grammar.
Result<ShapeSpec> parse_shape_spec(const std::string& text, const Graph& graph);

}  // namespace stoker
