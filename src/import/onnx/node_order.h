// Order of ONNX nodes: every producer before its users. Valid models are in that order already and
// keep it; others are sorted, and a cycle is an error that names its nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "stoker/status.h"

namespace onnx {
class NodeProto;
}

namespace stoker {

// Indices into `nodes`.
Result<std::vector<size_t>> order_nodes(const std::vector<const onnx::NodeProto*>& nodes);

}  // namespace stoker
