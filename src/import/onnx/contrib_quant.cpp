// Domain com.microsoft: operators on 8-bit tensors, written out as dequantize, the operator in
// floating point, quantize. The quantized patterns turn that into integer arithmetic where a kernel
// has it, and the numbers agree with what ONNX Runtime's own kernels compute. Products whose result
// is a float are written as products of integers.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

Value* dequantize(Composer& c, Value* x, Value* scale, Value* zero, int64_t axis = 1) {
  std::vector<Value*> inputs = {x, scale};
  if (zero) inputs.push_back(zero);
  return c.op("dequantize_linear", std::move(inputs), {{"axis", axis}});
}

// The tensor at inputs `i`, scale behind it, zero point behind that.
Value* dequantized_input(Composer& c, size_t i) {
  Value *x = c.input(i, "tensor"), *scale = c.input(i + 1, "scale");
  return dequantize(c, x, scale, c.optional_input(i + 2));
}

// To the dtype of the zero point, or to `dtype` where there is none.
Value* quantize(Composer& c, Value* x, Value* scale, Value* zero, DType dtype) {
  if (zero) return c.op("quantize_linear", {x, scale, zero});
  return c.op("quantize_linear", {x, scale}, {{"output_dtype", dtype}});
}

// Quantized with the scale at input `i` and the zero point behind it.
Status finish_quantized(Composer& c, Value* y, size_t i) {
  const DType dtype = c.dtype(c.node().input(0));
  return c.finish(quantize(c, y, c.input(i, "output scale"), c.optional_input(i + 1), dtype));
}

Status import_binary(NodeImporter& node, const char* op) {
  Composer c(node);
  Value *a = dequantized_input(c, 0), *b = dequantized_input(c, 3);
  return finish_quantized(c, c.op(op, {a, b}), 6);
}

Status import_add(NodeImporter& node) { return import_binary(node, "add"); }
Status import_mul(NodeImporter& node) { return import_binary(node, "mul"); }

Status import_sigmoid(NodeImporter& node) {
  Composer c(node);
  return finish_quantized(c, c.op("sigmoid", {dequantized_input(c, 0)}), 3);
}

Status import_leaky_relu(NodeImporter& node) {
  Composer c(node);
  const double alpha = node.get_float("alpha", 0.01f);
  Value* y = c.op("leaky_relu", {dequantized_input(c, 0)}, {{"alpha", alpha}});
  return finish_quantized(c, y, 3);
}

// `opset` says which softmax: until 12 it works on the input flattened to a matrix at `axis`.
Status import_softmax(NodeImporter& node) {
  Composer c(node);
  Attributes attributes = {{"axis", node.get_int("axis", -1)}};
  if (node.get_int("opset", 13) < 13) attributes.set("legacy_flatten", int64_t{1});
  return finish_quantized(c, c.op("softmax", {dequantized_input(c, 0)}, std::move(attributes)), 3);
}

Status import_where(NodeImporter& node) {
  Composer c(node);
  Value *x = dequantized_input(c, 1), *y = dequantized_input(c, 4);
  Value* z = c.op("where", {c.input(0, "condition"), x, y});
  return c.finish(
      c.op("quantize_linear", {z, c.input(7, "output scale"), c.input(8, "zero point")}));
}

// Scale and zero point of the result, then three inputs for each part.
Status import_concat(NodeImporter& node) {
  if (node.input_count() < 5 || node.input_count() % 3 != 2) {
    return invalid_model("expected 2 inputs and 3 for each part, found {}", node.input_count());
  }
  Composer c(node);
  std::vector<Value*> parts;
  for (size_t i = 2; i < node.input_count(); i += 3) parts.push_back(dequantized_input(c, i));
  Value* y = c.op("concat", std::move(parts), {{"axis", node.get_int("axis", 0)}});
  return c.finish(
      c.op("quantize_linear", {y, c.input(0, "output scale"), c.input(1, "zero point")}));
}

Status import_pool(NodeImporter& node, const char* op) {
  Composer c(node);
  const bool last = node.get_int("channels_last", 0) != 0;
  node.drop("channels_last");
  STOKER_ASSIGN(Attributes attributes, node.converted());
  // The integers move, not the floats.
  Value *x = c.input(0, "X"), *scale = c.input(1, "scale");
  if (last) x = c.channels_first(x);
  Value* y = c.op(op, {dequantize(c, x, scale, c.optional_input(2))}, std::move(attributes));
  y = quantize(c, y, c.input(3, "output scale"), c.optional_input(4), c.dtype(x));
  return c.finish(last ? c.channels_last(y) : y);
}

Status import_average_pool(NodeImporter& node) { return import_pool(node, "average_pool"); }
Status import_global_pool(NodeImporter& node) { return import_pool(node, "global_average_pool"); }

Status import_reduce_mean(NodeImporter& node) {
  Composer c(node);
  std::vector<Value*> inputs = {dequantized_input(c, 0)};
  if (node.has("axes")) inputs.push_back(c.ints(node.get_ints("axes"), "axes"));
  Value* y = c.op("reduce_mean", std::move(inputs), {{"keepdims", node.get_int("keepdims", 1)}});
  return finish_quantized(c, y, 3);
}

// The bias counts in steps of x_scale * w_scale.
Status import_conv(NodeImporter& node) {
  Composer c(node);
  const bool last = node.get_int("channels_last", 0) != 0;
  node.drop("channels_last");
  STOKER_ASSIGN(Attributes attributes, node.converted());
  Value *x = c.input(0, "x"), *x_scale = c.input(1, "x_scale");
  Value *w = c.input(3, "w"), *w_scale = c.input(4, "w_scale");
  if (last) x = c.channels_first(x);
  std::vector<Value*> inputs = {dequantize(c, x, x_scale, c.optional_input(2)),
                                dequantize(c, w, w_scale, c.optional_input(5), 0)};
  if (node.has_input(8)) {
    Value* step = c.mul(x_scale, w_scale);
    inputs.push_back(c.mul(c.cast(node.input(8), c.dtype(step)), step));
  }
  Value* y = c.op("conv", std::move(inputs), std::move(attributes));
  y = quantize(c, y, c.input(6, "output scale"), c.optional_input(7), c.dtype(x));
  return c.finish(last ? c.channels_last(y) : y);
}

// ---- Products.

// The exact sum of a and the weight less their zero points, times both scales, and a bias. The
// scale of a is a scalar, that of the weight is of its last axis or one for all.
Value* product_to_float(Composer& c, Value* a, Value* a_scale, Value* a_zero, size_t b_scale,
                        size_t b_zero, size_t bias) {
  std::vector<Value*> inputs = {a, c.input(1, "B"), a_zero, c.optional_input(b_zero)};
  while (c.ok() && !inputs.back()) inputs.pop_back();
  // Sums leave the range of narrow floats.
  Value* sum = c.cast(c.op("matmul_integer", std::move(inputs)), DType::kF32);
  Value* scale = c.input(b_scale, "b_scale");
  const DType dtype = c.dtype(scale);
  Value* step = c.mul(c.cast(a_scale, DType::kF32), c.cast(scale, DType::kF32));
  Value* y = c.cast(c.mul(sum, step), dtype);
  return c.node().has_input(bias) ? c.add(y, c.node().input(bias)) : y;
}

Status import_matmul_to_float(NodeImporter& node) {
  Composer c(node);
  // A scale per column of A, which the schema speaks of, is no factor of the sums; nor has ONNX
  // Runtime a kernel for it.
  Value* scale = c.reshape(c.input(2, "a_scale"), {}, "one");
  Value* zero = c.optional_input(4);
  if (zero) zero = c.reshape(zero, {}, "one");
  return c.finish(product_to_float(c, c.input(0, "A"), scale, zero, 3, 5, 6));
}

Status import_dynamic_matmul(NodeImporter& node) {
  Composer c(node);
  const auto a = c.outputs("dynamic_quantize_linear", {c.input(0, "A")}, {}, 3);
  return c.finish(product_to_float(c, a[0], a[1], a[2], 2, 3, 4));
}

// alpha * A * B, and C in steps of alpha * a_scale * b_scale.
Status import_gemm(NodeImporter& node) {
  Composer c(node);
  const int64_t turn_b = node.get_int("transB", 0) != 0;
  const double alpha = node.get_float("alpha", 1);
  Value *a_scale = c.input(1, "a_scale"), *b_scale = c.input(4, "b_scale");
  Value* a = dequantize(c, c.input(0, "A"), a_scale, c.optional_input(2));
  Value* b = dequantize(c, c.input(3, "B"), b_scale, c.optional_input(5), turn_b ? 0 : 1);
  Value* y = c.op("gemm", {a, b},
                  {{"alpha", alpha}, {"transA", node.get_int("transA", 0)}, {"transB", turn_b}});
  if (node.has_input(6)) {
    Value* step = c.scaled(c.mul(a_scale, b_scale), alpha, "alpha");
    y = c.add(y, c.mul(c.cast(node.input(6), c.dtype(step)), step));
  }
  return node.has_input(7) ? finish_quantized(c, y, 7) : c.finish(y);
}

Status import_matmul_16(NodeImporter& node) {
  Composer c(node);
  Value *a = c.cast(c.input(0, "A"), DType::kI32), *b = c.cast(c.input(1, "B"), DType::kI32);
  return c.finish(c.op("matmul", {a, b}));
}

// (A - a_zero) * (B - b_zero) in 32 bits.
Status import_mul_integer(NodeImporter& node) {
  Composer c(node);
  Value* factors[2];
  for (size_t i = 0; i < 2; ++i) {
    factors[i] = c.cast(c.input(2 * i, "factor"), DType::kI32);
    if (node.has_input(2 * i + 1)) {
      factors[i] = c.op("sub", {factors[i], c.cast(node.input(2 * i + 1), DType::kI32)});
    }
  }
  return c.finish(c.mul(factors[0], factors[1]));
}

Status import_reduce_sum_integer(NodeImporter& node) {
  Composer c(node);
  std::vector<Value*> inputs = {c.cast(c.input(0, "data"), DType::kI32)};
  if (node.has("axes")) inputs.push_back(c.ints(node.get_ints("axes"), "axes"));
  return c.finish(
      c.op("reduce_sum", std::move(inputs), {{"keepdims", node.get_int("keepdims", 1)}}));
}

// [directions, in, 4 * hidden] with scales per direction, or per direction and column, to the
// standard's order of axes: dequantized where the operation can say the scales.
Value* recurrent_weight(Composer& c, size_t i, size_t scale_at, const char* what) {
  Value *w = c.input(i, what), *scale = c.input(scale_at, "scale");
  Value* zero = c.input(scale_at + 1, "zero point");
  const bool by_direction = c.rank(scale, "scale") == 1;
  if (by_direction) {
    return c.op("dequantize_linear", {c.transpose(w, {0, 2, 1}), scale, zero},
                {{"axis", int64_t{0}}});
  }
  zero = c.unsqueeze(c.cast(zero, c.dtype(scale)), {1}, "zero_axes");
  w = c.op("sub", {c.cast(w, c.dtype(scale)), zero});
  return c.transpose(c.mul(w, c.unsqueeze(scale, {1}, "scale_axes")), {0, 2, 1});
}

// Without the quantization of the activations, which only saves time.
Status import_dynamic_lstm(NodeImporter& node) {
  Composer c(node);
  STOKER_ASSIGN(Attributes attributes, node.converted());
  std::vector<Value*> inputs = {c.input(0, "X"), recurrent_weight(c, 1, 8, "W"),
                                recurrent_weight(c, 2, 10, "R")};
  for (size_t i = 3; i < 8; ++i) inputs.push_back(node.input(i));
  while (!inputs.back() && c.ok()) inputs.pop_back();
  STOKER_TRY(c.status());
  return node.finish("lstm", std::move(inputs), std::move(attributes));
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", import_dynamic_lstm},
    {"com.microsoft", "DynamicQuantizeMatMul", import_dynamic_matmul},
    {"com.microsoft", "MatMulInteger16", import_matmul_16},
    {"com.microsoft", "MatMulIntegerToFloat", import_matmul_to_float},
    {"com.microsoft", "MulInteger", import_mul_integer},
    {"com.microsoft", "QGemm", import_gemm},
    {"com.microsoft", "QLinearAdd", import_add},
    {"com.microsoft", "QLinearAveragePool", import_average_pool},
    {"com.microsoft", "QLinearConcat", import_concat},
    {"com.microsoft", "QLinearConv", import_conv},
    {"com.microsoft", "QLinearGlobalAveragePool", import_global_pool},
    {"com.microsoft", "QLinearLeakyRelu", import_leaky_relu},
    {"com.microsoft", "QLinearMul", import_mul},
    {"com.microsoft", "QLinearReduceMean", import_reduce_mean},
    {"com.microsoft", "QLinearSigmoid", import_sigmoid},
    {"com.microsoft", "QLinearSoftmax", import_softmax},
    {"com.microsoft", "QLinearWhere", import_where},
    {"com.microsoft", "ReduceSumInteger", import_reduce_sum_integer},
};

}  // namespace

std::span<const OnnxOp> contrib_quant_ops() { return kOps; }

}  // namespace stoker
