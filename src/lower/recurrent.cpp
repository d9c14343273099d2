// lstm, gru, rnn -> the recurrent family, with weights of 8 bits where they are dequantized in the
// group.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/desc/recurrent.h"
#include "lower/lowered.h"
#include "ops/recurrent.h"

namespace stoker {
namespace {

using Cell = RecurrentParams::Cell;

Result<Cell> cell_of(const Node& node) {
  if (node.is("lstm")) return Cell::kLstm;
  if (node.is("gru")) return Cell::kGru;
  if (node.is("rnn")) return Cell::kRnn;
  return unsupported("not a recurrent layer");
}

std::vector<std::string> default_activations(Cell cell) {
  if (cell == Cell::kLstm) return {"Sigmoid", "Tanh", "Tanh"};
  return cell == Cell::kGru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                            : std::vector<std::string>{"Tanh"};
}

Result<RecurrentParams> params_of(const Node& node) {
  RecurrentParams params;
  STOKER_ASSIGN(params.cell, cell_of(node));
  const Attributes& attributes = node.attributes;
  const std::string direction = attributes.get_string("direction", "forward");
  const bool both = direction == "bidirectional";
  params.direction = both                     ? RecurrentParams::Direction::kBidirectional
                     : direction == "reverse" ? RecurrentParams::Direction::kReverse
                                              : RecurrentParams::Direction::kForward;
  const std::vector<std::string> defaults = default_activations(params.cell);
  const size_t directions = both ? 2 : 1;
  STOKER_ASSIGN(params.activations,
                activations_of(attributes, kRecurrentCells[static_cast<size_t>(params.cell)],
                               both ? 2 : 1, defaults));
  // Of a list that is too long the op uses the first ones, whatever the others are.
  params.activations.resize(defaults.size() * directions);
  for (const Activation& a : params.activations) {
    if (!std::isfinite(a.alpha) || !std::isfinite(a.beta))
      return unsupported("activation constants {} and {}", a.alpha, a.beta);
  }
  const double clip = attributes.get_float("clip");
  if (clip > 0 && std::isfinite(clip)) params.clip = clip;  // others do not clip
  params.batch_first = attributes.get_int("layout") != 0;
  params.coupled = params.cell == Cell::kLstm && attributes.get_int("input_forget") != 0;
  params.linear_first = params.cell == Cell::kGru && attributes.get_int("linear_before_reset") != 0;
  return params;
}

// The dequantize_linear of the group that makes operand `index`; null: none.
const Node* dequantize_in(const NodeGroup& group, size_t index) {
  const Node& node = *group.anchor;
  const Node* made_by = node.inputs[index] ? node.inputs[index]->producer : nullptr;
  return made_by && made_by->is("dequantize_linear") && group.contains(made_by) ? made_by : nullptr;
}

Status check_types(const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value* operand = node.inputs[i];
    if (operand && !operand->type.ranked) return unsupported("an operand of unknown rank");
    if (operand && operand->type.dtype != (i == 4 ? DType::kI32 : node.inputs[0]->type.dtype))
      return unsupported("operands of several dtypes");
  }
  return Status::ok();
}

}  // namespace

Result<LoweredStep> lower_recurrent(const NodeGroup& group) {
  const Node& node = *group.anchor;
  STOKER_TRY(check_types(node));
  LoweredStep step;
  STOKER_ASSIGN(step.params, params_of(node));
  step.outputs = group.outputs;  // the layer's first ones
  for (const Value* input : node.inputs) step.inputs.push_back(operand_of(input));
  for (const size_t weight : {size_t{1}, size_t{2}}) {
    const Node* dequantize = dequantize_in(group, weight);
    if (!dequantize) continue;
    const size_t at = scale_operand(weight);
    if (step.inputs.size() <= at) step.inputs.resize(at + 1);
    step.inputs[weight] = operand_of(dequantize->inputs[0]);
    step.inputs[at] = operand_of(dequantize->inputs[1]);
  }
  return step;
}

}  // namespace stoker
