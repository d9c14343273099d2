// Pointwise ops as region instructions.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lower/region_ops.h"

namespace stoker {
namespace {

using Builder = RegionBuilder;

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

// x^2 and x^0.5, which exporters spell as Pow, are exact as a product and a root; a constant
// exponent of another dtype than the base is converted at build.
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
    if (in_dtype(node, 1) != dtype)
      return unsupported("a {} exponent", dtype_name(in_dtype(node, 1)));
    STOKER_ASSIGN(const int y, b.of(node.inputs[1]));
    result = b.emit(RegionOp::kPow, dtype, x, y);
  }
  b.define(node.outputs[0], result);
  return Status::ok();
}

Status emit_relu(Builder& b, const Node& node) {
  STOKER_TRY(require_compute(out_dtype(node)));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  b.define(node.outputs[0],
           b.emit(RegionOp::kMax, out_dtype(node), x, b.constant(out_dtype(node), 0)));
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
    return (is_integer(d) && dtype_bits(d) >= 8) || d == DType::kF32 || d == DType::kF64 ||
           d == DType::kBool;
  };
  const bool half =
      (to == DType::kF16 || to == DType::kBF16) || (from == DType::kF16 || from == DType::kBF16);
  if (half || !plain(from) || !plain(to))
    return unsupported("a cast from {} to {}", dtype_name(from), dtype_name(to));
  // A float that is narrowed to a small integer wraps in the reference; a region would saturate.
  if (is_float(from) && !Builder::computes(to))
    return unsupported("a cast from {} to {}", dtype_name(from), dtype_name(to));
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
  b.define(node.outputs[0],
           b.emit(RegionOp::kSelect, dtype, negative, b.emit(RegionOp::kMul, dtype, x, alpha), x));
  return Status::ok();
}

Status emit_prelu(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  STOKER_ASSIGN(const int slope, b.of(node.inputs[1]));
  const int negative = b.emit(RegionOp::kLess, DType::kBool, x, b.constant(dtype, 0));
  b.define(node.outputs[0],
           b.emit(RegionOp::kSelect, dtype, negative, b.emit(RegionOp::kMul, dtype, x, slope), x));
  return Status::ok();
}

int hard_sigmoid(Builder& b, DType dtype, int x, double alpha, double beta) {
  const int scaled =
      b.emit(RegionOp::kAdd, dtype, b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, alpha)),
             b.constant(dtype, beta));
  return b.emit(RegionOp::kMin, dtype, b.emit(RegionOp::kMax, dtype, scaled, b.constant(dtype, 0)),
                b.constant(dtype, 1));
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
  b.define(node.outputs[0],
           b.emit(RegionOp::kMul, dtype, x, hard_sigmoid(b, dtype, x, 1.0 / 6.0, 0.5)));
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
    const int sum = b.emit(RegionOp::kAdd, dtype, x,
                           b.emit(RegionOp::kMul, dtype, cube, b.constant(dtype, 0.044715)));
    inner = b.emit(RegionOp::kTanh, dtype,
                   b.emit(RegionOp::kMul, dtype, sum, b.constant(dtype, std::sqrt(2.0 / M_PI))));
  } else {
    inner = b.emit(RegionOp::kErf, dtype,
                   b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, M_SQRT1_2)));
  }
  b.define(node.outputs[0], b.emit(RegionOp::kMul, dtype, half,
                                   b.emit(RegionOp::kAdd, dtype, inner, b.constant(dtype, 1))));
  return Status::ok();
}

Status emit_swish(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const double alpha = node.attributes.get_float("alpha", 1.0);
  const int scaled = alpha == 1 ? x : b.emit(RegionOp::kMul, dtype, x, b.constant(dtype, alpha));
  b.define(node.outputs[0],
           b.emit(RegionOp::kMul, dtype, x, b.emit(RegionOp::kSigmoid, dtype, scaled)));
  return Status::ok();
}

// tanh(log(1 + exp(x))) = n / (n + m) with e = exp(-|x|): n = 1 + 2e and m = 2e^2 for x >= 0,
// n = e(e + 2) and m = 2 below. Nothing overflows or cancels.
Status emit_mish(Builder& b, const Node& node) {
  const DType dtype = out_dtype(node);
  STOKER_TRY(require_float(dtype));
  STOKER_ASSIGN(const int x, b.of(node.inputs[0]));
  const int one = b.constant(dtype, 1), two = b.constant(dtype, 2);
  const int e = b.emit(RegionOp::kExp, dtype,
                       b.emit(RegionOp::kNeg, dtype, b.emit(RegionOp::kAbs, dtype, x)));
  const int twice = b.emit(RegionOp::kMul, dtype, e, two);
  const int square = b.emit(RegionOp::kMul, dtype, e, e);
  const int negative = b.emit(RegionOp::kLess, DType::kBool, x, b.constant(dtype, 0));
  const int n =
      b.emit(RegionOp::kSelect, dtype, negative, b.emit(RegionOp::kAdd, dtype, square, twice),
             b.emit(RegionOp::kAdd, dtype, one, twice));
  const int m =
      b.emit(RegionOp::kSelect, dtype, negative, two, b.emit(RegionOp::kMul, dtype, square, two));
  const int ratio = b.emit(RegionOp::kDiv, dtype, n, b.emit(RegionOp::kAdd, dtype, n, m));
  b.define(node.outputs[0], b.emit(RegionOp::kMul, dtype, x, ratio));
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
    {"leaky_relu", emit_leaky_relu},
    {"less", binary<RegionOp::kLess>},
    {"less_or_equal", binary<RegionOp::kLessEqual>},
    {"log", unary_float<RegionOp::kLog>},
    {"max", variadic<RegionOp::kMax>},
    {"min", variadic<RegionOp::kMin>},
    {"mish", emit_mish},
    {"mul", binary<RegionOp::kMul>},
    {"neg", unary<RegionOp::kNeg>},
    {"not", unary<RegionOp::kNot>},
    {"or", binary<RegionOp::kOr>},
    {"pow", emit_pow},
    {"prelu", emit_prelu},
    {"reciprocal", unary_float<RegionOp::kReciprocal>},
    {"relu", emit_relu},
    {"round", unary_float<RegionOp::kRoundEven>},
    {"sigmoid", unary_float<RegionOp::kSigmoid>},
    {"sign", unary_float<RegionOp::kSign>},
    {"sin", unary_float<RegionOp::kSin>},
    {"sqrt", unary_float<RegionOp::kSqrt>},
    {"sub", binary<RegionOp::kSub>},
    {"sum", variadic<RegionOp::kAdd>},
    {"swish", emit_swish},
    {"tanh", unary_float<RegionOp::kTanh>},
    {"where", emit_where},
    {"xor", binary<RegionOp::kXor>},
};

}  // namespace

std::span<const RegionRule> pointwise_rules() { return kRules; }

}  // namespace stoker
