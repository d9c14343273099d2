// Domain com.microsoft: mixtures of experts. Every expert computes every token and the router's
// weights, zero for the experts that a token did not choose, sum up the results: all products are
// plain batched ones, and the answer is that of computing the chosen ones alone.
// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include "base/status.h"
#include "import/onnx/op_table.h"
#include "import/onnx/packed_weights.h"

namespace stoker {

namespace {

struct Expert {
  Value *weight, *bias;  // [experts, in, out], [experts, out] or null
};

struct Mixture {
  Value *x, *router;
  Expert up, down, gated;    // gated.weight is null without a third product
  Value* weights = nullptr;  // [tokens, experts]: mixes with these instead of the router's
};

// [experts, tokens, 1]: softmax of the router's numbers, kept for the k largest of each token.
Value* mixing_weights(Composer& c, const Mixture& m) {
  NodeImporter& node = c.node();
  Value* shares = c.op("softmax", {m.router}, {{"axis", int64_t{-1}}});
  const auto best = c.outputs("top_k", {shares, c.ints({node.get_int("k", 1)}, "k")}, {}, 2);
  Value* kept = best[0];
  if (m.weights) {
    kept = c.op("gather_elements", {m.weights, best[1]}, {{"axis", int64_t{-1}}});
  }
  if (node.get_int("normalize_routing_weights", 0) != 0) {
    kept = c.op("div", {kept, c.op("reduce_sum", {kept, c.ints({-1}, "chosen")})});
  }
  Value* none = c.op("expand", {c.scalar(c.dtype(kept), 0, "not_chosen"), c.op("shape", {shares})});
  Value* dense = c.op("scatter_elements", {none, best[1], kept}, {{"axis", int64_t{-1}}});
  return c.unsqueeze(c.transpose(dense, {1, 0}), {2}, "weight_axis");
}

Value* product(Composer& c, Value* x, const Expert& expert) {
  Value* y = c.op("matmul", {x, expert.weight});
  return expert.bias ? c.add(y, c.unsqueeze(expert.bias, {1}, "bias_axis")) : y;
}

// The halves of the last axis: alternating elements (fusion 1) or one behind the other (2).
std::pair<Value*, Value*> halves(Composer& c, Value* x, int64_t fusion) {
  const Attributes last = {{"axis", int64_t{-1}}};
  if (fusion == 1) {
    x = c.reshape(x, {0, 0, -1, 2}, "pairs");
    return {c.op("gather", {x, c.scalar(DType::kI64, 0, "first")}, last),
            c.op("gather", {x, c.scalar(DType::kI64, 1, "second")}, last)};
  }
  const auto parts =
      c.outputs("split", {x}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}}, 2);
  return {parts[0], parts[1]};
}

// g * sigmoid(alpha * g) * (l + beta), with both clamped where there is a limit.
Value* swiglu(Composer& c, Value* gate, Value* linear) {
  NodeImporter& node = c.node();
  const double alpha = node.get_float("activation_alpha", 1);
  const double beta = node.get_float("activation_beta", 0);
  const bool after = node.get_int("swiglu_limit_after_activation", 0) != 0;
  Value* limit = nullptr;
  if (node.has("swiglu_limit")) {
    const double most = node.get_float("swiglu_limit", 0);
    limit = c.scalar(c.dtype(gate), most, "limit");
    linear = c.op("clip", {linear, c.scalar(c.dtype(gate), -most, "lower_limit"), limit});
    if (!after) gate = c.op("clip", {gate, nullptr, limit});
  }
  gate = c.op("swish", {gate}, {{"alpha", alpha}});
  if (limit && after) gate = c.op("clip", {gate, nullptr, limit});
  if (beta != 0) linear = c.add(linear, c.scalar(c.dtype(linear), beta, "beta"));
  return c.mul(gate, linear);
}

Value* activated(Composer& c, const Mixture& m, Value* x) {
  NodeImporter& node = c.node();
  const std::string kind = node.get_string("activation_type", "relu");
  const Attributes tanh_form = {{"approximate", std::string("tanh")}};
  Value* y = product(c, x, m.up);
  Value* linear = m.gated.weight ? product(c, x, m.gated) : nullptr;
  if (kind == "swiglu" || kind == "geglu") {
    Value* gate = y;
    if (!linear) std::tie(gate, linear) = halves(c, y, node.get_int("swiglu_fusion", 0));
    return kind == "swiglu" ? swiglu(c, gate, linear)
                            : c.mul(c.op("gelu", {gate}, tanh_form), linear);
  }
  if (kind == "relu") {
    y = c.op("relu", {y});
  } else if (kind == "relu2") {
    y = c.op("relu", {y});
    y = c.mul(y, y);
  } else if (kind == "gelu") {
    y = c.op("gelu", {y}, tanh_form);
  } else if (kind == "silu") {
    y = c.op("swish", {y});
  } else if (kind != "identity") {
    c.fail(unsupported("activation_type '{}' is not known", kind));
  }
  return linear ? c.mul(y, linear) : y;
}

Status finish_mixture(Composer& c, const Mixture& m) {
  if (c.node().get_int("use_sparse_mixer", 0) != 0) {
    return unsupported("use_sparse_mixer: expected 0, found {}",
                       c.node().get_int("use_sparse_mixer", 0));
  }
  const std::string kind = c.node().get_string("activation_type", "relu");
  const int64_t fusion = c.node().get_int("swiglu_fusion", 0);
  if ((kind == "swiglu" || kind == "geglu") && !m.gated.weight && fusion != 1 && fusion != 2) {
    return invalid_model("swiglu_fusion is {} without a third product, expected 1 or 2", fusion);
  }
  const bool flat = c.rank(m.x, "input") == 2;
  const int64_t width = c.extent(m.x, -1, "input");
  Value* x = flat ? m.x : c.reshape(m.x, {-1, width}, "tokens");
  Value* y = product(c, activated(c, m, x), m.down);
  Value* weights = mixing_weights(c, m);
  // What an expert makes of a token that is not meant for it may be infinite.
  Value* zero = c.scalar(c.dtype(y), 0, "nothing");
  y = c.op("where", {c.op("equal", {weights, zero}), zero, c.mul(y, weights)});
  y = c.op("reduce_sum", {y, c.ints({0}, "experts")}, {{"keepdims", int64_t{0}}});
  return c.finish(flat ? y : c.op("reshape", {y, c.op("shape", {m.x})}));
}

// [experts, out, in] of today or [experts, in, out] of the first versions, told by the known width
// of one side, to the latter.
Value* expert_weight(Composer& c, size_t i, int64_t width, bool width_is_in, const char* what) {
  Value* w = c.input(i, what);
  if (c.rank(w, what) != 3) {
    c.fail(invalid_model("{}: expected rank 3, found {}", what, c.ok() ? type_text(w->type) : ""));
  }
  const int64_t last = c.extent(w, 2, what), middle = c.extent(w, 1, what);
  const bool old =
      width_is_in ? last != width && middle == width : middle != width && last == width;
  return old ? w : c.transpose(w, {0, 2, 1});
}

Status import_moe(NodeImporter& node) {
  Composer c(node);
  Mixture m{c.input(0, "input"), c.input(1, "router_probs"), {}, {}, {}};
  const int64_t width = c.extent(m.x, -1, "input");
  m.up = {expert_weight(c, 2, width, true, "fc1"), c.optional_input(3)};
  m.down = {expert_weight(c, 4, width, false, "fc2"), c.optional_input(5)};
  if (node.has_input(6)) {
    m.gated = {expert_weight(c, 6, width, true, "fc3"), c.optional_input(7)};
  }
  STOKER_TRY(c.status());
  return finish_mixture(c, m);
}

// Bytes [experts, out, in * bits / 8] with a scale for each row or each block of a row.
Value* quantized_expert(Composer& c, size_t i, size_t scale_at, size_t zero_at, int64_t bits,
                        const char* what) {
  const int64_t given = c.node().get_int("block_size", 0);
  if (const auto dtype = packed_dtype(bits); !dtype.is_ok()) {
    c.fail(dtype.status());
    return nullptr;
  }
  Value *w = c.input(i, what), *scale = c.input(scale_at, "scales");
  Value* zeros = c.optional_input(zero_at);
  if (c.rank(w, what) != 3) {
    c.fail(invalid_model("{}: expected rank 3, found {}", what, c.ok() ? type_text(w->type) : ""));
  }
  const int64_t rows = c.extent(w, 1, what), row = c.extent(w, 2, what) * 8 / bits;
  const bool blocked = c.rank(scale, "scales") == 3;
  std::vector<Value*> packed = {w, zeros};
  unpack_together(c, bits, packed, {row, blocked ? c.extent(scale, 2, "scales") : rows});
  zeros = packed[1];
  if (!blocked) {
    scale = c.unsqueeze(scale, {2}, "scale_axis");
    if (zeros) zeros = c.unsqueeze(zeros, {2}, "zero_axis");
  }
  const double middle = static_cast<double>(int64_t{1} << (bits - 1));
  const int64_t block = blocked && given > 0 ? given : row;
  w = dequantize_blocks(c, {packed[0], scale, zeros, 2, block, middle});
  return c.transpose(w, {0, 2, 1});
}

Status import_quantized_moe(NodeImporter& node) {
  const std::string kind = node.get_string("quant_type", "int");
  if (kind != "int" || node.get_int("weights_prepacked", 0) > 0) {
    return unsupported("quant_type '{}', weights_prepacked {}: expected 'int' and 0", kind,
                       node.get_int("weights_prepacked", 0));
  }
  Composer c(node);
  const int64_t bits = node.get_int("expert_weight_bits", 4);
  const auto width = [&](const char* name) { return node.get_int(name, bits); };
  Mixture m{c.input(0, "input"), c.input(1, "router_probs"), {}, {}, {}};
  m.up = {quantized_expert(c, 2, 3, 11, width("fc1_expert_weight_bits"), "fc1"),
          c.optional_input(4)};
  m.down = {quantized_expert(c, 5, 6, 12, width("fc2_expert_weight_bits"), "fc2"),
            c.optional_input(7)};
  if (node.has_input(8)) {
    m.gated = {quantized_expert(c, 8, 9, 13, width("fc3_expert_weight_bits"), "fc3"),
               c.optional_input(10)};
  }
  m.weights = c.optional_input(14);
  STOKER_TRY(c.status());
  return finish_mixture(c, m);
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "MoE", import_moe},
    {"com.microsoft", "QMoE", import_quantized_moe},
};

}  // namespace

std::span<const OnnxOp> contrib_moe_ops() { return kOps; }

}  // namespace stoker
