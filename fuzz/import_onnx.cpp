// The importer on arbitrary bytes: it gives a graph that the verifier accepts, or a message.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "import/onnx/import.h"
#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stoker::ImportOptions options;
  options.limits.max_nodes = 20'000;
  options.limits.max_constant_bytes = int64_t{64} << 20;
  const auto model = stoker::import_onnx_bytes(
      {reinterpret_cast<const std::byte*>(data), size}, /*base_dir=*/"", options);
  // What is imported must be sound: passes and lowering rely on it.
  if (model && !stoker::verify(*model->graph)) abort();
  return 0;
}
