// The small languages of the command line and of settings files: routes of knobs, decisions,
// shapes. The first byte says which.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "api/data.h"
#include "api/shape_spec.h"
#include "base/knobs.h"
#include "tune/decisions.h"

namespace {

const stoker::Graph& graph() {
  static const auto made = stoker::parse_graph(
      "graph @g(%x: f32[N,3]) -> (%y: f32[N,3]) {\n  %y = relu(%x) : f32[N,3]\n}\n");
  if (!made) abort();
  return **made;
}

void read_route(const std::string& text) {
  stoker::KnobSet knobs;
  if (!knobs.parse_route(text)) return;
  // What was accepted is written back as a route that means the same.
  stoker::KnobSet again;
  if (!again.parse_route(knobs.effective_route()) ||
      again.effective_route() != knobs.effective_route())
    abort();
}

void read_decisions(const std::string& text) {
  const auto decisions = stoker::parse_decisions(text);
  if (!decisions) return;
  const std::string written = stoker::decisions_text(*decisions);
  const auto again = stoker::parse_decisions(written);
  if (!again || stoker::decisions_text(*again) != written) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0: read_route(text); break;
    case 1: read_decisions(text); break;
    case 2: (void)stoker::parse_shape_spec(text, graph()); break;
    default: (void)stoker::parse_fixed_shape(text); break;
  }
  return 0;
}
