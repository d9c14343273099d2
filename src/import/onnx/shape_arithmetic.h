// Size computations that exporters write in floating point (Shape -> Cast -> Mul 0.5 -> Floor ->
// Cast), read as what they are: integer arithmetic, which shape values follow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/node_importer.h"

namespace stoker {

// The integer value that casting `value`, a floating-point one, to i64 gives, when it is computed
// from sizes by steps that are exact for every size below 2^24; otherwise null.
Result<Value*> sizes_in_float(NodeImporter& node, const Value* value);

}  // namespace stoker
