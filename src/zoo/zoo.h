// Zoo: well-known networks with seeded random weights, written as ONNX files the way exporters
// write them. They serve benchmarks and tests without downloads; the bytes are the same on every
// machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stoker/status.h"

namespace stoker {

namespace zoo {
class ModelBuilder;
}

struct ZooEntry {
  std::string_view name;
  std::string_view summary;
  void (*build)(zoo::ModelBuilder& model);
};

std::span<const ZooEntry> zoo_entries();
const ZooEntry* find_zoo_entry(std::string_view name);

// Serialized bytes of a model; not_found names the models there are, resource_exhausted is the
// answer for one that no single ONNX file can hold.
Result<std::string> zoo_model_bytes(std::string_view name);

// Writes the model under temporary names first, so that no half-written file is left behind. The
// weights of a model over 2 GiB go into a second file, `path`.data.
Status write_zoo_model(std::string_view name, const std::string& path);

}  // namespace stoker
