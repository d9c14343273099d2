// Attention and what goes with it: rotary embeddings, caches, gates, linear attention.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"
#include "import/onnx/tensor_proto.h"

namespace stoker {

namespace {

// Until opset 24 a mask broadcast as any operand; since then a short one ends in -inf.
Status import_attention(NodeImporter& node) {
  if (node.version() >= 24 || !node.has_input(3)) return import_same(node);
  return node.finish_same(node.inputs(), {{"mask_repeats", int64_t{1}}});
}

// swish(A) * B.
Status import_swiglu(NodeImporter& node) {
  Composer c(node);
  Value* gate = c.op("swish", {c.input(0, "A")}, {{"alpha", node.get_float("alpha", 1)}});
  return c.finish(c.mul(gate, c.input(1, "B")));
}

Value* modified(Composer& c, const char* attribute, Value* x) {
  if (!c.ok() || !c.node().has(attribute)) return x;
  const auto made = c.node().inlined(attribute, {x});
  if (!made.is_ok()) {
    c.fail(made.status());
    return nullptr;
  }
  if (made->size() == 1) return made->front();
  c.fail(invalid_model("attribute '{}': {} outputs, expected 1", attribute, made->size()));
  return nullptr;
}

// The dtype that softmax is computed in.
Result<DType> softmax_dtype(const NodeImporter& node, DType dtype) {
  if (!node.has("softmax_precision")) return dtype == DType::kF64 ? dtype : DType::kF32;
  const int64_t given = node.get_int("softmax_precision", 0);
  const DType wanted = dtype_from_onnx(given);
  if (wanted == DType::kF64 || wanted == DType::kF32 || wanted == DType::kF16 ||
      wanted == DType::kBF16) {
    return wanted;
  }
  return invalid_model("softmax_precision is {}, expected a floating point type", given);
}

// The formula, with the node's own functions in it. Query heads that share a key head stand one
// behind the other as rows of one product.
Status import_flex_formula(NodeImporter& node) {
  Composer c(node);
  Value *q = c.input(0, "Q"), *k = c.input(1, "K"), *v = c.input(2, "V");
  for (Value* x : {q, k, v}) {
    if (c.rank(x, "operand") != 4) {
      c.fail(invalid_model("expected rank 4, found {}", x ? type_text(x->type) : "nothing"));
    }
  }
  const int64_t heads = c.extent(q, 1, "Q"), shared = c.extent(k, 1, "K");
  const double width = static_cast<double>(c.extent(q, 3, "Q"));
  STOKER_TRY(c.status());
  if (shared < 1 || heads % shared != 0) {
    return invalid_model("{} query heads cannot share {} key heads evenly", heads, shared);
  }
  const DType dtype = c.dtype(q);
  STOKER_ASSIGN(const DType computed, softmax_dtype(node, dtype));
  const double scale = std::sqrt(node.get_float("scale", 1.0 / std::sqrt(width)));
  const auto grouped = [&](Value* x, int64_t to, const char* role) {
    return heads == shared ? x : c.reshape(x, {0, to, -1, 0}, role);
  };
  q = grouped(c.scaled(q, scale, "scale"), shared, "shared_heads");
  k = c.transpose(c.scaled(k, scale, "scale"), {0, 1, 3, 2});
  Value* scores = grouped(c.cast(c.op("matmul", {q, k}), computed), heads, "heads");
  scores = c.cast(modified(c, "score_mod", scores), computed);
  Value* probabilities = c.op("softmax", {scores}, {{"axis", int64_t{-1}}});
  probabilities = c.cast(modified(c, "prob_mod", probabilities), computed);
  Value* y =
      c.op("matmul", {grouped(probabilities, shared, "shared_probabilities"), c.cast(v, computed)});
  return c.finish(c.cast(grouped(y, heads, "heads_of_result"), dtype));
}

Status import_flex_attention(NodeImporter& node) {
  if (node.has("score_mod") || node.has("prob_mod")) return import_flex_formula(node);
  node.drop("softmax_precision");
  STOKER_ASSIGN(Attributes attributes, node.converted());
  return node.finish("attention", node.inputs(), std::move(attributes));
}

constexpr OnnxOp kOps[] = {
    {"", "Attention", import_attention},
    {"", "CausalConvWithState", import_same},
    {"", "LinearAttention", import_same},
    {"", "RotaryEmbedding", import_same},
    {"", "SwiGLU", import_swiglu},
    {"", "TensorScatter", import_same},
    {"ai.onnx.preview", "FlexAttention", import_flex_attention},
};

}  // namespace

std::span<const OnnxOp> attention_ops() { return kOps; }

}  // namespace stoker
