// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph.h"

namespace stoker {

// Infers every node again, in order. Passes replace values by others whose types know more or name
// other symbols; afterwards each symbol that a type mentions is one that an input or an earlier
// node determines. Runs at the end of the pipeline, always: lowering relies on it.
Status refresh_types(Graph& graph);

// The same without the promise about symbols, for passes that let types know much more (a branch in
// place of its conditional); also for sub-graphs, whose symbols the graphs around them determine.
// Nothing changes where a node is found impossible: in a branch that is never taken it may be.
void infer_again(Graph& graph);

}  // namespace stoker
