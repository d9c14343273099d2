// lstm, gru, rnn -> the recurrent family.
// SPDX-License-Identifier: Apache-2.0
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

}  // namespace

Result<LoweredStep> lower_recurrent(const Node& node) {
  RecurrentParams params;
  STOKER_ASSIGN(params.cell, cell_of(node));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value* operand = node.inputs[i];
    if (operand && !operand->type.ranked) return unsupported("an operand of unknown rank");
    if (operand && operand->type.dtype != (i == 4 ? DType::kI32 : node.inputs[0]->type.dtype))
      return unsupported("operands of several dtypes");
  }
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
  LoweredStep step;
  step.params = std::move(params);
  for (const Value* input : node.inputs) step.inputs.push_back(operand_of(input));
  step.outputs.assign(node.outputs.begin(), node.outputs.end());
  return step;
}

}  // namespace stoker
