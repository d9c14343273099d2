// How a recurrent layer at a bound shape is cut into phases and units.
//
// Phase 0 multiplies all steps of the input by W at once, in blocks of rows and panels; its last
// unit brings biases, peepholes and initial states into the order of the panels. Then come the
// steps: in one phase, a unit being some sequences of a direction from their first step to the last
// (config "whole"); or in a phase for every sweep of every step, a unit being some hidden units of
// a direction (config "steps"), which lets several workers share one sequence at the price of a
// barrier a sweep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/recurrent/gates.h"
#include "kernels/desc/recurrent.h"
#include "kernels/tactic.h"

namespace stoker::cpu {

struct RecurrentPlan {
  RecurrentExtents e;
  RecurrentParams params;
  bool by_steps = false;
  TileKind input_kind = TileKind::kF32, state_kind = TileKind::kF32;  // of the products
  GateFunction functions[2][3];                                       // by direction
  bool backwards[2] = {};
  int64_t first_gates = 0;         // of the first sweep
  int64_t blocks = 0, panels = 0;  // 16 hidden units each; panels of a direction
  int64_t rows = 0;                // of the input: steps * batch
  int64_t row_floats = 0;          // products of such a row

  // Units of phase 0.
  int64_t unit_rows = 1, row_units = 0, unit_panels = 1, panel_units = 0;
  // Units of the steps.
  int64_t unit_batch = 1, batch_units = 0, unit_blocks = 1, block_units = 0;

  // Positions in the shared workspace, in floats.
  int64_t products = 0, bias = 0, state_bias = 0, peepholes = 0, c = 0, update = 0, kept = 0;
  int64_t input_scale = -1, state_scale = -1;  // -1: none
  int64_t h[2] = {};
  int64_t shared_floats = 0;

  int sweeps() const { return first_gates < e.gates ? 2 : 1; }
  int64_t state_floats() const { return e.directions * e.batch * blocks * 16; }
  int phases() const;
  int64_t units(int phase) const;
};

RecurrentPlan plan_recurrent(const Desc& desc, bool by_steps);

}  // namespace stoker::cpu
