// A hand-made engine that uses every field of the plan data model and passes the verifier, and a
// text form of all of it that does not go through the codec.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "engine/engine_file.h"

namespace stoker::test {

EngineContents sample_engine();
TacticLists sample_tactics();

// Every field, one per line; equal texts mean equal contents.
std::string dump_plan(const EngineContents& contents);  // all but the volatile section
std::string dump_volatile(const Volatile& data);

// An empty folder of its own, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stoker::test
