// The ONNX operators that the importer knows. One explicit list per group file; op_table.cpp joins
// them. Adding an operator is one entry: most take the default rule (same inputs, same attributes,
// name in snake_case), the others turn what older opsets say into the newest form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stoker/status.h"

namespace stoker {

class NodeImporter;

struct OnnxOp {
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  Status (*import)(NodeImporter&);
};

// The default rule.
Status import_same(NodeImporter& node);
// Einsum, from einsum.cpp.
Status import_einsum(NodeImporter& node);

// Null when the operator is not known.
const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name);

// Every entry of the tables.
std::vector<const OnnxOp*> all_onnx_ops();

// "GlobalAveragePool" -> "global_average_pool", "MatMul" -> "matmul".
std::string ir_op_name(std::string_view onnx_name);

std::span<const OnnxOp> math_ops();
std::span<const OnnxOp> nn_ops();
std::span<const OnnxOp> tensor_ops();
std::span<const OnnxOp> attention_ops();
std::span<const OnnxOp> contrib_attention_ops();
std::span<const OnnxOp> contrib_sequence_ops();
std::span<const OnnxOp> contrib_cached_ops();
std::span<const OnnxOp> reduce_ops();
std::span<const OnnxOp> quant_ops();
std::span<const OnnxOp> control_ops();
std::span<const OnnxOp> contrib_ops();
std::span<const OnnxOp> contrib_norm_ops();
std::span<const OnnxOp> contrib_data_ops();
std::span<const OnnxOp> contrib_quant_ops();
std::span<const OnnxOp> contrib_bits_ops();
std::span<const OnnxOp> contrib_moe_ops();
std::span<const OnnxOp> retired_ops();
std::span<const OnnxOp> training_ops();
std::span<const OnnxOp> values_ops();
std::span<const OnnxOp> vision_ops();
std::span<const OnnxOp> ml_ops();

}  // namespace stoker
