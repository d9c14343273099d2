// BoundProgram: a plan program at one shape: every extent a number, every buffer placed, every step
// with its tactic, config and work units, and the schedule of stages. Immutable after bind;
// sessions share it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engine/plan.h"
#include "kernels/tactic.h"
#include "plan/place.h"

namespace stoker {

struct BoundTensor {
  enum class Storage : uint8_t { kArena, kInput, kOutput, kWeight, kShapeValue, kState };
  Storage storage = Storage::kArena;
  TensorDesc desc;
  int64_t bytes = 0;
  int64_t offset = 0;  // kArena: in the arena; kShapeValue: in the shape pool
  int32_t index =
      0;  // kInput/kOutput: port; kWeight: index into BoundProgram::weights; kState: state
};

struct BoundStep {
  const PlanStep* step = nullptr;
  Desc desc;
  const Tactic* tactic = nullptr;
  Config config;
  std::string substituted;  // why the plan's own tactic does not run this shape; empty: it does
  std::shared_ptr<const void> prepared;
  Workspace workspace;
  int64_t shared_offset = 0;             // of the shared workspace, in the arena
  std::vector<int64_t> phase_units;      // units of each phase
  std::vector<int32_t> inputs, outputs;  // into BoundProgram::tensors; -1: absent
};

// A step's phase in a stage; worker w computes units [begin[w], begin[w + 1]).
struct StageItem {
  int32_t step = 0;
  int32_t phase = 0;
  std::vector<int64_t> begin;
};
// Items of a stage are independent of each other.
struct Stage {
  std::vector<StageItem> items;
  bool barrier = true;  // the workers wait for each other before the next stage
};

struct BoundProgram {
  const PlanProgram* program = nullptr;
  SymbolValues symbols;
  int workers = 1;
  bool alone = false;  // worker 0 does all of it
  std::vector<BoundTensor> tensors;
  std::vector<BoundStep> steps;
  std::vector<Stage> stages;
  std::vector<Tensor> weights;  // in the packing that the chosen tactic wants
  Tensor shape_pool;            // contents of the shape values
  int64_t arena_bytes = 0;      // activations and shared workspaces
  std::vector<BufferLifetime> activations;
  int64_t liveness_bytes = 0;  // lower bound: the most bytes alive at one stage
  int64_t worker_bytes = 0;    // per-worker workspace, for each worker
};

}  // namespace stoker
