// Domain com.microsoft: linear attention and convolution with a state, as the standard has them
// too, and attention on batches without padding.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/contrib_attention.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Attributes that the operator of the standard does not have must say what it does.
Status check_plain(NodeImporter& node,
                   std::initializer_list<std::pair<const char*, int64_t>> expected) {
  for (const auto& [name, value] : expected) {
    if (node.get_int(name, value) != value) {
      return unsupported("{}: expected {}, found {}", name, value, node.get_int(name, value));
    }
    node.drop(name);
  }
  return Status::ok();
}

Status import_linear_attention(NodeImporter& node) {
  STOKER_TRY(check_plain(node, {{"state_window", 0}}));
  return import_same(node);
}

Status import_causal_conv(NodeImporter& node) {
  STOKER_TRY(check_plain(node, {{"ndim", 1},
                                {"dilation", 1},
                                {"state_window", 0},
                                {"input_channels", 0},
                                {"input_channel_offset", 0},
                                {"state_length", 0},
                                {"state_update_capacity", 0}}));
  Composer c(node);
  const bool last = node.get_int("channels_last", 0) != 0;
  const int64_t state = node.get_int("state_channels_last", -1);
  const bool state_last = state < 0 ? last : state != 0;
  const auto turned = [&](Value* x, bool turn) {
    return turn && x ? c.transpose(x, {0, 2, 1}) : x;
  };
  std::vector<Value*> inputs = {turned(c.input(0, "input"), last), c.input(1, "weight"),
                                c.optional_input(2), turned(c.optional_input(3), state_last)};
  while (inputs.size() > 2 && !inputs.back()) inputs.pop_back();
  const auto made = c.outputs("causal_conv_with_state", std::move(inputs),
                              {{"activation", node.get_string("activation", "none")}}, 2);
  c.bind(1, turned(made[1], state_last));
  return c.finish(turned(made[0], last));
}

// ---- Batches without padding: all tokens, one sequence behind the other.

struct Packing {
  Value* offsets = nullptr;  // [batch, length]: places in the padded batch, the tokens' first
  Value* places = nullptr;   // those of the tokens
  Value* lengths = nullptr;  // of each sequence
};

// The places stand at input `i`, where each sequence starts behind that.
Packing read_packing(Composer& c, Value* tokens, size_t i) {
  Packing p;
  p.offsets = c.input(i, "token_offset");
  const auto vector = [&](Value* x) { return c.cast(c.reshape(x, {-1}, "vector"), DType::kI64); };
  Value* starts = vector(c.input(i + 1, "cumulative_sequence_length"));
  p.lengths =
      c.op("sub", {c.slice(starts, 0, 1, INT64_MAX, "ends"), c.slice(starts, 0, 0, -1, "starts")});
  p.places = head_of(c, vector(p.offsets), 0, axis_length(c, tokens, 0));
  return p;
}

// [tokens, width] as [batch, length, width], with zeros in between.
Value* with_padding(Composer& c, const Packing& p, Value* x) {
  const Attributes along = {{"axis", int64_t{0}}};
  Value* width = axis_length(c, x, 1);
  Value* count = c.reshape(c.op("size", {p.offsets}), {1}, "places");
  Value* zeros =
      c.op("expand", {c.scalar(c.dtype(x), 0, "padding"), c.op("concat", {count, width}, along)});
  Value* filled = c.op("scatter_nd", {zeros, c.unsqueeze(p.places, {1}, "place_axis"), x});
  return c.op("reshape", {filled, c.op("concat", {c.op("shape", {p.offsets}), width}, along)});
}

Status finish_packed(Composer& c, const Packing& p, std::vector<Value*> parts, Value* bias) {
  const int64_t heads = c.node().get_int("num_heads", 0);
  const double scale = c.node().get_float("scale", 0);
  const int64_t width = c.extent(parts[2], 1, "value");
  for (Value*& x : parts) x = with_padding(c, p, x);
  Attributes attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (scale != 0) attributes.set("scale", scale);
  Value* y = c.op("attention", {parts[0], parts[1], parts[2], bias, nullptr, nullptr, p.lengths},
                  std::move(attributes));
  y = c.reshape(y, {-1, width}, "padded_rows");
  return c.finish(c.op("gather", {y, p.places}, {{"axis", int64_t{0}}}));
}

// Inputs: input, weights, bias, token_offset, cumulative_sequence_length, attention_bias.
Status import_packed_attention(NodeImporter& node) {
  Composer c(node);
  Value* tokens = c.input(0, "input");
  Value* x = c.add(c.op("matmul", {tokens, c.input(1, "weights")}), c.input(2, "bias"));
  std::vector<int64_t> widths = node.get_ints("qkv_hidden_sizes");
  if (widths.empty()) widths.assign(3, c.extent(x, 1, "projection") / 3);
  if (widths.size() != 3) {
    return invalid_model("qkv_hidden_sizes has {} elements, expected 3", widths.size());
  }
  return finish_packed(c, read_packing(c, tokens, 3), parts_of(c, x, widths), c.optional_input(5));
}

// Inputs: query, key, value, bias, token_offset, cumulative_sequence_length, attention_bias.
Status import_packed_multi_head(NodeImporter& node) {
  Composer c(node);
  Value *q = c.input(0, "query"), *bias = c.optional_input(3);
  std::vector<Value*> parts;
  if (c.rank(q, "query") == 4) {  // [tokens, heads, 3, width]
    const int64_t width = c.extent(q, 1, "query") * c.extent(q, 3, "query");
    parts = c.outputs("split", {q}, {{"axis", int64_t{2}}, {"num_outputs", int64_t{3}}}, 3);
    for (Value*& x : parts) x = c.reshape(x, {-1, width}, "unpacked");
  } else {
    parts = {q, c.input(1, "key"), c.input(2, "value")};
  }
  if (bias) {
    const int64_t width = c.extent(parts[0], 1, "query");
    const auto biases = parts_of(c, bias, {width, width, c.extent(parts[2], 1, "value")});
    for (size_t i = 0; i < 3; ++i) parts[i] = c.add(parts[i], biases[i]);
  }
  return finish_packed(c, read_packing(c, q, 4), std::move(parts), c.optional_input(6));
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "CausalConvWithState", import_causal_conv},
    {"com.microsoft", "LinearAttention", import_linear_attention},
    {"com.microsoft", "PackedAttention", import_packed_attention},
    {"com.microsoft", "PackedMultiHeadAttention", import_packed_multi_head},
};

}  // namespace

std::span<const OnnxOp> contrib_sequence_ops() { return kOps; }

}  // namespace stoker
