// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/recurrent/recurrent_plan.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kWantedUnits = 24;
constexpr int64_t kMaxRowTiles = 8;    // of a unit of phase 0: its rows stay in L2
constexpr int64_t kMaxUnitBatch = 28;  // sequences that walk through the steps together
constexpr int64_t kWantedBlockUnits = 8;
constexpr int64_t kMinUnitBlocks = 2;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

void plan_products(RecurrentPlan& plan) {
  const int64_t panels = plan.e.directions * plan.panels;
  const int width = tile_panels(plan.input_kind, plan.rows);
  const int64_t tiles =
      std::max<int64_t>(1, divide_up(plan.rows, tile_rows(plan.input_kind, width)));
  int64_t row_tiles = std::min(tiles, kMaxRowTiles);
  plan.unit_panels = std::max<int64_t>(8, width);
  plan.panel_units = divide_up(panels, plan.unit_panels);
  while (row_tiles > 1 && divide_up(tiles, row_tiles) * plan.panel_units < kWantedUnits)
    row_tiles = divide_up(row_tiles, 2);
  plan.unit_rows =
      std::max<int64_t>(1, divide_up(plan.rows, std::max<int64_t>(1, divide_up(tiles, row_tiles))));
  plan.row_units = divide_up(plan.rows, plan.unit_rows);
}

void plan_steps(RecurrentPlan& plan) {
  plan.unit_batch = plan.by_steps ? std::max<int64_t>(1, plan.e.batch)
                                  : std::max<int64_t>(1, std::min(plan.e.batch, kMaxUnitBatch));
  plan.batch_units = divide_up(plan.e.batch, plan.unit_batch);
  plan.unit_blocks = std::max<int64_t>(1, plan.blocks);
  if (plan.by_steps)
    plan.unit_blocks = std::max(kMinUnitBlocks, divide_up(plan.blocks, kWantedBlockUnits));
  plan.block_units = divide_up(plan.blocks, plan.unit_blocks);
}

void plan_workspace(RecurrentPlan& plan) {
  int64_t at = 0;
  const auto take = [&](int64_t floats) {
    const int64_t from = at;
    at += divide_up(floats, 16) * 16;
    return from;
  };
  const int64_t state = plan.state_floats(), directions = plan.e.directions;
  plan.products = take(plan.rows * plan.row_floats);
  plan.bias = take(plan.row_floats);
  plan.state_bias = take(directions * plan.blocks * 16);
  plan.peepholes = take(directions * plan.blocks * 48);
  plan.h[0] = take(state);
  plan.h[1] = take(state);
  plan.c = take(state);
  if (plan.sweeps() > 1) {
    plan.update = take(state);
    plan.kept = take(state);
  }
  if (plan.input_kind == TileKind::kF32I8) plan.input_scale = take(plan.row_floats);
  if (plan.state_kind == TileKind::kF32I8) plan.state_scale = take(plan.row_floats);
  plan.shared_floats = at;
}

}  // namespace

int RecurrentPlan::phases() const {
  if (e.steps == 0 || state_floats() == 0) return 1;
  return by_steps ? 1 + static_cast<int>(e.steps) * sweeps() : 2;
}

int64_t RecurrentPlan::units(int phase) const {
  if (phase == 0) return row_units * panel_units + 1;
  return e.directions * batch_units * block_units;
}

RecurrentPlan plan_recurrent(const Desc& desc, bool by_steps) {
  RecurrentPlan plan;
  plan.params = desc.as<RecurrentParams>();
  plan.e = recurrent_extents(desc);
  plan.by_steps = by_steps;
  if (is_byte_weight(desc, 1)) plan.input_kind = TileKind::kF32I8;
  if (is_byte_weight(desc, 2)) plan.state_kind = TileKind::kF32I8;
  const RecurrentParams& p = plan.params;
  const size_t each = p.activations.size() / static_cast<size_t>(plan.e.directions);
  for (int64_t d = 0; d < plan.e.directions; ++d) {
    for (size_t i = 0; i < each; ++i) {
      plan.functions[d][i] = GateFunction(p.activations[static_cast<size_t>(d) * each + i], p.clip);
    }
    plan.backwards[d] = d == 1 || p.direction == RecurrentParams::Direction::kReverse;
  }
  plan.first_gates = gates_of_first_sweep(p);
  plan.blocks = divide_up(plan.e.hidden, 16);
  plan.panels = plan.e.gates * plan.blocks;
  plan.rows = plan.e.steps * plan.e.batch;
  plan.row_floats = plan.e.directions * plan.panels * 16;
  plan_products(plan);
  plan_steps(plan);
  plan_workspace(plan);
  return plan;
}

}  // namespace stoker::cpu
