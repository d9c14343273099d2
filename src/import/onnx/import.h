// Import of ONNX models: a file or bytes in, a typed IR graph out. All opsets are read directly;
// older ones become the newest semantics (see op_table.h). Everything in the file is hostile:
// sizes, counts, nesting and external paths are limited, and every problem of a model is reported
// at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dim.h"
#include "ir/graph.h"
#include "ops/custom_library.h"

namespace stoker {

struct ImportLimits {
  int64_t max_file_bytes = INT32_MAX;  // protobuf's own limit; weights beyond it are external data
  int64_t max_nodes = 2'000'000;       // after inlining functions
  int64_t max_nesting = 32;            // of sub-graphs and function calls
  int64_t max_constant_bytes = int64_t{1} << 40;
};

struct ImportOptions {
  std::map<std::string, Dims> input_shapes;  // replaces what the model declares; symbols allowed
  TensorMap constant_inputs;  // inputs that become constants, such as axes or sizes given as inputs
  OpLibraries op_libraries;   // where operators that ONNX does not have are looked up
  ImportLimits limits;
};

struct ImportedModel {
  std::unique_ptr<Graph> graph;
  std::string producer;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("" is ai.onnx), version
  std::vector<std::string> warnings;  // contradicted declarations, inputs kept at their defaults
};

Result<ImportedModel> import_onnx_file(const std::string& path, const ImportOptions& options = {});

// `base_dir` is the folder that external data may come from; empty: external data is refused.
Result<ImportedModel> import_onnx_bytes(std::span<const std::byte> bytes,
                                        const std::string& base_dir,
                                        const ImportOptions& options = {});

}  // namespace stoker
