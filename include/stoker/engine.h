// Engine and Session: loading and running compiled networks. Part of stoker_run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stoker/value.h"

namespace stoker {

class LoadedEngine;
class SessionState;

struct TensorInfo {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<std::string> dims;  // "3", "N", "4*N+1"
  bool ranked = true;             // false: any number of dims
  std::string kind = "tensor";    // or "sequence", "optional", "map"
};

// Names and values of knobs (`stoker knobs` lists them), such as {"threads", "2"}, {"isa", "v3"}.
using KnobList = std::vector<std::pair<std::string, std::string>>;

struct StepProfile {
  int program = 0, index = 0;  // of the step in the engine
  std::string step, family, tactic, config;
  std::vector<std::string> origins;  // nodes of the model file
  double time_us = 0;                // of the slowest worker, mean over the runs
  double flops = 0, bytes = 0;       // per run
  std::string substituted;           // why the plan's own tactic did not run; empty: it did
};

// What one worker did for one step of the last profiled run.
struct TraceEvent {
  std::string step;
  int program = 0, index = 0;  // of the step in the engine
  int worker = 0, phase = 0;
  double start_us = 0, duration_us = 0;  // since the run's first event
};

// A constant of the model file, as a refittable engine knows it.
struct WeightInfo {
  std::string name;  // in the model file
  DType dtype = DType::kInvalid;
  Shape shape;
  std::string frozen;    // why refit takes no other value; empty: it does
  bool missing = false;  // the engine was built without weights and waits for it
};

struct MemoryUse {
  int64_t weights_bytes = 0;         // packed weights
  int64_t source_weights_bytes = 0;  // constants of the source file
  int64_t refit_bytes = 0;           // what a refittable engine keeps beside its weights
  int64_t arena_bytes = 0;           // activations and shared workspaces of the bound shape
  int64_t activation_bytes = 0;      // what the arena would be without workspaces
  int64_t liveness_bytes = 0;        // the most activation bytes alive at once
  int64_t workspace_bytes = 0;       // scratch of all workers
  int64_t caller_bytes = 0;          // inputs and outputs; 0 where sizes depend on data
};

// A compiled network: immutable and cheap to copy (copies share it). All methods are thread-safe.
class Engine {
 public:
  // Reads and verifies an engine file; an untrusted one can be refused but never executes anything.
  // An engine with custom operators is loaded only if knob op_libraries names the very libraries
  // that it was built with.
  static Result<Engine> load(const std::string& path, const KnobList& knobs = {});
  explicit Engine(std::shared_ptr<LoadedEngine> impl) : impl_(std::move(impl)) {}

  // Writes the engine file through a temporary file and a rename.
  Status save(const std::string& path) const;
  // 32 hex digits over everything but measurements and machine facts.
  Result<std::string> digest() const;
  // Readable (or JSON) description: inputs, outputs, steps, tactics, weights, certificate.
  std::string describe(bool json, bool verbose) const;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;

  // The constants of the model; empty unless the engine was built with BuildOptions::refittable.
  std::vector<WeightInfo> weights() const;
  // A new engine with other values for the named constants, everything that the build made of them
  // (folded, packed) made again; this engine and its sessions stay as they are, and what does not
  // change is shared. Constants that the build folded together (a convolution's weight and the
  // batch norm behind it) may be given together or one by one. Unknown names, other dtypes or
  // shapes, and values that were compiled in are refused, all at once.
  Result<Engine> refit(const TensorMap& constants) const;

  // Runs through a session of an internal pool.
  Result<TensorMap> run(const TensorMap& inputs) const;
  Result<ValueMap> run_values(const ValueMap& inputs) const;
  // Memory need of a shape, exactly, before running it. Refused where it depends on data.
  Result<MemoryUse> memory(const std::vector<Shape>& input_shapes) const;

  LoadedEngine& impl() const { return *impl_; }
  const std::shared_ptr<LoadedEngine>& shared_impl() const { return impl_; }

 private:
  std::shared_ptr<LoadedEngine> impl_;
};

// Activations and bindings of one concurrent caller. Not thread-safe; make one per thread.
class Session {
 public:
  explicit Session(const Engine& engine);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Inputs by name; outputs are newly allocated tensors.
  Result<TensorMap> run(const TensorMap& inputs);
  // The form for networks whose inputs or outputs are sequences, optionals or maps.
  Result<ValueMap> run_values(const ValueMap& inputs);

  // The form without any allocation after the first run of a shape: the tensors are kept by the
  // session until replaced. Outputs are allocated by bind and rewritten by each run_bound. Engines
  // with sizes that depend on data, or control flow, allocate in every run, outputs too.
  Status bind(const TensorMap& inputs);
  Status bind_values(const ValueMap& inputs);
  Status run_bound();
  const TensorMap& bound_outputs() const;  // those that are tensors

  // Per-step times of the runs since enabling.
  void enable_profile(bool on);
  std::vector<StepProfile> profile() const;
  std::vector<TraceEvent> trace() const;  // by start; empty before a profiled run
  MemoryUse memory() const;               // of the bound shape

 private:
  std::unique_ptr<SessionState> state_;
};

}  // namespace stoker
