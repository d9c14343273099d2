// Segments: how a graph is cut into programs. A static segment is a set of nodes whose sizes follow
// from symbols that are known before it runs; the nodes between segments are dynamic: their sizes
// depend on data, their ranks are unknown, they hold sub-graphs, strings, sequences or optionals,
// or draw random numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "ir/graph.h"

namespace stoker {

struct Segment {
  bool dynamic = false;
  std::vector<const Node*> nodes;  // in the graph's order
};

// Segments in the order in which they run; each node stands in the earliest one it can, so that
// there are few of them. `known`: symbols that have their values when the graph is entered, with
// those of its inputs. Constants and shape values need no step and are left out. One static segment
// (or none) is a graph that is static as a whole.
std::vector<Segment> cut_into_segments(const Graph& graph, const std::set<std::string>& known);

// A ranked tensor of numbers, of a rank that kernels take.
bool is_static_type(const ValueType& type);

// Whether a node becomes a step: shape arithmetic is evaluated at bind, constants are weights.
bool needs_step(const Node& node);

}  // namespace stoker
