// LoweredStep: an IR node (or a fused group) as a kernel family's parameters over IR values, before
// layouts, tactics and packing are chosen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/constants.h"
#include "kernels/desc/desc.h"

namespace stoker {

// An operand: a value of the graph, or a constant that lowering made and froze (a combined scale).
struct LoweredOperand {
  const Value* value = nullptr;
  std::optional<Tensor> frozen;
  std::string frozen_name;

  bool present() const { return value || frozen; }
};

struct LoweredStep {
  std::string name;
  bool alias = false;  // the output is another view of the input's storage; nothing is launched
  Params params;
  Dims param_dims;  // see PlanStep
  std::vector<LoweredOperand> inputs;
  std::vector<const Value*> outputs;
  std::vector<std::string> origins;
  std::string refusal;  // of a fallback: why the family that usually runs the op did not take it
};

// The step of a node. Ops without a rule, and fused groups' single ops, become fallback steps; a
// fused group that no family can express is refused with the reason.
Result<LoweredStep> lower_node(const Node& node);

// The desc of a step at given sizes, all operands plain.
Result<Desc> lowered_desc(const LoweredStep& step, const SymbolValues& symbols);

// Nodes that become one step: a plain node, or the body of a fused one. Values are the body's.
struct NodeGroup {
  std::vector<const Node*> members;   // in order
  std::vector<const Value*> outputs;  // values used outside
  const Node* anchor = nullptr;       // the conv, product or recurrent layer; null: none

  bool contains(const Node* node) const;
};

// What nodes of an op usually become: a kernel family, "view", "reference" (the slow evaluation),
// "control flow", or "value by value" where sizes or kinds are known only while running. Operands
// may decide otherwise (a dtype that no kernel takes).
std::string_view usual_family(const Op& op);

// Per family; each file says what it takes. A refusal (unsupported) lets the next rule try.
Result<LoweredStep> lower_conv(const NodeGroup& group);
Result<LoweredStep> lower_gemm(const NodeGroup& group);
Result<LoweredStep> lower_recurrent(const NodeGroup& group);
Result<LoweredStep> lower_region(const NodeGroup& group);
Result<LoweredStep> lower_pool(const Node& node);
Result<LoweredStep> lower_copy(const Node& node);
Result<LoweredStep> lower_gather(const Node& node);
Result<LoweredStep> lower_attention(const Node& node);
Result<LoweredStep> lower_resize(const Node& node);
Result<LoweredStep> lower_fallback(const Node& node);

// Helpers shared by the rules.
inline LoweredOperand operand_of(const Value* value) {
  LoweredOperand operand;
  operand.value = value;
  return operand;
}
}  // namespace stoker
