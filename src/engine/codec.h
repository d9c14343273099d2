// EngineContents <-> the FlatBuffers of the plan and volatile sections. Encoding is deterministic:
// equal contents give equal bytes. Decoding takes hostile bytes: they are verified first and what
// is built from them is bounded by their length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/engine_file.h"
#include "engine/plan.h"

namespace stoker::engine {

struct WeightPlace {
  int64_t offset = 0;  // in the weights section, 64-byte aligned
  int64_t bytes = 0;
  bool missing = false;  // no bytes in the file; offset and bytes are 0
};

// `places`: of the weights, then of the sources.
Result<std::vector<std::byte>> encode_plan(const EngineContents& contents,
                                           const std::vector<WeightPlace>& places);
Result<std::vector<std::byte>> encode_volatile(const Volatile& data);

// Fills manifest, symbols, programs, weights and sources (without bytes); the places of these two
// come back.
Result<std::vector<WeightPlace>> decode_plan(std::span<const std::byte> section,
                                             const ReadLimits& limits, EngineContents& contents);
Result<Volatile> decode_volatile(std::span<const std::byte> section);

// Strings as weights: for each element its length as u64 and its bytes.
std::vector<std::byte> encode_strings(const std::vector<std::string>& strings);
Result<std::vector<std::string>> decode_strings(std::span<const std::byte> bytes, int64_t count);

// Bounds the terms and coefficients that parsing an expression can create, before it is parsed.
Status check_expression(const std::string& text);

// Names of the enumerations whose numbers are stored, in the order of their numbers.
std::vector<std::string> dtype_names();
std::vector<std::string> layout_names();
std::vector<std::string> packing_names();
std::vector<std::string> family_names();
std::vector<std::string> region_op_names();

}  // namespace stoker::engine
