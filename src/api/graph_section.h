// The graph that an engine keeps, and back: what building from an engine starts from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/plan.h"
#include "ir/graph.h"

namespace stoker {

// The graph as the text of a finished engine: constants that its weights hold print as their
// numbers, others that a node reads in line where they are not too large.
Result<std::string> graph_section(const Graph& graph, const EngineContents& contents);

// The graph of an engine with its fused nodes taken apart, ready for the passes; constants are
// copies. Refused when the engine keeps no graph, waits for its weights, or lacks a constant.
Result<std::unique_ptr<Graph>> graph_of(const EngineContents& contents);

}  // namespace stoker
