// Quantize and dequantize.
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"
#include "lower/region_ops.h"

namespace stoker {
namespace {

using Builder = RegionBuilder;

// A per-axis scale or zero point has rank 1 and stands along `axis`; one that is computed is a
// scalar.
Result<int> quantization_operand(Builder& b, const Node& node, size_t input) {
  const Value* value = node.inputs[input];
  if (!value->is_constant()) {
    for (const Dim& dim : value->type.dims) {
      if (dim != Dim(1)) return unsupported("computed scales or zero points along an axis");
    }
    return b.load(operand_of(value));
  }
  if (value->constant->count() == 1) {
    return b.constant(value->type.dtype,
                      load_double(value->type.dtype)(value->constant->data(), 0));
  }
  const auto rank = static_cast<int64_t>(node.inputs[0]->type.dims.size());
  if (value->type.dims.size() != 1 || node.attributes.get_int("block_size", 0) != 0)
    return unsupported("blocked scales");
  int64_t axis = node.attributes.get_int("axis", 1);
  if (axis < 0) axis += rank;
  return b.load_along(operand_of(value), axis + static_cast<int64_t>(b.space().size()) - rank);
}

Status emit_dequantize(Builder& b, const Node& node) {
  if (out_dtype(node) != DType::kF32)
    return unsupported("a {} result", dtype_name(out_dtype(node)));
  const DType from = in_dtype(node, 0);
  if (from != DType::kU8 && from != DType::kI8 && from != DType::kI32)
    return unsupported("{} input", dtype_name(from));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  int value = b.emit(RegionOp::kCast, DType::kI32, x);
  if (from == DType::kI32) value = x;
  if (node.inputs.size() > 2 && node.inputs[2]) {
    STOKER_ASSIGN(int zero, quantization_operand(b, node, 2));
    if (from != DType::kI32) zero = b.emit(RegionOp::kCast, DType::kI32, zero);
    value = b.emit(RegionOp::kSub, DType::kI32, value, zero);
  }
  STOKER_ASSIGN(const int scale, quantization_operand(b, node, 1));
  b.define(node.outputs[0],
           b.emit(RegionOp::kMul, DType::kF32, b.emit(RegionOp::kCast, DType::kF32, value), scale));
  return Status::ok();
}

Status emit_quantize(Builder& b, const Node& node) {
  if (in_dtype(node, 0) != DType::kF32)
    return unsupported("{} input", dtype_name(in_dtype(node, 0)));
  const DType to = out_dtype(node);
  if (to != DType::kU8 && to != DType::kI8) return unsupported("{} output", dtype_name(to));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int scale, quantization_operand(b, node, 1));
  int value =
      b.emit(RegionOp::kRoundEven, DType::kF32, b.emit(RegionOp::kDiv, DType::kF32, x, scale));
  if (node.inputs.size() > 2 && node.inputs[2]) {
    STOKER_ASSIGN(const int zero, quantization_operand(b, node, 2));
    value = b.emit(RegionOp::kAdd, DType::kF32, value, b.emit(RegionOp::kCast, DType::kF32, zero));
  }
  const int low = b.constant(DType::kF32, static_cast<double>(integer_min(to)));
  const int high = b.constant(DType::kF32, static_cast<double>(integer_max(to)));
  value =
      b.emit(RegionOp::kMin, DType::kF32, b.emit(RegionOp::kMax, DType::kF32, value, low), high);
  b.define(node.outputs[0], b.emit(RegionOp::kCast, to, value));
  return Status::ok();
}

constexpr RegionRule kRules[] = {
    {"dequantize_linear", emit_dequantize},
    {"quantize_linear", emit_quantize},
};

}  // namespace

std::span<const RegionRule> quantized_rules() { return kRules; }

}  // namespace stoker
