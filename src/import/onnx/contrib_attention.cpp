// Multi-head attention of com.microsoft: with projections of its own (Attention, QAttention) or
// without (MultiHeadAttention, DecoderMaskedMultiHeadAttention).
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/contrib_attention.h"
#include "base/status.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

AttentionCall call_of(const NodeImporter& node) {
  AttentionCall call;
  call.heads = node.get_int("num_heads", 0);
  call.scale = node.get_float("scale", 0);
  call.filter = node.get_float("mask_filter_value", -10000);
  call.causal = node.get_int("unidirectional", 0) != 0;
  return call;
}

Status check_heads(const NodeImporter& node) {
  const int64_t heads = node.get_int("num_heads", 0);
  if (heads >= 1) return Status::ok();
  return invalid_model("attribute 'num_heads': expected at least 1, found {}", heads);
}

// ---- Attention and QAttention: one product makes Q, K and V.

std::vector<int64_t> projected_sizes(Composer& c, const Value* weights) {
  const std::vector<int64_t> sizes = c.node().get_ints("qkv_hidden_sizes");
  const int64_t width = c.extent(weights, 1, "weights");
  if (sizes.empty() && width % 3 == 0) return {width / 3, width / 3, width / 3};
  int64_t sum = 0;
  bool fits = sizes.size() == 3;
  for (const int64_t size : sizes) {
    fits = fits && size >= 0 && size <= width;
    if (fits) sum += size;
  }
  if (!fits || sum != width) {
    c.fail(
        invalid_model("attribute 'qkv_hidden_sizes': expected three sizes whose sum is the "
                      "weights' width {}",
                      width));
    return {};
  }
  return sizes;
}

Status refuse_rotary(const NodeImporter& node) {
  if (node.get_int("do_rotary", 0) == 0) return Status::ok();
  return unsupported("do_rotary: expected 0; use RotaryEmbedding before MultiHeadAttention");
}

// `past` and `present` hold keys and values in one tensor.
Status finish_projected(Composer& c, Value* projected, const Value* weights, size_t mask,
                        size_t past) {
  AttentionCall call = call_of(c.node());
  const std::vector<int64_t> sizes = projected_sizes(c, weights);
  STOKER_TRY(c.status());
  const std::vector<Value*> parts = parts_of(c, projected, sizes);
  call.q = parts[0], call.k = parts[1], call.v = parts[2];
  call.mask = c.optional_input(mask);
  if (c.node().op_type() == "Attention") {
    call.bias = c.optional_input(5);
    if (c.node().get_int("past_present_share_buffer", 0) != 0) {
      call.past_length = c.input(6, "past_sequence_length");
    }
  }
  if (Value* both = c.optional_input(past)) {
    const auto half = [&](int64_t i) {
      return c.op("squeeze", {c.slice(both, 0, i, i + 1, "past"), c.ints({0}, "past_axis")});
    };
    call.past_k = half(0);
    call.past_v = half(1);
  }
  const AttentionValues made = compose_attention(c, call, false);
  if (c.node().wants(1)) {
    c.bind(1, c.op("concat",
                   {c.unsqueeze(made.present_k, {0}, "half_axis"),
                    c.unsqueeze(made.present_v, {0}, "half_axis")},
                   {{"axis", int64_t{0}}}));
  }
  return c.finish(made.y);
}

Status import_attention(NodeImporter& node) {
  STOKER_TRY(check_heads(node));
  STOKER_TRY(refuse_rotary(node));
  Composer c(node);
  Value* weights = c.input(1, "weights");
  Value* projected = c.op("matmul", {c.input(0, "input"), weights});
  if (node.has_input(2)) projected = c.add(projected, node.input(2));
  STOKER_TRY(c.status());
  return finish_projected(c, projected, weights, 3, 4);
}

// Inputs: input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point,
// weight_zero_point, past. The product is exact in integers.
Status import_q_attention(NodeImporter& node) {
  STOKER_TRY(check_heads(node));
  STOKER_TRY(refuse_rotary(node));
  if (node.get_int("past_present_share_buffer", 0) != 0) {
    return unsupported("past_present_share_buffer: expected 0");
  }
  Composer c(node);
  Value *x = c.input(0, "input"), *weights = c.input(1, "weight"), *bias = c.input(2, "bias");
  Value* scale = c.mul(c.input(3, "input_scale"), c.input(4, "weight_scale"));
  std::vector<Value*> operands{x, weights, c.optional_input(6), c.optional_input(7)};
  while (!operands.back() && operands.size() > 2) operands.pop_back();
  Value* sums = c.op("matmul_integer", std::move(operands));
  Value* projected = c.add(c.mul(c.cast(sums, c.dtype(bias)), scale), bias);
  STOKER_TRY(c.status());
  return finish_projected(c, projected, weights, 5, 8);
}

// ---- MultiHeadAttention and DecoderMaskedMultiHeadAttention.

// Q, K and V as they come: apart, keys with values, or all in one.
void unpack(Composer& c, AttentionCall& call) {
  call.q = c.input(0, "query");
  call.k = c.optional_input(1);
  call.v = c.optional_input(2);
  if (!c.ok()) return;
  const auto check = [&](Value* packed, int64_t parts) {
    const int64_t found = c.extent(packed, 3, "packed operand");
    if (!c.ok() || found == parts) return;
    c.fail(invalid_model("packed operand {}: expected {} parts along axis 3",
                         type_text(packed->type), parts));
  };
  const auto part = [&](Value* packed, int64_t i) {
    return c.reshape(c.slice(packed, 3, i, i + 1, "packed"), {0, 0, -1}, "unpacked");
  };
  if (c.rank(call.q, "query") == 5) {
    Value* packed = call.q;
    check(packed, 3);
    call.q = part(packed, 0), call.k = part(packed, 1), call.v = part(packed, 2);
  } else if (!call.k) {  // [batch, length, 2 * hidden + v_hidden], all equal
    const int64_t width = c.extent(call.q, 2, "packed query");
    if (width % 3 != 0)
      c.fail(invalid_model("query: expected a width that 3 divides, found {}", width));
    const auto parts = parts_of(c, call.q, {width / 3, width / 3, width / 3});
    call.q = parts[0], call.k = parts[1], call.v = parts[2];
  } else if (c.rank(call.k, "key") == 5) {
    Value* packed = call.k;
    check(packed, 2);
    call.k = part(packed, 0), call.v = part(packed, 1);
  } else if (!call.v) {
    c.fail(invalid_model("value is left out, expected packed keys of rank 5, found {}",
                         type_text(call.k->type)));
  }
}

// The bias of the input projections. Keys with an axis of heads come from a cache, with theirs.
void add_projection_bias(Composer& c, AttentionCall& call, size_t input) {
  Value* bias = c.optional_input(input);
  if (!bias || !c.ok()) return;
  const int64_t hidden = c.extent(call.q, 2, "query"), all = c.extent(bias, 0, "bias");
  if (all < 2 * hidden) {
    c.fail(invalid_model("bias: expected at least {} elements, found {}", 2 * hidden, all));
    return;
  }
  call.q = c.add(call.q, c.slice(bias, 0, 0, hidden, "q_bias"));
  if (c.rank(call.k, "key") == 4) return;
  call.k = c.add(call.k, c.slice(bias, 0, hidden, 2 * hidden, "k_bias"));
  call.v = c.add(call.v, c.slice(bias, 0, 2 * hidden, all, "v_bias"));
}

Status finish_multi_head(Composer& c, const AttentionCall& call) {
  STOKER_TRY(c.status());
  const AttentionValues made = compose_attention(c, call, c.node().wants(3));
  c.bind(1, made.present_k);
  c.bind(2, made.present_v);
  if (c.node().wants(3)) c.bind(3, made.scores);
  return c.finish(made.y);
}

Status import_multi_head(NodeImporter& node) {
  STOKER_TRY(check_heads(node));
  Composer c(node);
  AttentionCall call = call_of(node);
  unpack(c, call);
  add_projection_bias(c, call, 3);
  call.mask = c.optional_input(4);
  call.bias = c.optional_input(5);
  call.past_k = c.optional_input(6);
  call.past_v = c.optional_input(7);
  if (call.past_k) call.past_length = c.optional_input(8);
  call.beams = c.optional_input(9);
  return finish_multi_head(c, call);
}

Status import_decoder_masked(NodeImporter& node) {
  STOKER_TRY(check_heads(node));
  Composer c(node);
  AttentionCall call = call_of(node);
  unpack(c, call);
  add_projection_bias(c, call, 10);
  call.mask = c.optional_input(3);
  call.bias = c.optional_input(4);
  call.past_k = c.optional_input(5);
  call.past_v = c.optional_input(6);
  if (call.past_k && node.get_int("past_present_share_buffer", 0) != 0) {
    call.past_length = c.input(7, "past_sequence_length");
  }
  call.beams = c.optional_input(9);
  return finish_multi_head(c, call);
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "Attention", import_attention},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", import_decoder_masked},
    {"com.microsoft", "MultiHeadAttention", import_multi_head},
    {"com.microsoft", "QAttention", import_q_attention},
};

}  // namespace

std::span<const OnnxOp> contrib_attention_ops() { return kOps; }

}  // namespace stoker
