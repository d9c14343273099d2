// Shared by the parts of inference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/infer.h"

namespace stoker {

// Elements of a shape value or of a small integer constant.
std::optional<Dims> elements_of(const Value& value);

// Infers the nodes of a sub-graph whose input types are set. `known`: constants among its inputs.
Status infer_nodes(Graph& outer, Graph& body, const KnownConstants& known);

// Gives captured inputs the types, elements and constants of the operands outside.
Status pass_captures(const Node& node, Graph& body, const KnownConstants* outside,
                     KnownConstants& inside);

// The type that covers both: sizes that differ become new symbols, ranks that differ unknown.
Result<ValueType> merge_types(const ValueType& a, const ValueType& b, Graph& graph);

// Of a loop, scan or sequence_map: its sub-graph for the types of the operands, and its outputs.
Status infer_iteration(Graph& graph, Node* node, const KnownConstants* known);

}  // namespace stoker
