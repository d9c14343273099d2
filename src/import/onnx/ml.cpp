// ai.onnx.ml: what came before and stands around networks: encoders, scalers, trees, linear models.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

std::span<const OnnxOp> ml_ops() { return {}; }

}  // namespace stoker
