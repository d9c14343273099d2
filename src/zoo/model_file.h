// A built model as bytes: one ONNX file, or, where protobuf's 2 GiB are too little, a file whose
// large weights stand in a second one beside it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stoker/status.h"
#include "zoo/builder.h"

namespace stoker::zoo {

inline constexpr int64_t kMaxProtobufBytes = INT32_MAX;

// Both consume the builder: its weights get their data, or their place in the second file.

// Refuses a model of more than `max_bytes`.
Result<std::string> model_bytes(ModelBuilder& model, int64_t max_bytes = kMaxProtobufBytes);

// A model of more than `max_bytes` becomes `path` and `path`.data. Both are complete before either
// gets its name.
Status write_model(ModelBuilder& model, const std::string& path,
                   int64_t max_bytes = kMaxProtobufBytes);

}  // namespace stoker::zoo
