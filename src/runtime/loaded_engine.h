// LoadedEngine: the contents of an engine file with what running it takes: tactics of this machine,
// workers, weights in the packings that the chosen tactics want, and the bindings of recent shapes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <mutex>

#include "base/worker_pool.h"
#include "engine/engine_file.h"
#include "plan/bind.h"
#include "stoker/engine.h"

namespace stoker {

struct RuntimeOptions {
  IsaLevel isa = IsaLevel::kBaseline;
  WorkerPoolOptions pool;
  bool reuse = true;
  bool reference_only = false;
  bool flush_denormals = false;
  int bind_cache = 16;  // bindings kept, least recently used dropped
};

// From the environment and `knobs`, in this order of precedence: knobs, environment, default.
Result<RuntimeOptions> runtime_options(const KnobList& knobs);

// What the reader's verifier asks about kernels.
TacticLists tactic_lists();

// Immutable but for its caches, which are locked: thread-safe.
class LoadedEngine {
 public:
  static Result<std::shared_ptr<LoadedEngine>> create(EngineContents contents,
                                                      const RuntimeOptions& options);

  const EngineContents& contents() const { return contents_; }
  const PlanProgram& main() const { return contents_.programs.front(); }
  const RuntimeOptions& options() const { return options_; }
  const TacticRegistry& registry() const { return registry_; }
  WorkerPool& pool() const { return *pool_; }

  // The binding for these input shapes (one per port), made at the first call of a shape.
  Result<std::shared_ptr<const BoundProgram>> bind(const std::vector<Shape>& shapes);
  // The weight in the wanted packing; other packings than the engine's are made once and kept.
  Result<Tensor> weight(int32_t index, Packing packing, const Desc& spec, int operand);

  // A session for one call of Engine::run, from the pool of idle ones.
  std::unique_ptr<Session> take_session();
  void give_session(std::unique_ptr<Session> session);

 private:
  LoadedEngine(EngineContents contents, const RuntimeOptions& options)
      : contents_(std::move(contents)), options_(options), registry_(options.isa) {}

  EngineContents contents_;
  RuntimeOptions options_;
  TacticRegistry registry_;
  std::shared_ptr<WorkerPool> pool_;

  std::mutex bind_mutex_;
  std::list<std::pair<std::vector<Shape>, std::shared_ptr<const BoundProgram>>> bindings_;
  std::map<std::string, Tensor> repacked_;
  std::mutex session_mutex_;
  std::vector<std::unique_ptr<Session>> idle_sessions_;
};

}  // namespace stoker
