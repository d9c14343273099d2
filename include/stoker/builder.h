// Model and build: from a network file to an engine. Part of stoker_build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "stoker/engine.h"

namespace stoker {

class LoadedModel;

// A network as read from its file. Immutable; copies share it; thread-safe.
class Model {
 public:
  // .onnx files. Everything wrong with the file is reported at once. Of the knobs only op_libraries
  // matters: the libraries of custom operators that the model may use; building knows them then.
  static Result<Model> load(const std::string& path, const KnobList& knobs = {});
  // The network that an engine was built from, as its passes left it: to build it anew for another
  // device, with other settings or by a newer version. The sizes that the engine was built for stay
  // unless BuildOptions::shapes names others. Refused for engines that were built lean or wait for
  // their weights.
  static Result<Model> of(const Engine& engine);
  explicit Model(std::shared_ptr<const LoadedModel> impl) : impl_(std::move(impl)) {}

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  std::string graph_text() const;  // IR as imported, before any pass

  const LoadedModel& impl() const { return *impl_; }

 private:
  std::shared_ptr<const LoadedModel> impl_;
};

struct BuildProgress {
  std::string phase;  // "passes", "tactics", "check"
  size_t done = 0, total = 0;
};

struct BuildOptions {
  // Shapes of inputs, each "x:1x3x224x224", "x:1x3x224x224..32x3x224x224,opt=8x3x224x224" or with
  // names "x:Nx3x224x224". A dim with a range or a name is dynamic; inputs that are not listed keep
  // the model's shape. Also makes a fixed batch of the model dynamic.
  std::vector<std::string> shapes;
  KnobList knobs;
  std::string device = "cpu";  // "cpu", "cpu:x86-64-v3" (a target that may be absent), "null:0"
  std::string decisions;       // text of a decisions file; empty: tactics are contested
  bool lean = false;           // leave the graph out of the engine
  bool refittable = false;     // keep what Engine::refit needs; the engine grows by some weights
  bool strip_weights = false;  // refittable, and without the weights: run it after a refit
  std::function<void(const BuildProgress&)> progress;
  // Receives IR text for knob dump_after, and the list of passes with their changes.
  std::function<void(const std::string& pass, const std::string& text)> dump;
};

// Compiles, tunes and self-checks. The engine is loaded and ready to run.
Result<Engine> build(const Model& model, const BuildOptions& options = {});

// The engine with the constants of another file of the same network; its digest is that of a build
// from this file with the same decisions. Refused when the networks differ, or when a constant that
// was compiled in has another value.
Result<Engine> refit(const Engine& engine, const Model& model);

// What a build chose, as the text of a decisions file: the same inputs with it give the same
// digest.
std::string decisions(const Engine& engine);

}  // namespace stoker
