// Domain com.microsoft: fused products, convolutions and activations, written out in the ops that
// they were fused from, so that patterns and kernels serve them like any other model.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// The operand as matmul wants it. `batch_first`: axis 0 holds the rows (or columns) and the batch
// axes stand behind it. A vector has nothing to transpose.
Value* product_operand(Composer& c, Value* x, bool transposed, bool batch_first) {
  if (!transposed && !batch_first) return x;
  const int64_t rank = c.rank(x, "operand");
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
  if (rank < 2) return x;
  if (batch_first) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (transposed) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return c.transpose(x, std::move(perm));
}

Value* fused_product(Composer& c) {
  NodeImporter& node = c.node();
  Value *a = c.input(0, "A"), *b = c.input(1, "B");
  const bool turn_a = node.get_int("transA", 0) != 0, turn_b = node.get_int("transB", 0) != 0;
  const double alpha = node.get_float("alpha", 1);
  if (!c.ok()) return nullptr;
  const auto is_matrix = [](const Value* v) { return v->type.ranked && v->type.rank() == 2; };
  if (is_matrix(a) && is_matrix(b)) {
    return c.op("gemm", {a, b},
                {{"alpha", alpha}, {"transA", int64_t{turn_a}}, {"transB", int64_t{turn_b}}});
  }
  a = product_operand(c, a, turn_a, node.get_int("transBatchA", 0) != 0);
  b = product_operand(c, b, turn_b, node.get_int("transBatchB", 0) != 0);
  return c.scaled(c.op("matmul", {a, b}), alpha, "alpha");
}

std::vector<double> activation_params(const NodeImporter& node) {
  std::vector<double> params;
  if (node.has("activation_alpha")) params.push_back(node.get_float("activation_alpha", 0));
  // No activation has both.
  for (const char* name : {"activation_beta", "activation_gamma"}) {
    if (!params.empty() && node.has(name)) params.push_back(node.get_float(name, 0));
  }
  return params;
}

Status import_fused_matmul(NodeImporter& node) {
  Composer c(node);
  return c.finish(
      activate(c, node.get_string("activation", ""), fused_product(c), activation_params(node)));
}

Status import_fused_gemm(NodeImporter& node) {
  Composer c(node);
  std::vector<Value*> inputs = {c.input(0, "A"), c.input(1, "B")};
  if (node.has_input(2)) inputs.push_back(node.input(2));
  Value* y = c.op("gemm", std::move(inputs),
                  {{"alpha", node.get_float("alpha", 1)},
                   {"beta", node.get_float("beta", 1)},
                   {"transA", node.get_int("transA", 0)},
                   {"transB", node.get_int("transB", 0)}});
  return c.finish(activate(c, node.get_string("activation", ""), y, activation_params(node)));
}

// Matrix product, bias and tanh approximation of gelu.
Status import_gemm_fast_gelu(NodeImporter& node) {
  Composer c(node);
  Value* y = c.op("matmul", {c.input(0, "X"), c.input(1, "W")});
  if (node.has_input(2)) y = c.add(y, node.input(2));
  return c.finish(c.op("gelu", {y}, {{"approximate", std::string("tanh")}}));
}

struct ConvOrder {
  bool channels_last = false;  // of X, Z and Y
  bool weight_last = false;    // of W
};

// conv, then + Z, then the activation.
Status fused_conv(NodeImporter& node, ConvOrder order) {
  Composer c(node);
  const std::string activation = node.get_string("activation", "");
  const std::vector<double> params = node.get_floats("activation_params");
  node.drop("activation");
  node.drop("activation_params");
  STOKER_ASSIGN(Attributes attributes, node.converted());
  Value *x = c.input(0, "X"), *w = c.input(1, "W"), *z = node.input(3);
  if (order.channels_last) x = c.channels_first(x);
  if (order.channels_last && z) z = c.channels_first(z);
  if (order.weight_last) w = c.channels_first(w);
  std::vector<Value*> inputs = {x, w};
  if (node.has_input(2)) inputs.push_back(node.input(2));
  Value* y = c.op("conv", std::move(inputs), std::move(attributes));
  if (z) y = c.add(y, z);
  y = activate(c, activation, y, params);
  return c.finish(order.channels_last ? c.channels_last(y) : y);
}

Status import_fused_conv(NodeImporter& node) { return fused_conv(node, {}); }
Status import_nhwc_conv(NodeImporter& node) { return fused_conv(node, {true, true}); }
Status import_nhwc_fused_conv(NodeImporter& node) { return fused_conv(node, {true, false}); }

Status import_nhwc_max_pool(NodeImporter& node) {
  Composer c(node);
  STOKER_ASSIGN(Attributes attributes, node.converted());
  Value* y = c.op("max_pool", {c.channels_first(c.input(0, "x"))}, std::move(attributes));
  return c.finish(c.channels_last(y));
}

// The padding is an input: an attribute when it is known, otherwise what is cut off the whole.
Status import_conv_transpose_pads(NodeImporter& node) {
  Composer c(node);
  STOKER_ASSIGN(Attributes attributes, node.converted());
  const auto pads = node.constant_ints(2);
  if (pads) attributes.set("pads", *pads);
  std::vector<Value*> inputs = {c.input(0, "X"), c.input(1, "W")};
  if (node.has_input(3)) inputs.push_back(node.input(3));
  Value* y = c.op("conv_transpose", std::move(inputs), std::move(attributes));
  if (pads || !node.has_input(2)) return c.finish(y);
  const int64_t spatial = c.rank(y, "output") - 2;
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < spatial; ++d) axes.push_back(d + 2);
  Value* before = c.slice(node.input(2), 0, 0, spatial, "pads_before");
  Value* after = c.slice(node.input(2), 0, spatial, 2 * spatial, "pads_after");
  Value* ends = c.op("sub", {c.op("shape", {y}, {{"start", int64_t{2}}}), after});
  return c.finish(c.op("slice", {y, before, ends, c.ints(axes, "spatial_axes")}));
}

// ---- Activations.

Status gelu_of(NodeImporter& node, const char* form) {
  Composer c(node);
  Value* x = c.input(0, "X");
  if (node.has_input(1)) x = c.add(x, node.input(1));
  return c.finish(c.op("gelu", {x}, {{"approximate", std::string(form)}}));
}

Status import_bias_gelu(NodeImporter& node) { return gelu_of(node, "none"); }
Status import_fast_gelu(NodeImporter& node) { return gelu_of(node, "tanh"); }

// x * sigmoid(alpha * x).
Status import_quick_gelu(NodeImporter& node) {
  Composer c(node);
  const double alpha = node.get_float("alpha", 1.702f);
  return c.finish(c.op("swish", {c.input(0, "X")}, {{"alpha", alpha}}));
}

Status import_bias_add(NodeImporter& node) {
  Composer c(node);
  return c.finish(c.add(c.add(c.input(0, "X"), c.input(1, "bias")), c.input(2, "skip")));
}

// The left half times the gelu of the right half.
Status import_bias_split_gelu(NodeImporter& node) {
  Composer c(node);
  Value* x = c.add(c.input(0, "X"), c.input(1, "bias"));
  const auto halves =
      c.outputs("split", {x}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2);
  return c.finish(c.mul(halves[0], c.op("gelu", {halves[1]})));
}

// The bias lacks the axes that it is repeated over: the ones just before `axis` when inner,
// otherwise the first ones, where broadcasting puts them by itself.
Status import_bias_softmax(NodeImporter& node) {
  Composer c(node);
  Value *x = c.input(0, "data"), *bias = c.input(1, "bias");
  const int64_t rank = c.rank(x, "data"), own = c.rank(bias, "bias");
  STOKER_TRY(c.status());
  const int64_t given = node.get_int("axis", 1);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank || own > rank) {
    return invalid_model("axis {} and bias {} do not fit data {}", given, type_text(bias->type),
                         type_text(x->type));
  }
  if (node.get_int("is_inner_broadcast", 0) && own < rank) {
    std::vector<int64_t> missing;
    for (int64_t d = axis - (rank - own); d < axis; ++d) missing.push_back(d);
    if (missing.front() < 0) return invalid_model("bias {} has too few axes", own);
    bias = c.unsqueeze(bias, missing, "missing_axes");
  }
  Value* sum = c.add(x, bias);
  // Over all axes from `axis` on, as softmax was before opset 13.
  Attributes attributes = {{"axis", axis}};
  if (axis != rank - 1) attributes.set("legacy_flatten", int64_t{1});
  return c.finish(c.op("softmax", {sum}, std::move(attributes)));
}

// G * sigmoid(alpha * G) * (L + beta) with G and L clamped to a limit above 0.
Status import_swiglu(NodeImporter& node) {
  Composer c(node);
  Value *gate = c.input(0, "gate"), *up = node.input(1);
  if (!up) {
    const auto halves =
        c.outputs("split", {gate}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2);
    gate = halves[0];
    up = halves[1];
  }
  const double limit = node.get_float("limit", 0), beta = node.get_float("activation_beta", 0);
  if (limit > 0) {
    Value* most = c.scalar(c.dtype(gate), limit, "limit");
    gate = c.op("clip", {gate, nullptr, most});
    up = c.op("clip", {up, c.scalar(c.dtype(up), -limit, "lower_limit"), most});
  }
  gate = c.op("swish", {gate}, {{"alpha", node.get_float("activation_alpha", 1)}});
  if (beta != 0) up = c.add(up, c.scalar(c.dtype(up), beta, "beta"));
  return c.finish(c.mul(gate, up));
}

Status import_scaled_silu(NodeImporter& node) {
  Composer c(node);
  Value* x = c.input(0, "X");
  x = node.has_input(1) ? c.mul(x, c.cast(node.input(1), c.dtype(x)))
                        : c.scaled(x, node.get_float("alpha", 1), "alpha");
  return c.finish(c.op("swish", {x}));
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "BiasAdd", import_bias_add},
    {"com.microsoft", "BiasGelu", import_bias_gelu},
    {"com.microsoft", "BiasSoftmax", import_bias_softmax},
    {"com.microsoft", "BiasSplitGelu", import_bias_split_gelu},
    {"com.microsoft", "ConvTransposeWithDynamicPads", import_conv_transpose_pads},
    {"com.microsoft", "FastGelu", import_fast_gelu},
    {"com.microsoft", "FusedConv", import_fused_conv},
    {"com.microsoft", "FusedGemm", import_fused_gemm},
    {"com.microsoft", "FusedMatMul", import_fused_matmul},
    {"com.microsoft", "FusedMatMulActivation", import_fused_matmul},
    {"com.microsoft", "GemmFastGelu", import_gemm_fast_gelu},
    {"com.microsoft", "NhwcConv", import_nhwc_conv},
    {"com.microsoft", "NhwcFusedConv", import_nhwc_fused_conv},
    {"com.microsoft", "NhwcMaxPool", import_nhwc_max_pool},
    {"com.microsoft", "QuickGelu", import_quick_gelu},
    {"com.microsoft", "ScaledSiLU", import_scaled_silu},
    {"com.microsoft", "SwiGLU", import_swiglu},
    {"com.microsoft", "TransposeMatMul", import_fused_matmul},
};

}  // namespace

std::span<const OnnxOp> contrib_ops() { return kOps; }

}  // namespace stoker
