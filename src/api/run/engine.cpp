// The file half of Engine: load, save, describe.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/status.h"
#include "engine/engine_file.h"
#include "runtime/loaded_engine.h"
#include "runtime/op_libraries.h"
#include "runtime/refit.h"

namespace stoker {

Result<Engine> Engine::load(const std::string& path, const KnobList& knobs) {
  STOKER_ASSIGN(const RuntimeOptions options, runtime_options(knobs));
  STOKER_ASSIGN(EngineContents contents, read_engine(path, tactic_lists()));
  if (contents.manifest.op_libraries != used_op_libraries(contents))
    return corrupt_file("{}: the steps call other operator libraries than the manifest lists",
                        path);
  auto impl = LoadedEngine::create(std::move(contents), options);
  if (!impl) return impl.status().at(path);
  return Engine(std::move(*impl));
}

Status Engine::save(const std::string& path) const {
  auto digest = write_engine(impl_->contents(), path);
  return digest ? Status::ok() : digest.status();
}

std::vector<WeightInfo> Engine::weights() const {
  std::vector<WeightInfo> infos;
  std::set<std::string> missing;
  for (const PlanWeight& weight : impl_->contents().weights) {
    if (!weight.bytes.defined())
      missing.insert(weight.recipe.sources.begin(), weight.recipe.sources.end());
  }
  for (const PlanSource& source : impl_->contents().sources) {
    const bool waits = source.frozen.empty() && missing.count(source.name) > 0;
    infos.push_back({source.name, source.dtype, source.shape, source.frozen, waits});
  }
  return infos;
}

Result<Engine> Engine::refit(const TensorMap& constants) const {
  STOKER_ASSIGN(EngineContents contents, stoker::refit(impl_->contents(), constants));
  STOKER_ASSIGN(auto impl, LoadedEngine::create(std::move(contents), impl_->options()));
  return Engine(std::move(impl));
}

Result<std::string> Engine::digest() const { return engine_digest(impl_->contents()); }

std::string Engine::describe(bool json, bool verbose) const {
  return json ? describe_engine_json(impl_->contents())
              : describe_engine(impl_->contents(), verbose);
}

}  // namespace stoker
