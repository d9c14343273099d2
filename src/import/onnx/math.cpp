// Arithmetic, comparison, logic, matrix products and activations.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Before opset 7 broadcasting was asked for, and `axis` said where B's dimensions stand in A's.
Status import_binary(NodeImporter& node) {
  std::vector<Value*> inputs = node.inputs();
  if (node.version() < 7) {
    const int64_t axis = node.get_int("axis", -1);
    const bool placed = node.get_int("broadcast", 0) && node.has("axis");
    node.drop("axis");
    node.drop("broadcast");
    if (placed && node.has_input(0) && node.has_input(1)) {
      if (!inputs[0]->type.ranked || !inputs[1]->type.ranked) {
        return unsupported("broadcasting by axis needs inputs of known rank");
      }
      const int64_t rank = inputs[0]->type.rank();
      const int64_t own = inputs[1]->type.rank();
      const int64_t start = axis < 0 ? axis + rank : axis;
      if (start < 0 || start + own > rank) {
        return invalid_model("axis {} does not place {} dimensions inside {}", axis, own, rank);
      }
      std::vector<int64_t> axes;
      for (int64_t i = own; i < rank - start; ++i) axes.push_back(i);
      if (!axes.empty()) {
        STOKER_ASSIGN(inputs[1],
                      node.apply("unsqueeze", {inputs[1], node.constant_i64(axes, "axes")}));
      }
    }
  }
  return node.finish_same(std::move(inputs));
}

// A sum of any number of inputs as a chain of additions, where the build has no op for it.
Result<Value*> add_all(NodeImporter& node) {
  if (node.input_count() == 0) return invalid_model("expected at least one input, found none");
  Value* total = node.input(0);
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (!node.has_input(i) || !total) return invalid_model("input {} is left out", i);
    STOKER_ASSIGN(total, node.apply("add", {total, node.input(i)}));
  }
  return total;
}

Status import_sum(NodeImporter& node) {
  if (find_op("sum")) return import_same(node);
  STOKER_ASSIGN(Value* const total, add_all(node));
  if (node.input_count() == 1) return node.finish("identity", {total});
  node.bind(0, total);
  return Status::ok();
}

Status import_mean(NodeImporter& node) {
  if (find_op("mean")) return import_same(node);
  STOKER_ASSIGN(Value* const total, add_all(node));
  STOKER_ASSIGN(
      Value* const count,
      node.scalar_like(total->type.dtype, static_cast<double>(node.input_count()), "count"));
  return node.finish("div", {total, count});
}

// Before opset 11 the bounds were attributes.
Status import_clip(NodeImporter& node) {
  if (node.version() >= 11) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  std::vector<Value*> inputs = {node.input(0), nullptr, nullptr};
  const DType dtype = node.input(0)->type.dtype;
  if (node.has("min")) {
    STOKER_ASSIGN(inputs[1], node.scalar_like(dtype, node.get_float("min", 0), "min"));
  }
  if (node.has("max")) {
    STOKER_ASSIGN(inputs[2], node.scalar_like(dtype, node.get_float("max", 0), "max"));
  }
  while (!inputs.back()) inputs.pop_back();
  return node.finish("clip", std::move(inputs));
}

Status import_gemm(NodeImporter& node) {
  node.drop("broadcast");  // before opset 7; C is broadcast in one direction either way
  return import_same(node);
}

// Until opset 8 softmax works on the input flattened to a matrix at `axis`.
Status import_softmax(NodeImporter& node) {
  if (node.version() >= 13) {
    return node.finish_same(node.inputs(), {{"axis", node.get_int("axis", -1)}});
  }
  const int64_t axis = node.get_int("axis", 1);
  const Value* input = node.input(0);
  const bool last = input && input->type.ranked && (axis == -1 || axis == input->type.rank() - 1);
  if (last) return node.finish_same(node.inputs(), {{"axis", int64_t{-1}}});
  return node.finish_same(node.inputs(), {{"axis", axis}, {"legacy_flatten", int64_t{1}}});
}

// Until opset 8 a slope with one element per channel stood for axis 1.
Status import_prelu(NodeImporter& node) {
  std::vector<Value*> inputs = node.inputs();
  if (node.version() < 7 && node.has_input(0) && node.has_input(1)) {
    const int rank = inputs[0]->type.rank();
    const ValueType& slope = inputs[1]->type;
    if (inputs[0]->type.ranked && slope.ranked && slope.rank() == 1 && rank > 2 &&
        slope.dims[0] != Dim(1)) {
      std::vector<int64_t> axes;
      for (int i = 1; i < rank - 1; ++i) axes.push_back(i);
      STOKER_ASSIGN(inputs[1],
                    node.apply("unsqueeze", {inputs[1], node.constant_i64(axes, "axes")}));
    }
  }
  return node.finish_same(std::move(inputs));
}

// The functions below are written out where the build has no op of their own.

Status import_softsign(NodeImporter& node) {
  if (find_op("softsign")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  Value* x = node.input(0);
  STOKER_ASSIGN(Value* const one, node.scalar_like(x->type.dtype, 1, "one"));
  STOKER_ASSIGN(Value* const size, node.apply("abs", {x}));
  STOKER_ASSIGN(Value* const divisor, node.apply("add", {size, one}));
  return node.finish("div", {x, divisor});
}

Status import_mish(NodeImporter& node) {
  if (find_op("mish")) return import_same(node);
  STOKER_ASSIGN(Value* const soft, node.apply("softplus", {node.input(0)}));
  STOKER_ASSIGN(Value* const factor, node.apply("tanh", {soft}));
  return node.finish("mul", {node.input(0), factor});
}

Status import_swish(NodeImporter& node) {
  if (find_op("swish")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  Value* x = node.input(0);
  Value* scaled = x;
  if (const double alpha = node.get_float("alpha", 1); alpha != 1) {
    STOKER_ASSIGN(Value* const factor, node.scalar_like(x->type.dtype, alpha, "alpha"));
    STOKER_ASSIGN(scaled, node.apply("mul", {x, factor}));
  }
  STOKER_ASSIGN(Value* const gate, node.apply("sigmoid", {scaled}));
  return node.finish("mul", {x, gate});
}

// gamma * (x > 0 ? x : alpha * (exp(x) - 1)), by elu.
Status import_selu(NodeImporter& node) {
  if (find_op("selu")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  const double alpha = node.get_float("alpha", 1.67326319217681884765625);
  const double gamma = node.get_float("gamma", 1.05070102214813232421875);
  STOKER_ASSIGN(Value* const bent, node.apply("elu", {node.input(0)}, {{"alpha", alpha}}));
  STOKER_ASSIGN(Value* const factor, node.scalar_like(bent->type.dtype, gamma, "gamma"));
  return node.finish("mul", {bent, factor});
}

// max(0,x) + min(0, alpha * (exp(x/alpha) - 1)) = alpha * elu(x / alpha).
Status import_celu(NodeImporter& node) {
  if (find_op("celu")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  STOKER_ASSIGN(Value* const alpha,
                node.scalar_like(node.input(0)->type.dtype, node.get_float("alpha", 1), "alpha"));
  STOKER_ASSIGN(Value* const scaled, node.apply("div", {node.input(0), alpha}));
  STOKER_ASSIGN(Value* const bent, node.apply("elu", {scaled}));
  return node.finish("mul", {bent, alpha});
}

Status import_thresholded_relu(NodeImporter& node) {
  if (find_op("thresholded_relu")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  Value* x = node.input(0);
  STOKER_ASSIGN(Value* const limit,
                node.scalar_like(x->type.dtype, node.get_float("alpha", 1), "alpha"));
  STOKER_ASSIGN(Value* const zero, node.scalar_like(x->type.dtype, 0, "zero"));
  STOKER_ASSIGN(Value* const above, node.apply("greater", {x, limit}));
  return node.finish("where", {above, x, zero});
}

Status import_tan(NodeImporter& node) {
  if (find_op("tan")) return import_same(node);
  STOKER_ASSIGN(Value* const sine, node.apply("sin", {node.input(0)}));
  STOKER_ASSIGN(Value* const cosine, node.apply("cos", {node.input(0)}));
  return node.finish("div", {sine, cosine});
}

// Until opset 19 the axis was an attribute and counted from the front.
Status import_dft(NodeImporter& node) {
  if (node.version() >= 20) return import_same(node);
  const int64_t axis = node.get_int("axis", 1);
  node.drop("axis");
  std::vector<Value*> inputs = {node.input(0), node.input(1), node.constant_i64({axis}, "axis")};
  return node.finish_same(std::move(inputs));
}

constexpr OnnxOp kOps[] = {
    {"", "Abs", import_same},           {"", "Acos", import_same},
    {"", "Acosh", import_same},         {"", "Add", import_binary},
    {"", "And", import_binary},         {"", "Asin", import_same},
    {"", "Asinh", import_same},         {"", "Atan", import_same},
    {"", "Atanh", import_same},         {"", "Bernoulli", import_same},
    {"", "BitShift", import_same},      {"", "BitwiseAnd", import_same},
    {"", "BitwiseNot", import_same},    {"", "BitwiseOr", import_same},
    {"", "BitwiseXor", import_same},    {"", "BlackmanWindow", import_same},
    {"", "Ceil", import_same},          {"", "Celu", import_celu},
    {"", "Clip", import_clip},          {"", "Cos", import_same},
    {"", "Cosh", import_same},          {"", "CumProd", import_same},
    {"", "CumSum", import_same},        {"", "DFT", import_dft},
    {"", "Det", import_same},           {"", "Div", import_binary},
    {"", "Einsum", import_einsum},      {"", "Elu", import_same},
    {"", "Equal", import_binary},       {"", "Erf", import_same},
    {"", "Exp", import_same},           {"", "Floor", import_same},
    {"", "Gelu", import_same},          {"", "Gemm", import_gemm},
    {"", "Greater", import_binary},     {"", "GreaterOrEqual", import_same},
    {"", "HammingWindow", import_same}, {"", "HannWindow", import_same},
    {"", "HardSigmoid", import_same},   {"", "HardSwish", import_same},
    {"", "Hardmax", import_softmax},    {"", "IsInf", import_same},
    {"", "IsNaN", import_same},         {"", "LeakyRelu", import_same},
    {"", "Less", import_binary},        {"", "LessOrEqual", import_same},
    {"", "Log", import_same},           {"", "LogSoftmax", import_softmax},
    {"", "MatMul", import_same},        {"", "Max", import_same},
    {"", "Mean", import_mean},          {"", "MelWeightMatrix", import_same},
    {"", "Min", import_same},           {"", "Mish", import_mish},
    {"", "Mod", import_same},           {"", "Mul", import_binary},
    {"", "Multinomial", import_same},   {"", "Neg", import_same},
    {"", "Not", import_same},           {"", "Or", import_binary},
    {"", "PRelu", import_prelu},        {"", "Pow", import_binary},
    {"", "RandomNormal", import_same},  {"", "RandomNormalLike", import_same},
    {"", "RandomUniform", import_same}, {"", "RandomUniformLike", import_same},
    {"", "Reciprocal", import_same},    {"", "Relu", import_same},
    {"", "Round", import_same},         {"", "STFT", import_same},
    {"", "Selu", import_selu},          {"", "Shrink", import_same},
    {"", "Sigmoid", import_same},       {"", "Sign", import_same},
    {"", "Sin", import_same},           {"", "Sinh", import_same},
    {"", "Softmax", import_softmax},    {"", "Softplus", import_same},
    {"", "Softsign", import_softsign},  {"", "Sqrt", import_same},
    {"", "Sub", import_binary},         {"", "Sum", import_sum},
    {"", "Swish", import_swish},        {"", "Tan", import_tan},
    {"", "Tanh", import_same},          {"", "ThresholdedRelu", import_thresholded_relu},
    {"", "Xor", import_binary},         {"com.microsoft", "Gelu", import_same},
};

}  // namespace

std::span<const OnnxOp> math_ops() { return kOps; }

}  // namespace stoker
