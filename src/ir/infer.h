// Inference of one node without touching the graph: the verifier and the passes compare with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace stoker {

struct InferredTypes {
  std::vector<ValueType> outputs;
  std::vector<std::optional<Dims>> elements;
};

// Values of a sub-graph's inputs that the node outside has as constants.
using KnownConstants = std::unordered_map<const Value*, const Tensor*>;

// For ops without sub-graphs. New symbols come from `symbols`. In a sub-graph, where `symbols` has
// a parent, inputs whose sizes do not go together give outputs of unknown rank instead of an error.
Result<InferredTypes> infer_types(const Node& node, Graph& symbols,
                                  const KnownConstants* known = nullptr);

// Short description of a node for messages: conv 'Conv_0' (model node 'features.0').
std::string node_label(const Node& node);

// Takes over what `inferred` knows beyond the present type: extents that are numbers, ranks,
// elements. True when something changed. Symbols are kept, since other types refer to them.
bool refine(Value* value, const ValueType& inferred, const std::optional<Dims>& elements);

}  // namespace stoker
