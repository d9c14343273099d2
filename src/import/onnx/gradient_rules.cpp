// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/gradient_rules.h"

#include <algorithm>
#include <numbers>
#include <numeric>

#include "base/numeric.h"
#include "base/status.h"

namespace stoker {

namespace {

using Rule = Result<Value*> (*)(GradientBuilder& b, const Differentiated& d, size_t i);

// ---- Arithmetic; operands broadcast.

Result<Value*> rule_add(GradientBuilder& b, const Differentiated& d, size_t i) {
  return b.sum_to(d.gradient, d.inputs[i]);
}

Result<Value*> rule_mean(GradientBuilder& b, const Differentiated& d, size_t i) {
  STOKER_ASSIGN(Value* const count, b.number(d.gradient, static_cast<double>(d.inputs.size())));
  STOKER_ASSIGN(Value* const part, b.apply("div", {d.gradient, count}));
  return b.sum_to(part, d.inputs[i]);
}

Result<Value*> rule_sub(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (i == 0) return rule_add(b, d, i);
  STOKER_ASSIGN(Value* const negative, b.apply("neg", {d.gradient}));
  return b.sum_to(negative, d.inputs[i]);
}

Result<Value*> rule_mul(GradientBuilder& b, const Differentiated& d, size_t i) {
  STOKER_ASSIGN(Value* const product, b.apply("mul", {d.gradient, d.inputs[1 - i]}));
  return b.sum_to(product, d.inputs[i]);
}

Result<Value*> rule_div(GradientBuilder& b, const Differentiated& d, size_t i) {
  STOKER_ASSIGN(Value* const quotient, b.apply("div", {d.gradient, d.inputs[1]}));
  if (i == 0) return b.sum_to(quotient, d.inputs[0]);
  STOKER_ASSIGN(Value* const product, b.apply("mul", {quotient, d.outputs[0]}));
  STOKER_ASSIGN(Value* const negative, b.apply("neg", {product}));
  return b.sum_to(negative, d.inputs[1]);
}

// x^p: p x^(p-1), and x^p log x, which is taken as 0 where x is not above 0.
Result<Value*> rule_pow(GradientBuilder& b, const Differentiated& d, size_t i) {
  Value *x = d.inputs[0], *power = d.inputs[1];
  if (power->type.dtype != x->type.dtype) {
    if (i == 1) return unsupported("pow: no gradient with respect to a power of another dtype");
    STOKER_ASSIGN(power, b.apply("cast", {power}, {{"to", x->type.dtype}}));
  }
  STOKER_ASSIGN(Value* const zero, b.number(x, 0));
  STOKER_ASSIGN(Value* const one, b.number(x, 1));
  Value *factor = nullptr, *valid = nullptr;
  if (i == 0) {
    STOKER_ASSIGN(Value* const less, b.apply("sub", {power, one}));
    STOKER_ASSIGN(Value* const lower, b.apply("pow", {x, less}));
    STOKER_ASSIGN(factor, b.apply("mul", {power, lower}));
    STOKER_ASSIGN(Value* const constant, b.apply("equal", {power, zero}));
    STOKER_ASSIGN(valid, b.apply("not", {constant}));
  } else {
    STOKER_ASSIGN(Value* const logarithm, b.apply("log", {x}));
    STOKER_ASSIGN(factor, b.apply("mul", {d.outputs[0], logarithm}));
    STOKER_ASSIGN(valid, b.apply("greater", {x, zero}));
  }
  STOKER_ASSIGN(Value* const safe, b.apply("where", {valid, factor, zero}));
  STOKER_ASSIGN(Value* const product, b.apply("mul", {d.gradient, safe}));
  return b.sum_to(product, d.inputs[i]);
}

// ---- Functions of one operand: gradient times factor.

template <const char* const* kOp>
Result<Value*> chain(GradientBuilder& b, const Differentiated& d, Result<Value*> factor) {
  if (!factor.is_ok()) return factor;
  return b.apply(*kOp, {d.gradient, *factor});
}
constexpr const char* kMul = "mul";
constexpr const char* kDiv = "div";

Result<Value*> rule_neg(GradientBuilder& b, const Differentiated& d, size_t) {
  return b.apply("neg", {d.gradient});
}

Result<Value*> rule_exp(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kMul>(b, d, d.outputs[0]);
}

Result<Value*> rule_log(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kDiv>(b, d, d.inputs[0]);
}

Result<Value*> rule_sqrt(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kDiv>(b, d, b.apply("add", {d.outputs[0], d.outputs[0]}));
}

Result<Value*> rule_reciprocal(GradientBuilder& b, const Differentiated& d, size_t) {
  STOKER_ASSIGN(Value* const square, b.apply("mul", {d.outputs[0], d.outputs[0]}));
  return chain<&kMul>(b, d, b.apply("neg", {square}));
}

// y (1 - y).
Result<Value*> rule_sigmoid(GradientBuilder& b, const Differentiated& d, size_t) {
  STOKER_ASSIGN(Value* const one, b.number(d.gradient, 1));
  STOKER_ASSIGN(Value* const rest, b.apply("sub", {one, d.outputs[0]}));
  return chain<&kMul>(b, d, b.apply("mul", {d.outputs[0], rest}));
}

// 1 - y^2.
Result<Value*> rule_tanh(GradientBuilder& b, const Differentiated& d, size_t) {
  STOKER_ASSIGN(Value* const one, b.number(d.gradient, 1));
  STOKER_ASSIGN(Value* const square, b.apply("mul", {d.outputs[0], d.outputs[0]}));
  return chain<&kMul>(b, d, b.apply("sub", {one, square}));
}

Result<Value*> rule_sin(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kMul>(b, d, b.apply("cos", {d.inputs[0]}));
}

Result<Value*> rule_cos(GradientBuilder& b, const Differentiated& d, size_t) {
  STOKER_ASSIGN(Value* const sine, b.apply("sin", {d.inputs[0]}));
  return chain<&kMul>(b, d, b.apply("neg", {sine}));
}

Result<Value*> rule_abs(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kMul>(b, d, b.apply("sign", {d.inputs[0]}));
}

Result<Value*> rule_softplus(GradientBuilder& b, const Differentiated& d, size_t) {
  return chain<&kMul>(b, d, b.apply("sigmoid", {d.inputs[0]}));
}

// 2 / sqrt(pi) exp(-x^2).
Result<Value*> rule_erf(GradientBuilder& b, const Differentiated& d, size_t) {
  STOKER_ASSIGN(Value* const square, b.apply("mul", {d.inputs[0], d.inputs[0]}));
  STOKER_ASSIGN(Value* const negative, b.apply("neg", {square}));
  STOKER_ASSIGN(Value* const bell, b.apply("exp", {negative}));
  STOKER_ASSIGN(Value* const scale, b.number(d.gradient, 2 * std::numbers::inv_sqrtpi));
  return chain<&kMul>(b, d, b.apply("mul", {bell, scale}));
}

// At 0 the derivative from below.
Result<Value*> rule_relu(GradientBuilder& b, const Differentiated& d, size_t) {
  const bool leaky = d.node.is("leaky_relu");
  STOKER_ASSIGN(Value* const zero, b.number(d.gradient, 0));
  STOKER_ASSIGN(Value* const above, b.apply("greater", {d.inputs[0], zero}));
  Value* below = zero;
  if (leaky) {
    STOKER_ASSIGN(Value* const slope,
                  b.number(d.gradient, d.node.attributes.get_float("alpha", 0.01f)));
    STOKER_ASSIGN(below, b.apply("mul", {d.gradient, slope}));
  }
  return b.apply("where", {above, d.gradient, below});
}

// ---- Matrix products.

// A vector as a matrix: a row on the left, a column on the right.
Result<Value*> as_matrix(GradientBuilder& b, Value* value, int64_t axis) {
  if (value->type.rank() > 1) return value;
  return b.apply("unsqueeze", {value, b.ints({axis})});
}

Result<Value*> rule_matmul(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (!d.inputs[0]->type.ranked || !d.inputs[1]->type.ranked)
    return unsupported("matmul: the gradient needs operands of known rank");
  const bool row = d.inputs[0]->type.rank() == 1, column = d.inputs[1]->type.rank() == 1;
  STOKER_ASSIGN(Value* const left, as_matrix(b, d.inputs[0], 0));
  STOKER_ASSIGN(Value* const right, as_matrix(b, d.inputs[1], 1));
  Value* gradient = d.gradient;
  if (column) {
    STOKER_ASSIGN(gradient, b.apply("unsqueeze", {gradient, b.ints({-1})}));
  }
  if (row) {
    STOKER_ASSIGN(gradient, b.apply("unsqueeze", {gradient, b.ints({-2})}));
  }
  Value* product = nullptr;
  if (i == 0) {
    STOKER_ASSIGN(Value* const turned, b.transpose_last(right));
    STOKER_ASSIGN(product, b.apply("matmul", {gradient, turned}));
  } else {
    STOKER_ASSIGN(Value* const turned, b.transpose_last(left));
    STOKER_ASSIGN(product, b.apply("matmul", {turned, gradient}));
  }
  STOKER_ASSIGN(product, b.sum_to(product, i == 0 ? left : right));
  return d.inputs[i]->type.rank() > 1 ? product : b.reshape_like(product, d.inputs[i]);
}

Result<Value*> rule_gemm(GradientBuilder& b, const Differentiated& d, size_t i) {
  const Attributes& attributes = d.node.attributes;
  const double alpha = attributes.get_float("alpha", 1), beta = attributes.get_float("beta", 1);
  const int64_t ta = attributes.get_int("transA") != 0, tb = attributes.get_int("transB") != 0;
  Value *a = d.inputs[0], *w = d.inputs[1], *g = d.gradient;
  const auto product = [&](Value* left, Value* right, int64_t turn_left, int64_t turn_right) {
    return b.apply("gemm", {left, right},
                   {{"alpha", alpha}, {"transA", turn_left}, {"transB", turn_right}});
  };
  if (i == 0) return ta ? product(w, g, tb, 1) : product(g, w, 0, 1 - tb);
  if (i == 1) return tb ? product(g, a, 1, ta) : product(a, g, 1 - ta, 0);
  STOKER_ASSIGN(Value* const factor, b.number(g, beta));
  STOKER_ASSIGN(Value* const scaled, b.apply("mul", {g, factor}));
  return b.sum_to(scaled, d.inputs[2]);
}

// ---- Reductions and shapes.

// The gradient of a reduction, repeated over the reduced axes.
Result<Value*> spread(GradientBuilder& b, const Differentiated& d) {
  Value* gradient = d.gradient;
  const bool given = d.inputs.size() > 1 && d.inputs[1];
  const bool empty = given && d.inputs[1]->type.ranked && d.inputs[1]->type.rank() == 1 &&
                     d.inputs[1]->type.dims[0] == Dim(0);
  if (d.node.attributes.get_int("keepdims", 1) == 0 && given && !empty) {
    STOKER_ASSIGN(gradient, b.apply("unsqueeze", {gradient, d.inputs[1]}));
  }
  STOKER_ASSIGN(Value* const shape, b.apply("shape", {d.inputs[0]}));
  return b.apply("expand", {gradient, shape});
}

Result<Value*> rule_reduce(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (i != 0) return unsupported("{}: the axes have no gradient", d.node.op->name);
  STOKER_ASSIGN(Value* const repeated, spread(b, d));
  if (d.node.is("reduce_sum")) return repeated;
  if (d.node.is("reduce_sum_square")) {
    STOKER_ASSIGN(Value* const twice, b.apply("add", {d.inputs[0], d.inputs[0]}));
    return b.apply("mul", {repeated, twice});
  }
  STOKER_ASSIGN(Value* const all, b.apply("size", {d.inputs[0]}));
  STOKER_ASSIGN(Value* const left, b.apply("size", {d.outputs[0]}));
  STOKER_ASSIGN(Value* const count, b.apply("div", {all, left}));
  STOKER_ASSIGN(Value* const divisor, b.apply("cast", {count}, {{"to", d.inputs[0]->type.dtype}}));
  return b.apply("div", {repeated, divisor});
}

Result<Value*> rule_reshape(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (i != 0) return unsupported("{}: only the data has a gradient", d.node.op->name);
  return b.reshape_like(d.gradient, d.inputs[0]);
}

Result<Value*> rule_expand(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (i != 0) return unsupported("expand: only the data has a gradient");
  return b.sum_to(d.gradient, d.inputs[0]);
}

Result<Value*> rule_identity(GradientBuilder&, const Differentiated& d, size_t) {
  return d.gradient;
}

Result<Value*> rule_cast(GradientBuilder& b, const Differentiated& d, size_t) {
  const DType from = d.inputs[0]->type.dtype;
  if (!is_float(from) || !is_float(d.outputs[0]->type.dtype))
    return unsupported("cast: only between floats it has a gradient");
  return b.apply("cast", {d.gradient}, {{"to", from}});
}

Result<Value*> rule_transpose(GradientBuilder& b, const Differentiated& d, size_t) {
  const std::vector<int64_t> perm = d.node.attributes.get_ints("perm");
  if (perm.empty()) return b.apply("transpose", {d.gradient});
  std::vector<int64_t> back(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    back[static_cast<size_t>(perm[k])] = static_cast<int64_t>(k);
  return b.apply("transpose", {d.gradient}, {{"perm", back}});
}

Result<Value*> rule_where(GradientBuilder& b, const Differentiated& d, size_t i) {
  if (i == 0) return unsupported("where: the condition has no gradient");
  STOKER_ASSIGN(Value* const zero, b.number(d.gradient, 0));
  STOKER_ASSIGN(Value* const chosen, i == 1 ? b.apply("where", {d.inputs[0], d.gradient, zero})
                                            : b.apply("where", {d.inputs[0], zero, d.gradient}));
  return b.sum_to(chosen, d.inputs[i]);
}

// y (g - sum(g y)), and g - exp(y) sum(g) for the logarithm.
Result<Value*> rule_softmax(GradientBuilder& b, const Differentiated& d, size_t) {
  if (d.node.attributes.get_int("legacy_flatten"))
    return unsupported("{} over several axes (before opset 13) has no gradient here",
                       d.node.op->name);
  Value *g = d.gradient, *y = d.outputs[0];
  Value* axes = b.ints({d.node.attributes.get_int("axis", -1)});
  const auto total = [&](Value* value) { return b.apply("reduce_sum", {value, axes}); };
  if (d.node.is("softmax")) {
    STOKER_ASSIGN(Value* const product, b.apply("mul", {g, y}));
    STOKER_ASSIGN(Value* const sum, total(product));
    STOKER_ASSIGN(Value* const rest, b.apply("sub", {g, sum}));
    return b.apply("mul", {y, rest});
  }
  STOKER_ASSIGN(Value* const sum, total(g));
  STOKER_ASSIGN(Value* const probability, b.apply("exp", {y}));
  STOKER_ASSIGN(Value* const product, b.apply("mul", {probability, sum}));
  return b.apply("sub", {g, product});
}

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"abs", rule_abs},
    {"add", rule_add},
    {"cast", rule_cast},
    {"cos", rule_cos},
    {"div", rule_div},
    {"erf", rule_erf},
    {"exp", rule_exp},
    {"expand", rule_expand},
    {"flatten", rule_reshape},
    {"gemm", rule_gemm},
    {"identity", rule_identity},
    {"leaky_relu", rule_relu},
    {"log", rule_log},
    {"log_softmax", rule_softmax},
    {"matmul", rule_matmul},
    {"mean", rule_mean},
    {"mul", rule_mul},
    {"neg", rule_neg},
    {"pow", rule_pow},
    {"reciprocal", rule_reciprocal},
    {"reduce_mean", rule_reduce},
    {"reduce_sum", rule_reduce},
    {"reduce_sum_square", rule_reduce},
    {"relu", rule_relu},
    {"reshape", rule_reshape},
    {"sigmoid", rule_sigmoid},
    {"sin", rule_sin},
    {"softmax", rule_softmax},
    {"softplus", rule_softplus},
    {"sqrt", rule_sqrt},
    {"squeeze", rule_reshape},
    {"sub", rule_sub},
    {"sum", rule_add},
    {"tanh", rule_tanh},
    {"transpose", rule_transpose},
    {"unsqueeze", rule_reshape},
    {"where", rule_where},
};

}  // namespace

Result<Value*> GradientBuilder::filled(Value* like, double value) {
  STOKER_ASSIGN(Value* const number_like, number(like, value));
  STOKER_ASSIGN(Value* const shape, apply("shape", {like}));
  STOKER_ASSIGN(Tensor one, number_like->constant->reshaped({1}));
  return apply("constant_of_shape", {shape}, {{"value", std::move(one)}});
}

Result<Value*> GradientBuilder::sum_to(Value* gradient, Value* like) {
  const ValueType &from = gradient->type, &to = like->type;
  if (from.ranked && to.ranked && from.dims == to.dims) return gradient;
  if (!from.ranked || !to.ranked)
    return unsupported("the gradient of a broadcast needs operands of known rank");
  const int lead = from.rank() - to.rank();
  std::vector<int64_t> axes;
  for (int d = 0; d < from.rank(); ++d) {
    const Dim extent = d < lead ? Dim(1) : to.dims[static_cast<size_t>(d - lead)];
    const Dim& own = from.dims[static_cast<size_t>(d)];
    if (d < lead || (extent == Dim(1) && own != Dim(1))) {
      axes.push_back(d);
    } else if (extent != own && !extent.is_const()) {
      return unsupported("the gradient of a broadcast of {} to {} needs known sizes", type_text(to),
                         type_text(from));
    }
  }
  if (axes.empty()) return gradient;
  STOKER_ASSIGN(Value * sum, apply("reduce_sum", {gradient, ints(axes)}));
  if (lead > 0) {
    axes.resize(static_cast<size_t>(lead));
    std::iota(axes.begin(), axes.end(), 0);
    STOKER_ASSIGN(sum, apply("squeeze", {sum, ints(axes)}));
  }
  return sum;
}

Result<Value*> GradientBuilder::reshape_like(Value* value, Value* like) {
  STOKER_ASSIGN(Value* const shape, apply("shape", {like}));
  // Extents of 0 are sizes here, not "as in the input".
  return apply("reshape", {value, shape}, {{"allowzero", int64_t{1}}});
}

Result<Value*> GradientBuilder::transpose_last(Value* value) {
  std::vector<int64_t> perm(value->type.dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return apply("transpose", {value}, {{"perm", perm}});
}

Result<Value*> input_gradient(GradientBuilder& build, const Differentiated& d, size_t i) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules),
                                 [&](const auto& entry) { return entry.first == d.node.op->name; });
  if (rule == std::end(kRules)) {
    return unsupported("node '{}': op {} has no gradient here", d.node.name, d.node.op->name);
  }
  return rule->second(build, d, i);
}

}  // namespace stoker
