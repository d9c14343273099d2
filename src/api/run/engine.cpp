// The file half of Engine: load, save, describe.
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_file.h"
#include "runtime/loaded_engine.h"

namespace stoker {

Result<Engine> Engine::load(const std::string& path, const KnobList& knobs) {
  STOKER_ASSIGN(const RuntimeOptions options, runtime_options(knobs));
  STOKER_ASSIGN(EngineContents contents, read_engine(path, tactic_lists()));
  STOKER_ASSIGN(auto impl, LoadedEngine::create(std::move(contents), options));
  return Engine(std::move(impl));
}

Status Engine::save(const std::string& path) const {
  auto digest = write_engine(impl_->contents(), path);
  return digest ? Status::ok() : digest.status();
}

Result<std::string> Engine::digest() const { return engine_digest(impl_->contents()); }

std::string Engine::describe(bool json, bool verbose) const {
  return json ? describe_engine_json(impl_->contents())
              : describe_engine(impl_->contents(), verbose);
}

}  // namespace stoker
