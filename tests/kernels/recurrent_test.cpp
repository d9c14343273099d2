// The recurrent tactic against the ops' reference evaluation, on every ISA level, in every config
// and for several cuts of the work: cells, directions, layouts, lengths, initial states, peepholes,
// activations, infinities and NaN.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/desc/recurrent.h"
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

using Cell = RecurrentParams::Cell;
using Direction = RecurrentParams::Direction;

struct Sizes {
  int64_t steps, batch, input, hidden;
};

TensorDesc f32(std::vector<int64_t> dims) { return {DType::kF32, std::move(dims)}; }

// Without the operands that may be left out, but with all outputs.
Desc layer(RecurrentParams p, const Sizes& s) {
  const int64_t d = p.direction == Direction::kBidirectional ? 2 : 1;
  if (p.activations.empty()) {
    const Activation sigmoid{ActivationKind::kSigmoid}, tanh{ActivationKind::kTanh};
    for (int64_t i = 0; i < d; ++i) {
      if (p.cell != Cell::kRnn) p.activations.push_back(sigmoid);
      p.activations.push_back(tanh);
      if (p.cell == Cell::kLstm) p.activations.push_back(tanh);
    }
  }
  const int64_t rows = gate_count(p) * s.hidden;
  const TensorDesc state =
      p.batch_first ? f32({s.batch, d, s.hidden}) : f32({d, s.batch, s.hidden});
  Desc desc{p, {}, {}};
  desc.inputs = {
      p.batch_first ? f32({s.batch, s.steps, s.input}) : f32({s.steps, s.batch, s.input}),
      f32({d, rows, s.input}), f32({d, rows, s.hidden})};
  desc.inputs[1].constant = desc.inputs[2].constant = true;
  desc.outputs = {
      p.batch_first ? f32({s.batch, s.steps, d, s.hidden}) : f32({s.steps, d, s.batch, s.hidden}),
      state};
  if (p.cell == Cell::kLstm) desc.outputs.push_back(state);
  return desc;
}

// All operands there are.
Desc with_everything(Desc desc) {
  const RecurrentExtents e = recurrent_extents(desc);
  const bool lstm = desc.as<RecurrentParams>().cell == Cell::kLstm;
  const TensorDesc state = desc.outputs[1];
  desc.inputs.push_back(f32({e.directions, 2 * e.gates * e.hidden}));
  desc.inputs.push_back({DType::kI32, {e.batch}});
  desc.inputs.push_back(state);
  if (lstm) {
    desc.inputs.push_back(state);
    desc.inputs.push_back(f32({e.directions, 3 * e.hidden}));
  }
  return desc;
}

std::vector<Tensor> random_operands(const Desc& desc) {
  std::mt19937 random(29);
  const RecurrentExtents e = recurrent_extents(desc);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (!desc.inputs[i].present()) {
      tensors.emplace_back();
      continue;
    }
    Tensor tensor = random_tensor(desc.inputs[i].dtype, desc.inputs[i].dims, random);
    // Weights that do not make chaos of the roundings.
    const float scale = 1.5f / std::sqrt(static_cast<float>(std::max(e.input, e.hidden)) + 1);
    if (i == 1 || i == 2) {
      if (tensor.dtype() != DType::kF32) {
        // Every byte, the ends of the range among them.
        auto* bytes = static_cast<uint8_t*>(tensor.data());
        for (int64_t k = 0; k < tensor.count(); ++k) bytes[k] = static_cast<uint8_t>(random());
      } else {
        for (float& value : tensor.values<float>()) value *= scale;
      }
    }
    if (i == kInputScale || i == kStateScale) {
      for (float& value : tensor.values<float>()) value = (1 + std::fabs(value)) * scale / 256;
    }
    if (i == kLengths) {
      for (int32_t& length : tensor.values<int32_t>())
        length = static_cast<int32_t>(random() % static_cast<uint32_t>(e.steps + 1));
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

// The layer with weights of 8 bits: the operands as far as the scales, which are of `count`.
Desc with_bytes(Desc desc, DType w, DType r, int64_t w_scales, int64_t r_scales) {
  desc.inputs.resize(kStateScale + 1);
  desc.inputs[1].dtype = w;
  desc.inputs[2].dtype = r;
  if (w != DType::kF32) desc.inputs[kInputScale] = f32({w_scales});
  if (r != DType::kF32) desc.inputs[kStateScale] = r_scales ? f32({r_scales}) : f32({});
  return desc;
}

void expect_near(const Desc& desc, const RunResult& run, const RunResult& expected) {
  for (size_t k = 0; k < desc.outputs.size(); ++k) {
    const std::vector<double> ours =
        logical(desc.outputs[k], k == 0 ? run.output : run.further[k - 1]);
    const std::vector<double> right =
        logical(desc.outputs[k], k == 0 ? expected.output : expected.further[k - 1]);
    for (size_t i = 0; i < ours.size(); ++i) {
      if (right[i] == ours[i] || (std::isnan(right[i]) && std::isnan(ours[i]))) continue;
      ASSERT_NEAR(ours[i], right[i], 1e-5 * std::max(1.0, std::fabs(right[i])))
          << "output " << k << ", element " << i;
    }
  }
}

void check(const Desc& desc, const std::vector<Tensor>& inputs) {
  SCOPED_TRACE(desc_key(desc));
  const RunResult expected = run_tactic(*reference_of(Family::kRecurrent), desc, inputs, 1);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.message();
  for (const IsaLevel level : levels()) {
    const Tactic* tactic = find_tactic(level, "recurrent_f32");
    ASSERT_TRUE(tactic);
    const auto configs = configs_of(*tactic, desc);
    for (size_t c = 0; c < configs.size(); ++c) {
      SCOPED_TRACE(std::string(isa_name(level)) + " " + configs[c].name);
      const RunResult run = run_tactic(*tactic, desc, inputs, 1, c);
      ASSERT_TRUE(run.status.is_ok()) << run.status.message();
      expect_near(desc, run, expected);
      for (const int pieces : {2, 5}) {
        const RunResult cut = run_tactic(*tactic, desc, inputs, pieces, c);
        ASSERT_TRUE(same_bytes(run.output, cut.output)) << "bits depend on the cut";
        for (size_t k = 0; k < run.further.size(); ++k)
          ASSERT_TRUE(same_bytes(run.further[k], cut.further[k])) << "bits depend on the cut";
      }
    }
  }
}

void check(const Desc& desc) { check(desc, random_operands(desc)); }

std::vector<RecurrentParams> cells() {
  return {{.cell = Cell::kLstm},
          {.cell = Cell::kLstm, .coupled = true},
          {.cell = Cell::kGru},
          {.cell = Cell::kGru, .linear_first = true},
          {.cell = Cell::kRnn}};
}

constexpr Sizes kSizes[] = {{1, 1, 8, 16},  {3, 2, 5, 7},     {2, 1, 40, 128},
                            {4, 3, 17, 33}, {2, 30, 12, 150}, {9, 1, 3, 1}};

TEST(Recurrent, CellsAndDirections) {
  for (RecurrentParams p : cells()) {
    for (const Direction direction :
         {Direction::kForward, Direction::kReverse, Direction::kBidirectional}) {
      p.direction = direction;
      for (const Sizes& sizes : kSizes) {
        check(layer(p, sizes));
        check(with_everything(layer(p, sizes)));
      }
    }
  }
}

TEST(Recurrent, BatchFirstAndClip) {
  for (RecurrentParams p : cells()) {
    p.direction = Direction::kBidirectional;
    p.batch_first = true;
    for (const Sizes& sizes : kSizes) {
      check(with_everything(layer(p, sizes)));
      p.clip = 0.25;
    }
  }
}

// W and R of 8 bits, together and alone, with a scale, one of each direction, one of each row.
TEST(Recurrent, WeightsOfBytes) {
  for (RecurrentParams p : cells()) {
    for (const Direction direction : {Direction::kReverse, Direction::kBidirectional}) {
      p.direction = direction;
      for (const Sizes& sizes : kSizes) {
        const Desc all = with_everything(layer(p, sizes));
        const RecurrentExtents e = recurrent_extents(all);
        const int64_t rows = e.directions * e.gates * e.hidden;
        check(with_bytes(all, DType::kI8, DType::kU8, e.directions, rows));
        check(with_bytes(all, DType::kU8, DType::kI8, rows, 0));
        check(with_bytes(all, DType::kF32, DType::kI8, 0, e.directions));
        check(with_bytes(layer(p, sizes), DType::kI8, DType::kF32, 1, 0));
      }
    }
  }
}

// Enough rows that the panels of W are widened once for several tiles.
TEST(Recurrent, WeightsOfBytesManyRows) {
  check(with_bytes(layer({.cell = Cell::kLstm}, {5, 30, 33, 24}), DType::kI8, DType::kI8, 1, 1));
}

// Each operand that may be left out, alone.
TEST(Recurrent, SingleOperands) {
  for (const RecurrentParams& p : cells()) {
    const Desc all = with_everything(layer(p, {4, 3, 6, 20}));
    for (size_t kept = 3; kept < all.inputs.size(); ++kept) {
      Desc desc = all;
      for (size_t i = 3; i < desc.inputs.size(); ++i) {
        if (i != kept) desc.inputs[i] = {};
      }
      check(desc);
    }
  }
}

TEST(Recurrent, FewerOutputs) {
  for (const RecurrentParams& p : cells()) {
    Desc desc = layer(p, {3, 2, 6, 20});
    while (desc.outputs.size() > 1) {
      desc.outputs.pop_back();
      check(desc);
    }
  }
}

TEST(Recurrent, EveryActivation) {
  for (const RecurrentParams& cell : cells()) {
    for (size_t kind = 0; kind < activation_entries().size(); ++kind) {
      const ActivationEntry& entry = activation_entries()[kind];
      RecurrentParams p = cell;
      const size_t count = p.cell == Cell::kLstm ? 3 : p.cell == Cell::kGru ? 2 : 1;
      p.activations.assign(count, {static_cast<ActivationKind>(kind), entry.uses_alpha ? 0.75 : 0,
                                   entry.uses_beta ? 0.5 : 0});
      check(with_everything(layer(p, {2, 2, 6, 20})));
    }
  }
}

TEST(Recurrent, EmptyExtents) {
  for (const RecurrentParams& p : cells()) {
    for (const Sizes& sizes : {Sizes{0, 2, 4, 5}, Sizes{3, 0, 4, 5}, Sizes{3, 2, 0, 5}})
      check(with_everything(layer(p, sizes)));
  }
}

TEST(Recurrent, InfinitiesAndNaN) {
  for (const RecurrentParams& p : cells()) {
    const Desc desc = with_everything(layer(p, {3, 4, 6, 20}));
    for (const float special : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      for (const size_t input : {size_t{0}, size_t{kBias}, size_t{kInitialH}}) {
        std::vector<Tensor> inputs = random_operands(desc);
        inputs[input].values<float>()[5] = special;
        check(desc, inputs);
      }
    }
  }
}

TEST(Recurrent, LengthsOutOfRangeAreErrors) {
  const Desc desc = with_everything(layer({.cell = Cell::kGru}, {3, 2, 6, 20}));
  for (const int32_t length : {-1, 4, INT32_MAX, INT32_MIN}) {
    std::vector<Tensor> inputs = random_operands(desc);
    inputs[kLengths].values<int32_t>()[1] = length;
    const RunResult run =
        run_tactic(*find_tactic(IsaLevel::kBaseline, "recurrent_f32"), desc, inputs, 1);
    EXPECT_NE(run.status.message().find("sequence 1 has length"), std::string::npos)
        << run.status.message();
  }
}

TEST(Recurrent, WhatItDoesNotTakeIsRefused) {
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "recurrent_f32");
  Desc desc = layer({}, {3, 2, 6, 20});
  desc.inputs[1].packing = Packing::kGatePanel;
  EXPECT_NE(tactic->supports(desc).message().find("R is packed as none"), std::string::npos);
  desc.inputs[2].constant = false;
  EXPECT_NE(tactic->supports(desc).message().find("R is not constant"), std::string::npos);
  for (TensorDesc& operand : desc.inputs) operand.dtype = DType::kF64;
  EXPECT_NE(tactic->supports(desc).message().find("expected f32"), std::string::npos);
}

}  // namespace
}  // namespace stoker::test
