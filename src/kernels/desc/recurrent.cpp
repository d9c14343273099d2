// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/recurrent.h"

#include <algorithm>
#include <cmath>

#include "stoker/tensor.h"

namespace stoker {
namespace {

using Cell = RecurrentParams::Cell;
using Direction = RecurrentParams::Direction;
using Extents = std::vector<int64_t>;

constexpr size_t kMaxInputs = 10;

int64_t direction_count(const RecurrentParams& p) {
  return p.direction == Direction::kBidirectional ? 2 : 1;
}

int64_t activations_per_direction(Cell cell) {
  return cell == Cell::kLstm ? 3 : cell == Cell::kGru ? 2 : 1;
}

Status check_params(const RecurrentParams& p) {
  if (p.cell > Cell::kRnn || p.direction > Direction::kBidirectional) {
    return invalid_argument("unknown cell {} or direction {}", static_cast<int>(p.cell),
                            static_cast<int>(p.direction));
  }
  const auto wanted = static_cast<size_t>(activations_per_direction(p.cell) * direction_count(p));
  if (p.activations.size() != wanted)
    return invalid_argument("{} activations, expected {}", p.activations.size(), wanted);
  for (const Activation& a : p.activations) {
    if (a.kind > ActivationKind::kSoftplus)
      return invalid_argument("unknown activation {}", static_cast<int>(a.kind));
    if (!std::isfinite(a.alpha) || !std::isfinite(a.beta))
      return invalid_argument("activation constants {} and {}", a.alpha, a.beta);
  }
  if (!std::isfinite(p.clip) || p.clip < 0)
    return invalid_argument("clip {}, expected 0 or more", p.clip);
  if ((p.coupled && p.cell != Cell::kLstm) || (p.linear_first && p.cell != Cell::kGru))
    return invalid_argument("an option of another cell than {}",
                            kRecurrentCells[static_cast<size_t>(p.cell)]);
  return Status::ok();
}

// Rank of operand `index`.
int rank_of(size_t index) {
  switch (index) {
    case kBias:
    case kPeepholes: return 2;
    case kLengths: return 1;
    default: return 3;
  }
}

Status check_operand(const TensorDesc& operand, int rank, DType dtype, const char* what, size_t i) {
  if (operand.rank() != rank || operand.dtype != dtype || operand.layout != Layout::kPlain) {
    return invalid_argument("{} {} is {} of rank {}{}, expected plain {} of rank {}", what, i,
                            dtype_name(operand.dtype), operand.rank(),
                            operand.layout == Layout::kPlain ? "" : " in layout c16",
                            dtype_name(dtype), rank);
  }
  return Status::ok();
}

// A weight of 8 bits and its scales, or one of the layer's dtype without.
Status check_weight(const Desc& desc, size_t index) {
  const TensorDesc& weight = desc.inputs[index];
  const size_t at = scale_operand(index);
  if (!is_byte_weight(desc, index)) {
    if (has_operand(desc, at))
      return invalid_argument("input {} scales weights of {}", at, dtype_name(weight.dtype));
    return check_operand(weight, 3, desc.inputs[0].dtype, "input", index);
  }
  if (desc.inputs[0].dtype != DType::kF32)
    return invalid_argument("weights of 8 bits beside {}, expected f32",
                            dtype_name(desc.inputs[0].dtype));
  if (!has_operand(desc, at))
    return invalid_argument("input {} is {}, its scales, input {}, are missing", index,
                            dtype_name(weight.dtype), at);
  if (desc.inputs[at].rank() > 1)
    return invalid_argument("input {} has rank {}, expected 0 or 1", at, desc.inputs[at].rank());
  STOKER_TRY(check_operand(desc.inputs[at], desc.inputs[at].rank(), DType::kF32, "input", at));
  return check_operand(weight, 3, weight.dtype, "input", index);
}

Status check_scales(const Desc& desc, size_t weight, const RecurrentExtents& e) {
  const size_t at = scale_operand(weight);
  if (!has_operand(desc, at) || desc.inputs[at].dims.empty()) return Status::ok();
  const int64_t count = desc.inputs[at].dims[0];
  if (count == 1 || count == e.directions || count == e.directions * e.gates * e.hidden)
    return Status::ok();
  return invalid_argument("input {} has {} scales, expected 1, {} or {}", at, count, e.directions,
                          e.directions * e.gates * e.hidden);
}

Status expect_dims(const Desc& desc, size_t input, const Extents& expected) {
  if (!has_operand(desc, input) || desc.inputs[input].dims == expected) return Status::ok();
  return invalid_argument("input {} is {}, expected {}", input, shape_text(desc.inputs[input].dims),
                          shape_text(expected));
}

}  // namespace

int64_t gate_count(const RecurrentParams& p) {
  return p.cell == Cell::kLstm ? 4 : p.cell == Cell::kGru ? 3 : 1;
}

RecurrentExtents recurrent_extents(const Desc& desc) {
  const auto& p = desc.as<RecurrentParams>();
  const Extents& x = desc.inputs[0].dims;
  return {x[p.batch_first ? 1 : 0], x[p.batch_first ? 0 : 1], x[2],
          desc.inputs[2].dims[2],   direction_count(p),       gate_count(p)};
}

bool has_operand(const Desc& desc, size_t index) {
  return index < desc.inputs.size() && desc.inputs[index].present();
}

int64_t gates_of_first_sweep(const RecurrentParams& p) {
  return p.cell == Cell::kGru && !p.linear_first ? 2 : gate_count(p);
}

int64_t gate_panel(const RecurrentParams& p, int64_t blocks, int64_t block, int64_t gate) {
  const int64_t first = gates_of_first_sweep(p);
  if (gate < first) return block * first + gate;
  return blocks * first + block * (gate_count(p) - first) + gate - first;
}

bool is_byte_weight(const Desc& desc, size_t weight) {
  const DType dtype = desc.inputs[weight].dtype;
  return dtype == DType::kI8 || dtype == DType::kU8;
}

int64_t zero_of_weight(DType dtype) { return dtype == DType::kU8 ? 128 : 0; }

size_t scale_operand(size_t weight) { return weight == 1 ? kInputScale : kStateScale; }

float row_scale(const RecurrentExtents& e, std::span<const float> scales, int64_t direction,
                int64_t row) {
  const auto count = static_cast<int64_t>(scales.size());
  const int64_t at = count == 1              ? 0
                     : count == e.directions ? direction
                                             : direction * e.gates * e.hidden + row;
  return scales[static_cast<size_t>(at)];
}

FallbackParams recurrent_call(const RecurrentParams& p) {
  FallbackParams call{kRecurrentCells[static_cast<size_t>(p.cell)], {}};
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  for (const Activation& a : p.activations) {
    const ActivationEntry& entry = activation_entries()[static_cast<size_t>(a.kind)];
    names.push_back(entry.name);
    if (entry.uses_alpha) alphas.push_back(a.alpha);
    if (entry.uses_beta) betas.push_back(a.beta);
  }
  call.attributes.set("activations", std::move(names));
  call.attributes.set("activation_alpha", std::move(alphas));
  call.attributes.set("activation_beta", std::move(betas));
  call.attributes.set("clip", p.clip);
  call.attributes.set("direction",
                      std::string(kRecurrentDirections[static_cast<size_t>(p.direction)]));
  call.attributes.set("layout", int64_t{p.batch_first});
  if (p.cell == Cell::kLstm) call.attributes.set("input_forget", int64_t{p.coupled});
  if (p.cell == Cell::kGru) call.attributes.set("linear_before_reset", int64_t{p.linear_first});
  return call;
}

Status check_recurrent_static(const Desc& desc) {
  const auto& p = desc.as<RecurrentParams>();
  STOKER_TRY(check_params(p));
  const bool lstm = p.cell == Cell::kLstm;
  const size_t most_outputs = lstm ? 3 : 2;
  if (desc.inputs.size() < 3 || desc.inputs.size() > kMaxInputs || desc.outputs.empty() ||
      desc.outputs.size() > most_outputs) {
    return invalid_argument("expected 3 to {} inputs and 1 to {} outputs, found {} and {}",
                            kMaxInputs, most_outputs, desc.inputs.size(), desc.outputs.size());
  }
  for (const size_t i : {size_t{kInitialC}, size_t{kPeepholes}}) {
    if (!lstm && has_operand(desc, i)) return invalid_argument("input {} is an LSTM's alone", i);
  }
  const DType dtype = desc.inputs[0].dtype;
  if (!is_float(dtype)) return invalid_argument("x is {}, expected floats", dtype_name(dtype));
  for (const size_t weight : {size_t{1}, size_t{2}}) STOKER_TRY(check_weight(desc, weight));
  for (size_t i = 0; i < std::min<size_t>(desc.inputs.size(), kInputScale); ++i) {
    if (i == 1 || i == 2 || (i >= 3 && !desc.inputs[i].present())) continue;
    STOKER_TRY(
        check_operand(desc.inputs[i], rank_of(i), i == kLengths ? DType::kI32 : dtype, "input", i));
  }
  for (size_t i = 0; i < desc.outputs.size(); ++i)
    STOKER_TRY(check_operand(desc.outputs[i], i == 0 ? 4 : 3, dtype, "output", i));
  return Status::ok();
}

Status check_recurrent(const Desc& desc) {
  const auto& p = desc.as<RecurrentParams>();
  const RecurrentExtents e = recurrent_extents(desc);
  int64_t rows = 0, twice = 0;
  if (__builtin_mul_overflow(e.gates, e.hidden, &rows) ||
      __builtin_mul_overflow(rows, int64_t{2}, &twice))
    return invalid_argument("{} hidden units overflow", e.hidden);
  const int64_t d = e.directions;
  const Extents state =
      p.batch_first ? Extents{e.batch, d, e.hidden} : Extents{d, e.batch, e.hidden};
  STOKER_TRY(expect_dims(desc, 1, {d, rows, e.input}));
  STOKER_TRY(expect_dims(desc, 2, {d, rows, e.hidden}));
  STOKER_TRY(expect_dims(desc, kBias, {d, twice}));
  STOKER_TRY(expect_dims(desc, kLengths, {e.batch}));
  STOKER_TRY(expect_dims(desc, kInitialH, state));
  STOKER_TRY(expect_dims(desc, kInitialC, state));
  STOKER_TRY(expect_dims(desc, kPeepholes, {d, 3 * e.hidden}));
  for (const size_t weight : {size_t{1}, size_t{2}}) STOKER_TRY(check_scales(desc, weight, e));
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    const Extents y = p.batch_first ? Extents{e.batch, e.steps, d, e.hidden}
                                    : Extents{e.steps, d, e.batch, e.hidden};
    const Extents& expected = i == 0 ? y : state;
    if (desc.outputs[i].dims != expected) {
      return invalid_argument("output {} is {}, expected {}", i, shape_text(desc.outputs[i].dims),
                              shape_text(expected));
    }
  }
  return Status::ok();
}

}  // namespace stoker
