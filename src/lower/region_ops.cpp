// Each rule below emits the instructions of one op. Arithmetic stays in the op's own dtype, f32 in f32;
// narrow types are loaded and cast, since regions compute in f32, f64, i32, i64 and bool only.
// SPDX-License-Identifier: Apache-2.0
#include "lower/region_ops.h"

#include <cmath>
#include <limits>

#include "base/numeric.h"

namespace stoker {
namespace {

using Builder = RegionBuilder;

DType out_dtype(const Node& node) { return node.outputs[0]->type.dtype; }
DType in_dtype(const Node& node, size_t i) { return node.inputs[i]->type.dtype; }

Status require_compute(DType dtype) {
  return Builder::computes(dtype) ? Status::ok() : unsupported("{} arithmetic", dtype_name(dtype));
}
Status require_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 ? Status::ok()
                                                      : unsupported("{} arithmetic", dtype_name(dtype));
}

template <RegionOp op>
Status unary(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(out_dtype(node)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0], b.emit(op, out_dtype(node), x));
  return Status::ok();
}

template <RegionOp op>
Status unary_float(Builder& b, const Node& node) {
  STOKER_TRY(require_float(out_dtype(node)));
  return unary<op>(b, node);
}

template <RegionOp op>
Status binary(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(in_dtype(node, 0)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int y, b.of(node.inputs[1]));
  b.define(node.outputs[0], b.emit(op, out_dtype(node), x, y));
  return Status::ok();
}

// a > b is b < a.
template <RegionOp op>
Status swapped(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(in_dtype(node, 0)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int y, b.of(node.inputs[1]));
  b.define(node.outputs[0], b.emit(op, DType::kBool, y, x));
  return Status::ok();
}

template <RegionOp op>
Status variadic(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(out_dtype(node)));
  STOKER_ASSIGN(int total, b.of(node.inputs[0]));
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    STOKER_ASSIGN(const int next, b.of(node.inputs[i]));
    total = b.emit(op, out_dtype(node), total, next);
  }
  b.define(node.outputs[0], total);
  return Status::ok();
}

// x^2 and x^0.5, which exporters spell as Pow, are exact as a product and a root; a constant exponent
// of another dtype than the base is converted at build.
Status emit_pow(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const auto exponent = scalar_constant(node.inputs[1]);
  int result = -1;
  if (exponent && *exponent == 2) {
    result = b.emit(RegionOp::kMul, dtype, x, x);
  } else if (exponent && *exponent == 0.5) {
    result = b.emit(RegionOp::kSqrt, dtype, x);
  } else if (exponent) {
    result = b.emit(RegionOp::kPow, dtype, x, b.constant(dtype, *exponent));
  } else {
    if (in_dtype(node, 1) != dtype) return unsupported("a {} exponent", dtype_name(in_dtype(node, 1)));
    STOKER_ASSIGN(const int y, b.of(node.inputs[1]));
    result = b.emit(RegionOp::kPow, dtype, x, y);
  }
  b.define(node.outputs[0], result);
  return Status::ok();
}

Status emit_relu(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(out_dtype(node)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0], b.emit(RegionOp::kMax, out_dtype(node), x, b.constant(out_dtype(node), 0)));
  return Status::ok();
}

Status emit_clip(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_compute(dtype));
  STOKER_ASSIGN(int x, b.of(node.inputs[0]));
  if (node.inputs.size() > 1 && node.inputs[1]) {
    STOKER_ASSIGN(const int low, b.of(node.inputs[1]));
    x = b.emit(RegionOp::kMax, dtype, x, low);
  }
  if (node.inputs.size() > 2 && node.inputs[2]) {
    STOKER_ASSIGN(const int high, b.of(node.inputs[2]));
    x = b.emit(RegionOp::kMin, dtype, x, high);
  }
  b.define(node.outputs[0], x);
  return Status::ok();
}

// Casts that numpy and ONNX leave undefined or saturate (floats to f8) stay with the reference.
Status emit_cast(Builder& b, const Node& node) {
  const DType from = in_dtype(node, 0), to = out_dtype(node);
  const auto plain = [](DType d) {
    return (is_integer(d) && dtype_bits(d) >= 8) || d == DType::kF32 || d == DType::kF64 || d == DType::kBool;
  };
  const bool half = (to == DType::kF16 || to == DType::kBF16) || (from == DType::kF16 || from == DType::kBF16);
  if (half || !plain(from) || !plain(to)) return unsupported("a cast from {} to {}", dtype_name(from), dtype_name(to));
  // A float that is narrowed to a small integer wraps in the reference; a region would saturate.
  if (is_float(from) && !Builder::computes(to)) return unsupported("a cast from {} to {}", dtype_name(from), dtype_name(to));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0], from == to ? x : b.emit(RegionOp::kCast, to, x));
  return Status::ok();
}

Status emit_where(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(out_dtype(node)));
  STOKER_ASSIGN(const int c, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int x, b.of(node.inputs[1]));
  STOKER_ASSIGN(const int y, b.of(node.inputs[2]));
  b.define(node.outputs[0], b.emit(RegionOp::kSelect, out_dtype(node), c, x, y));
  return Status::ok();
}

Status emit_identity(Builder& b, const Node& node) {
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0], x);
  return Status::ok();
}

Status emit_leaky_relu(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const int negative = b.emit(RegionOp::kLess, DType::kBool, x, b.constant(dtype, 0));
  const int alpha = b.constant(dtype, static_cast<float>(node.attributes.get_float("alpha", 0.01)));
  b.define(node.outputs[0], b.emit(RegionOp::kSelect, dtype, negative, b.emit(RegionOp::kMul, dtype, x, alpha), x));
  return Status::ok();
}

Status emit_prelu(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int slope, b.of(node.inputs[1]));
  const int negative = b.emit(RegionOp::kLess, DType::kBool, x, b.constant(dtype, 0));
  b.define(node.outputs[0], b.emit(RegionOp::kSelect, dtype, negative, b.emit(RegionOp::kMul, dtype, x, slope), x));
  return Status::ok();
}

int hard_sigmoid(Builder& b, DType dtype, int x, double alpha, double beta) {
  const int scaled = b.emit(RegionOp::kAdd, dtype, b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, alpha)),
                            b.constant(dtype, beta));
  return b.emit(RegionOp::kMin, dtype, b.emit(RegionOp::kMax, dtype, scaled, b.constant(dtype, 0)), b.constant(dtype, 1));
}

Status emit_hard_sigmoid(Builder& b, const Node& node) {
  STOKER_TRY(require_float(out_dtype(node)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const auto alpha = static_cast<float>(node.attributes.get_float("alpha", 0.2));
  const auto beta = static_cast<float>(node.attributes.get_float("beta", 0.5));
  b.define(node.outputs[0], hard_sigmoid(b, out_dtype(node), x, alpha, beta));
  return Status::ok();
}

Status emit_hard_swish(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0], b.emit(RegionOp::kMul, dtype, x, hard_sigmoid(b, dtype, x, 1.0 / 6.0, 0.5)));
  return Status::ok();
}

Status emit_gelu(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const int half = b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, 0.5));
  int inner = -1;
  if (node.attributes.get_string("approximate", "none") == "tanh") {
    const int cube = b.emit(RegionOp::kMul, dtype, b.emit(RegionOp::kMul, dtype, x, x), x);
    const int sum = b.emit(RegionOp::kAdd, dtype, x, b.emit(RegionOp::kMul, dtype, cube, b.constant(dtype, 0.044715)));
    inner = b.emit(RegionOp::kTanh, dtype, b.emit(RegionOp::kMul, dtype, sum, b.constant(dtype, std::sqrt(2.0 / M_PI))));
  } else {
    inner = b.emit(RegionOp::kErf, dtype, b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, M_SQRT1_2)));
  }
  b.define(node.outputs[0],
           b.emit(RegionOp::kMul, dtype, half, b.emit(RegionOp::kAdd, dtype, inner, b.constant(dtype, 1))));
  return Status::ok();
}

// A per-axis scale or zero point has rank 1 and stands along `axis`.
Result<int> quantization_operand(Builder& b, const Node& node, size_t input) {
  const Value* value = node.inputs[input];
  if (!value->is_constant()) return unsupported("a scale or zero point that is computed");
  if (value->constant->count() == 1) {
    return b.constant(value->type.dtype, load_double(value->type.dtype)(value->constant->data(), 0));
  }
  const auto rank = static_cast<int64_t>(node.inputs[0]->type.dims.size());
  if (value->type.dims.size() != 1 || node.attributes.get_int("block_size", 0) != 0) return unsupported("blocked scales");
  int64_t axis = node.attributes.get_int("axis", 1);
  if (axis < 0) axis += rank;
  return b.load_along(operand_of(value), axis + static_cast<int64_t>(b.space().size()) - rank);
}

Status emit_dequantize(Builder& b, const Node& node) {
  if (out_dtype(node) != DType::kF32) return unsupported("a {} result", dtype_name(out_dtype(node)));
  const DType from = in_dtype(node, 0);
  if (from != DType::kU8 && from != DType::kI8 && from != DType::kI32) return unsupported("{} input", dtype_name(from));
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
  if (in_dtype(node, 0) != DType::kF32) return unsupported("{} input", dtype_name(in_dtype(node, 0)));
  const DType to = out_dtype(node);
  if (to != DType::kU8 && to != DType::kI8) return unsupported("{} output", dtype_name(to));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int scale, quantization_operand(b, node, 1));
  int value = b.emit(RegionOp::kRoundEven, DType::kF32, b.emit(RegionOp::kDiv, DType::kF32, x, scale));
  if (node.inputs.size() > 2 && node.inputs[2]) {
    STOKER_ASSIGN(const int zero, quantization_operand(b, node, 2));
    value = b.emit(RegionOp::kAdd, DType::kF32, value, b.emit(RegionOp::kCast, DType::kF32, zero));
  }
  const int low = b.constant(DType::kF32, static_cast<double>(integer_min(to)));
  const int high = b.constant(DType::kF32, static_cast<double>(integer_max(to)));
  value = b.emit(RegionOp::kMin, DType::kF32, b.emit(RegionOp::kMax, DType::kF32, value, low), high);
  b.define(node.outputs[0], b.emit(RegionOp::kCast, to, value));
  return Status::ok();
}

Status same_space(const Builder& b, const Value* value) {
  const Dims& dims = value->type.dims;
  if (dims.size() != b.space().size()) return unsupported("a row operation on {}", dims_text(dims));
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != b.space()[d]) return unsupported("a row operation on {} in {}", dims_text(dims), dims_text(b.space()));
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

Status emit_layer_normalization(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_TRY(same_space(b, node.inputs[0]));
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]->uses.empty()) return unsupported("the mean or deviation as an output");
  }
  const int64_t rank = node.inputs[0]->type.rank();
  int64_t axis = node.attributes.get_int("axis", -1);
  if (axis < 0) axis += rank;
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_TRY(b.reduce_over(axes));
  const int centred = b.emit(RegionOp::kSub, dtype, x, b.emit(RegionOp::kReduceMean, dtype, x));
  const int variance = b.emit(RegionOp::kReduceMean, dtype, b.emit(RegionOp::kMul, dtype, centred, centred));
  const int epsilon = b.constant(dtype, static_cast<float>(node.attributes.get_float("epsilon", 1e-5)));
  const int deviation = b.emit(RegionOp::kSqrt, dtype, b.emit(RegionOp::kAdd, dtype, variance, epsilon));
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

template <RegionOp op>
Status reduce(Builder& b, const Node& node) {
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
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_TRY(b.reduce_over(axes));
  b.define(node.outputs[0], b.emit(op, dtype, x));
  return Status::ok();
}

constexpr RegionRule kRules[] = {
    {"abs", unary<RegionOp::kAbs>},
    {"add", binary<RegionOp::kAdd>},
    {"and", binary<RegionOp::kAnd>},
    {"cast", emit_cast},
    {"ceil", unary_float<RegionOp::kCeil>},
    {"clip", emit_clip},
    {"cos", unary_float<RegionOp::kCos>},
    {"dequantize_linear", emit_dequantize},
    {"div", binary<RegionOp::kDiv>},
    {"equal", binary<RegionOp::kEqual>},
    {"erf", unary_float<RegionOp::kErf>},
    {"exp", unary_float<RegionOp::kExp>},
    {"floor", unary_float<RegionOp::kFloor>},
    {"gelu", emit_gelu},
    {"greater", swapped<RegionOp::kLess>},
    {"greater_or_equal", swapped<RegionOp::kLessEqual>},
    {"hard_sigmoid", emit_hard_sigmoid},
    {"hard_swish", emit_hard_swish},
    {"identity", emit_identity},
    {"layer_normalization", emit_layer_normalization},
    {"leaky_relu", emit_leaky_relu},
    {"less", binary<RegionOp::kLess>},
    {"less_or_equal", binary<RegionOp::kLessEqual>},
    {"log", unary_float<RegionOp::kLog>},
    {"log_softmax", emit_log_softmax},
    {"max", variadic<RegionOp::kMax>},
    {"min", variadic<RegionOp::kMin>},
    {"mul", binary<RegionOp::kMul>},
    {"neg", unary<RegionOp::kNeg>},
    {"not", unary<RegionOp::kNot>},
    {"or", binary<RegionOp::kOr>},
    {"pow", emit_pow},
    {"prelu", emit_prelu},
    {"quantize_linear", emit_quantize},
    {"reciprocal", unary_float<RegionOp::kReciprocal>},
    {"reduce_max", reduce<RegionOp::kReduceMax>},
    {"reduce_mean", reduce<RegionOp::kReduceMean>},
    {"reduce_min", reduce<RegionOp::kReduceMin>},
    {"reduce_prod", reduce<RegionOp::kReduceProd>},
    {"reduce_sum", reduce<RegionOp::kReduceSum>},
    {"relu", emit_relu},
    {"round", unary_float<RegionOp::kRoundEven>},
    {"sigmoid", unary_float<RegionOp::kSigmoid>},
    {"sign", unary_float<RegionOp::kSign>},
    {"sin", unary_float<RegionOp::kSin>},
    {"softmax", emit_softmax},
    {"sqrt", unary_float<RegionOp::kSqrt>},
    {"sub", binary<RegionOp::kSub>},
    {"tanh", unary_float<RegionOp::kTanh>},
    {"where", emit_where},
    {"xor", binary<RegionOp::kXor>},
};

}  // namespace

const RegionRule* find_region_rule(std::string_view op) {
  for (const RegionRule& rule : kRules) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

}  // namespace stoker
