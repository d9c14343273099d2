// Reading and writing engine files (docs/formats/engine.md). Reading an untrusted file can fail,
// never execute or leave its buffers: sizes and checksums first, then FlatBuffers verification,
// then the semantic verifier.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "engine/plan.h"

namespace stoker {

inline constexpr uint32_t kEngineFormatVersion = 1;

// Writes to a temporary file beside `path` and renames it. On success returns the digest: 32 hex
// digits over everything but the volatile section.
Result<std::string> write_engine(const EngineContents& contents, const std::string& path);
Result<std::string> engine_digest(const EngineContents& contents);

// What the verifier must know about kernels, given by the caller so that this folder needs none.
struct TacticLists {
  std::function<bool(const std::string& tactic, Family family)> knows;
  // Bytes of the packed form of operand `index` of a desc (weights' shapes are bound in the desc).
  std::function<Result<int64_t>(const Desc& spec, int index, Packing packing)> packed_bytes;
};

struct ReadLimits {
  int64_t max_file_bytes = int64_t{1} << 40;
  int64_t max_steps = 1'000'000;
};

Result<EngineContents> read_engine(const std::string& path, const TacticLists& tactics,
                                   const ReadLimits& limits = {});

// The semantic verifier: every index inside its list, each tensor written once and before its
// readers, the partial order acyclic and sufficient for the data flow, region programs sound,
// kinds, ranks, dtypes and weight sizes in agreement. Shape-dependent facts are proved again at
// bind by check_desc.
Status verify_plan(const EngineContents& contents, const TacticLists& tactics);

// Human-readable and JSON descriptions for `stoker inspect`.
std::string describe_engine(const EngineContents& contents, bool verbose);
std::string describe_engine_json(const EngineContents& contents);

}  // namespace stoker
