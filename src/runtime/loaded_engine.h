// LoadedEngine: the contents of an engine file with what running it takes: tactics of this machine,
// workers, weights in the packings that the chosen tactics want, and the bindings of recent shapes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <span>

#include "base/worker_pool.h"
#include "engine/engine_file.h"
#include "ops/custom_library.h"
#include "plan/bind.h"
#include "stoker/engine.h"

namespace stoker {

struct RuntimeOptions {
  IsaLevel isa = IsaLevel::kBaseline;
  WorkerPoolOptions pool;
  bool reuse = true;
  bool reference_only = false;
  bool flush_denormals = false;
  int bind_cache = 16;       // bindings kept of a program, least recently used dropped
  int64_t loop_limit = 0;    // iterations of a loop that does not say how often it runs
  OpLibraries op_libraries;  // that steps may call
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

  const PlanProgram& program(int32_t index) const {
    return contents_.programs[static_cast<size_t>(index)];
  }
  bool is_dynamic() const { return main().kind == PlanProgram::Kind::kDynamic; }

  // The binding of a static program for these values of its symbols, made at their first call.
  Result<std::shared_ptr<const BoundProgram>> bind(int32_t program, const SymbolValues& symbols);
  // Of `symbols`, those that the program's sizes and those of the programs it calls are made of.
  SymbolValues needed(int32_t program, const SymbolValues& symbols) const;
  // Those among them that have a range to keep to.
  std::span<const PlanSymbol> ranges(int32_t program) const {
    return facts_[static_cast<size_t>(program)].ranges;
  }
  // Of a dynamic program: the position of the last step that reads each tensor; -1: none does.
  const std::vector<int32_t>& last_uses(int32_t program) const {
    return facts_[static_cast<size_t>(program)].last_uses;
  }
  // An error when weights wait for a refit.
  Status check_complete() const { return incomplete_; }
  // The weight in the wanted packing; other packings than the engine's are made once and kept.
  Result<Tensor> weight(int32_t index, Packing packing, const Desc& spec, int operand);

  // A session for one call of Engine::run, from the pool of idle ones.
  std::unique_ptr<Session> take_session();
  void give_session(std::unique_ptr<Session> session);

 private:
  LoadedEngine(EngineContents contents, const RuntimeOptions& options);
  using Ranges = std::map<std::string, PlanSymbol>;
  void collect_facts(size_t program, const Ranges& ranges);

  struct ProgramFacts {
    std::vector<std::string> symbols;  // of its sizes and those of the programs it calls, sorted
    std::vector<PlanSymbol> ranges;
    std::vector<int32_t> last_uses;
  };
  struct Binding {
    std::vector<int64_t> key;  // values of the symbols
    std::shared_ptr<const BoundProgram> bound;
  };

  EngineContents contents_;
  Status incomplete_;
  RuntimeOptions options_;
  TacticRegistry registry_;
  std::shared_ptr<WorkerPool> pool_;

  std::mutex bind_mutex_;
  std::vector<ProgramFacts> facts_;
  std::vector<std::list<Binding>> bindings_;  // per program
  std::map<std::string, Tensor> repacked_;
  std::mutex session_mutex_;
  std::vector<std::unique_ptr<Session>> idle_sessions_;
};

}  // namespace stoker
