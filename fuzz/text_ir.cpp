// The text form of graphs: refused, or a sound graph that prints and parses to the same text.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "ir/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = stoker::parse_graph({reinterpret_cast<const char*>(data), size});
  if (!graph || !stoker::verify(**graph)) return 0;
  const std::string text = stoker::print(**graph);
  if (text.find(" hash ") != std::string::npos) return 0;  // large constants print as their hash
  const auto again = stoker::parse_graph(text);
  if (!again || stoker::print(**again) != text) abort();
  return 0;
}
