// Shared by the quantized patterns: dequantize -> operation -> quantize becomes one `fused` node
// whose body holds exactly these operations, so that a kernel may compute it in integers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "passes/pass.h"

namespace stoker {

// The dequantize_linear with constant scales that gives this value; null otherwise.
Node* dequantize_of(const Value* value);
bool has_constant_scales(const Node& node);
// Do the quantize and the dequantize node use the same scale, zero point and axis?
bool same_scales(const Node& quantize, const Node& dequantize);

// A copy of a dequantize node that others read too, for the inputs of `reader` from `first` on.
Node* own_dequantize(Graph& graph, const Node* dequantize, Node* reader, size_t first);

struct QuantizedRule {
  std::string name;  // of the fused node
  bool (*is_anchor)(const Node&);
  size_t dequantized_inputs = 1;  // so many leading inputs must be dequantized
  bool constant_weight = false;   // input 1 must be a dequantized constant
};

// Fuses every dequantize -> anchor -> (add constant, relu, clip) -> quantize.
Result<int> fuse_quantized(Graph& graph, const PassContext& context, const QuantizedRule& rule);

}  // namespace stoker
