// Ops that reduce over rows: softmax, norms, reductions.
// SPDX-License-Identifier: Apache-2.0
#include "lower/region_ops.h"

namespace stoker {
namespace {

using Builder = RegionBuilder;

Status same_space(const Builder& b, const Value* value) {
  const Dims& dims = value->type.dims;
  if (dims.size() != b.space().size()) return unsupported("a row operation on {}", dims_text(dims));
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != b.space()[d])
      return unsupported("a row operation on {} in {}", dims_text(dims), dims_text(b.space()));
  }
  return Status::ok();
}

Result<int> centred_row(Builder& b, const Node& node, bool log) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_TRY(same_space(b, node.inputs[0]));
  const int64_t rank = node.inputs[0]->type.rank();
  int64_t axis = node.attributes.get_int("axis", -1);
  if (axis < 0) axis += rank;
  std::vector<int64_t> axes{axis};
  if (node.attributes.get_int("legacy_flatten", 0)) {
    for (int64_t d = axis + 1; d < rank; ++d) axes.push_back(d);
  }
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_TRY(b.reduce_over(axes));
  const int shifted = b.emit(RegionOp::kSub, dtype, x, b.emit(RegionOp::kReduceMax, dtype, x));
  const int power = b.emit(RegionOp::kExp, dtype, shifted);
  const int sum = b.emit(RegionOp::kReduceSum, dtype, power);
  return log ? b.emit(RegionOp::kSub, dtype, shifted, b.emit(RegionOp::kLog, dtype, sum))
             : b.emit(RegionOp::kDiv, dtype, power, sum);
}

Status emit_softmax(Builder& b, const Node& node) {
  STOKER_ASSIGN(const int result, centred_row(b, node, false));
  b.define(node.outputs[0], result);
  return Status::ok();
}
Status emit_log_softmax(Builder& b, const Node& node) {
  STOKER_ASSIGN(const int result, centred_row(b, node, true));
  b.define(node.outputs[0], result);
  return Status::ok();
}

// The axes that a normalisation is over: from its attribute on.
std::vector<int64_t> axes_from(const Node& node) {
  const int64_t rank = node.inputs[0]->type.rank();
  int64_t axis = node.attributes.get_int("axis", -1);
  if (axis < 0) axis += rank;
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  return axes;
}

Status emit_layer_normalization(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_TRY(same_space(b, node.inputs[0]));
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]->uses.empty()) return unsupported("the mean or deviation as an output");
  }
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_TRY(b.reduce_over(axes_from(node)));
  const int centred = b.emit(RegionOp::kSub, dtype, x, b.emit(RegionOp::kReduceMean, dtype, x));
  const int variance =
      b.emit(RegionOp::kReduceMean, dtype, b.emit(RegionOp::kMul, dtype, centred, centred));
  const int epsilon =
      b.constant(dtype, static_cast<float>(node.attributes.get_float("epsilon", 1e-5)));
  const int deviation =
      b.emit(RegionOp::kSqrt, dtype, b.emit(RegionOp::kAdd, dtype, variance, epsilon));
  int result = b.emit(RegionOp::kDiv, dtype, centred, deviation);
  STOKER_ASSIGN(const int scale, b.of(node.inputs[1]));
  result = b.emit(RegionOp::kMul, dtype, result, scale);
  if (node.inputs.size() > 2 && node.inputs[2]) {
    STOKER_ASSIGN(const int bias, b.of(node.inputs[2]));
    result = b.emit(RegionOp::kAdd, dtype, result, bias);
  }
  b.define(node.outputs[0], result);
  return Status::ok();
}

Status emit_rms_normalization(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  if (in_dtype(node, 0) != dtype)
    return unsupported("{} scaled in {}", dtype_name(in_dtype(node, 0)), dtype_name(dtype));
  STOKER_TRY(same_space(b, node.inputs[0]));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_TRY(b.reduce_over(axes_from(node)));
  const int square = b.emit(RegionOp::kReduceMean, dtype, b.emit(RegionOp::kMul, dtype, x, x));
  const int epsilon =
      b.constant(dtype, static_cast<float>(node.attributes.get_float("epsilon", 1e-5)));
  const int root = b.emit(RegionOp::kSqrt, dtype, b.emit(RegionOp::kAdd, dtype, square, epsilon));
  STOKER_ASSIGN(const int scale, b.of(node.inputs[1]));
  b.define(node.outputs[0],
           b.emit(RegionOp::kMul, dtype, b.emit(RegionOp::kDiv, dtype, x, root), scale));
  return Status::ok();
}

// What a reduction does to each element before, and to the result.
enum class Around : uint8_t { kNothing, kSquare, kAbs, kSquareAndRoot };

template <RegionOp op, Around around = Around::kNothing>
Status emit_reduce(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_compute(dtype));
  if (dtype == DType::kBool) return unsupported("bool reductions");
  STOKER_TRY(same_space(b, node.inputs[0]));
  std::vector<int64_t> axes;
  if (node.inputs.size() > 1 && node.inputs[1]) {
    const auto given = constant_ints(node.inputs[1]);
    if (!given) return unsupported("computed axes");
    axes = *given;
  }
  if (axes.empty()) {
    if (node.attributes.get_int("noop_with_empty_axes", 0)) return unsupported("no axes");
    for (int64_t d = 0; d < node.inputs[0]->type.rank(); ++d) axes.push_back(d);
  }
  if (op == RegionOp::kReduceMean && !is_float(dtype)) return unsupported("integer means");
  constexpr bool squares = around == Around::kSquare || around == Around::kSquareAndRoot;
  if (around == Around::kSquareAndRoot && !is_float(dtype)) return unsupported("integer roots");
  STOKER_ASSIGN(int x, b.of(node.inputs[0]));
  if (squares) x = b.emit(RegionOp::kMul, dtype, x, x);
  if (around == Around::kAbs) x = b.emit(RegionOp::kAbs, dtype, x);
  if (!axes.empty()) {  // a scalar is its own sum, mean, product and extreme
    STOKER_TRY(b.reduce_over(axes));
    x = b.emit(op, dtype, x);
  }
  if (around == Around::kSquareAndRoot) x = b.emit(RegionOp::kSqrt, dtype, x);
  b.define(node.outputs[0], x);
  return Status::ok();
}

constexpr RegionRule kRules[] = {
    {"layer_normalization", emit_layer_normalization},
    {"log_softmax", emit_log_softmax},
    {"reduce_l1", emit_reduce<RegionOp::kReduceSum, Around::kAbs>},
    {"reduce_l2", emit_reduce<RegionOp::kReduceSum, Around::kSquareAndRoot>},
    {"reduce_max", emit_reduce<RegionOp::kReduceMax>},
    {"reduce_mean", emit_reduce<RegionOp::kReduceMean>},
    {"reduce_min", emit_reduce<RegionOp::kReduceMin>},
    {"reduce_prod", emit_reduce<RegionOp::kReduceProd>},
    {"reduce_sum", emit_reduce<RegionOp::kReduceSum>},
    {"reduce_sum_square", emit_reduce<RegionOp::kReduceSum, Around::kSquare>},
    {"rms_normalization", emit_rms_normalization},
    {"softmax", emit_softmax},
};

}  // namespace

std::span<const RegionRule> row_rules() { return kRules; }

}  // namespace stoker
