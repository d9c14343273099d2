// The order in which families are tried, and the translation of a fused node's body.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/lowered.h"
#include "lower/region_builder.h"
#include "lower/region_ops.h"

namespace stoker {
namespace {

constexpr std::string_view kViews[] = {"reshape", "flatten", "squeeze", "unsqueeze", "identity"};
constexpr std::string_view kPools[] = {"max_pool", "average_pool", "global_max_pool",
                                       "global_average_pool"};
constexpr std::string_view kCopies[] = {"transpose", "slice", "concat"};
template <size_t N>
bool stands_in(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

constexpr std::string_view kConvs[] = {"conv", "conv_integer", "conv_transpose"};
constexpr std::string_view kProducts[] = {"gemm", "matmul", "matmul_integer"};
constexpr std::string_view kRecurrent[] = {"lstm", "gru", "rnn"};

bool is_conv(const Node& node) { return stands_in(kConvs, node.op->name); }
bool is_recurrent(const Node& node) { return stands_in(kRecurrent, node.op->name); }
bool is_anchor(const Node& node) {
  return is_conv(node) || is_recurrent(node) || stands_in(kProducts, node.op->name);
}

Result<LoweredStep> lower_group(const NodeGroup& group) {
  if (!group.anchor) return lower_region(group);
  if (is_recurrent(*group.anchor)) return lower_recurrent(group);
  return is_conv(*group.anchor) ? lower_conv(group) : lower_gemm(group);
}

NodeGroup group_of(const Graph& body) {
  NodeGroup group;
  for (const auto& node : body.nodes()) {
    group.members.push_back(node.get());
    if (is_anchor(*node)) group.anchor = node.get();
  }
  group.outputs.assign(body.outputs.begin(), body.outputs.end());
  return group;
}

// The rules read constants, so the body is cloned with the constants of the outer operands in
// place; afterwards the body's values are replaced by the outer ones.
Result<LoweredStep> lower_fused(const Node& node) {
  if (node.subgraphs.size() != 1)
    return internal_error("a fused node has {} bodies", node.subgraphs.size());
  const std::unique_ptr<Graph> body = node.subgraphs[0]->clone();
  std::map<const Value*, const Value*> outer;
  for (size_t i = 0; i < body->inputs.size(); ++i) {
    Value* inner = body->inputs[i];
    outer[inner] = node.inputs[i];
    if (node.inputs[i]) {
      inner->constant = node.inputs[i]->constant;
      inner->open = node.inputs[i]->open;
      inner->type = node.inputs[i]->type;
    }
  }
  for (size_t i = 0; i < body->outputs.size(); ++i) outer[body->outputs[i]] = node.outputs[i];
  STOKER_ASSIGN(LoweredStep step, lower_group(group_of(*body)));
  for (LoweredOperand& operand : step.inputs) {
    if (!operand.value) continue;
    const auto it = outer.find(operand.value);
    if (it == outer.end())
      return internal_error("operand '{}' is not an input of its body", operand.value->name);
    operand.value = it->second;
  }
  for (const Value*& output : step.outputs) output = outer.at(output);
  return step;
}

Result<LoweredStep> lower_single(const Node& node) {
  if (stands_in(kViews, node.op->name) && node.inputs[0]->type.ranked &&
      node.outputs[0]->type.ranked && node.outputs[0]->type.dtype != DType::kString) {
    LoweredStep step;
    step.alias = true;
    step.inputs = {operand_of(node.inputs[0])};
    step.outputs = {node.outputs[0]};
    return step;
  }
  NodeGroup group{
      {&node}, {node.outputs.begin(), node.outputs.end()}, is_anchor(node) ? &node : nullptr};
  std::string refusal;
  if (group.anchor || is_region_op(node)) {
    auto step = lower_group(group);
    if (step) return step;
    refusal = step.status().message();
  }
  constexpr std::pair<std::string_view, Result<LoweredStep> (*)(const Node&)> kRules[] = {
      {"pool", lower_pool},
      {"copy", lower_copy},
      {"gather", lower_gather},
      {"attention", lower_attention},
      {"resize", lower_resize}};
  for (const auto& [family, rule] : kRules) {
    auto step = rule(node);
    if (step) return step;
    if (family == usual_family(*node.op)) refusal = step.status().message();
  }
  auto step = lower_fallback(node);
  if (step) step->refusal = std::move(refusal);
  return step;
}

}  // namespace

bool NodeGroup::contains(const Node* node) const {
  return std::find(members.begin(), members.end(), node) != members.end();
}

std::string_view usual_family(const Op& op) {
  if (!op.evaluate) return op.evaluate_values ? "value by value" : "control flow";
  if (stands_in(kViews, op.name)) return "view";
  if (stands_in(kConvs, op.name)) return "conv";
  if (stands_in(kProducts, op.name)) return "gemm";
  if (find_region_rule(op.name)) return "region";
  if (stands_in(kPools, op.name)) return "pool";
  if (stands_in(kCopies, op.name)) return "copy";
  if (stands_in(kRecurrent, op.name)) return "recurrent";
  if (op.name == "attention" || op.name == "resize") return op.name;
  return op.name == "gather" ? "gather" : "reference";
}

namespace {

// The matrix that `value` is the transpose of, where something else reads it too: tied embeddings.
const Value* untransposed(const Value* value) {
  const Node* node = value ? value->producer : nullptr;
  if (!node || !node->is("transpose") || !node->is_constant()) return nullptr;
  const Value* matrix = node->inputs[0];
  if (!matrix->type.ranked || matrix->type.rank() != 2) return nullptr;
  if (node->attributes.get_ints("perm") == std::vector<int64_t>{0, 1}) return nullptr;
  const bool shared = std::any_of(matrix->uses.begin(), matrix->uses.end(),
                                  [](const Use& use) { return !use.node->is_constant(); });
  return shared ? matrix : nullptr;
}

// A product with the transpose of a matrix that others read as it is reads it so too: one weight.
void share_matrix(LoweredStep& step) {
  auto* params = std::get_if<GemmParams>(&step.params);
  if (!params || step.inputs.size() < 2) return;
  if (const Value* matrix = untransposed(step.inputs[1].value)) {
    params->transpose_b = !params->transpose_b;
    step.inputs[1] = operand_of(matrix);
  }
}

}  // namespace

Result<LoweredStep> lower_node(const Node& node) {
  auto step = node.is("fused") ? lower_fused(node) : lower_single(node);
  if (!step) return step;
  share_matrix(*step);
  step->name = node.name;
  step->origins = node.origins;
  return step;
}

Result<Desc> lowered_desc(const LoweredStep& step, const SymbolValues& symbols) {
  Desc desc;
  desc.params = step.params;
  STOKER_ASSIGN(auto param_values, evaluate_dims(step.param_dims, symbols));
  set_param_values(desc.params, std::move(param_values));
  for (const LoweredOperand& operand : step.inputs) {
    TensorDesc tensor;
    if (operand.frozen) {
      tensor.dtype = operand.frozen->dtype();
      tensor.dims = operand.frozen->shape();
      tensor.constant = true;
    } else if (operand.value) {
      tensor.dtype = operand.value->type.dtype;
      tensor.constant = operand.value->is_constant();
      STOKER_ASSIGN(tensor.dims, evaluate_dims(operand.value->type.dims, symbols));
    }
    desc.inputs.push_back(std::move(tensor));
  }
  for (const Value* output : step.outputs) {
    TensorDesc tensor;
    tensor.dtype = output->type.dtype;
    STOKER_ASSIGN(tensor.dims, evaluate_dims(output->type.dims, symbols));
    desc.outputs.push_back(std::move(tensor));
  }
  return desc;
}

}  // namespace stoker
