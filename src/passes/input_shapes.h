// Changing the shapes of a graph's inputs after import: another size, or a fixed size made dynamic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph.h"

namespace stoker {

// New dims by input name; ranks must agree. Sizes named by a symbol of the model that becomes a
// number are replaced everywhere. Where a fixed batch becomes dynamic, reshapes to a constant
// shape that begins with that batch follow their input ([1,256] for a batch of 1 becomes [N,256]).
// All types are inferred anew; an error names the first node that does not work at the new shapes.
Status set_input_shapes(Graph& graph, const std::map<std::string, Dims>& shapes);

}  // namespace stoker
