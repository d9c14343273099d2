// Attention over caches of com.microsoft: GroupQueryAttention and RotaryEmbedding.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "import/onnx/contrib_attention.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// ---- RotaryEmbedding.

Value* rotated(Composer& c, Value* x, Value* positions, Value* cosine, Value* sine,
               const Attributes& attributes) {
  return c.op("rotary_embedding", {x, cosine, sine, positions}, attributes);
}

// One position is that of the first token; then every token has the next one.
Value* every_position(Composer& c, Value* positions, Value* x, int64_t row_axis) {
  if (c.rank(positions, "position_ids") != 1) return positions;
  Value *batch = axis_length(c, x, 0), *rows = axis_length(c, x, row_axis);
  return c.op("expand", {c.add(counted(c, rows), positions),
                         c.op("concat", {batch, rows}, {{"axis", int64_t{0}}})});
}

Status import_rotary(NodeImporter& node) {
  Composer c(node);
  Value *x = c.input(0, "input"), *positions = c.input(1, "position_ids");
  Value *cosine = c.input(2, "cos_cache"), *sine = c.input(3, "sin_cache");
  STOKER_TRY(c.status());
  const int64_t rank = c.rank(x, "input");
  int64_t heads = node.get_int("num_heads", 0);
  if (rank == 3 && heads == 0) {  // the tables tell the head size
    const int64_t size = 2 * c.extent(cosine, 1, "cos_cache"), width = c.extent(x, 2, "input");
    if (c.ok() && (size < 1 || width % size != 0)) {
      return invalid_model("input {}: expected a width that the head size {} divides",
                           type_text(x->type), size);
    }
    heads = c.ok() ? width / size : 0;
  }
  Attributes attributes{{"interleaved", node.get_int("interleaved", 0)},
                        {"rotary_embedding_dim", node.get_int("rotary_embedding_dim", 0)}};
  if (rank == 3) attributes.set("num_heads", heads);
  return c.finish(
      rotated(c, x, every_position(c, positions, x, rank == 3 ? 1 : 2), cosine, sine, attributes));
}

// ---- GroupQueryAttention.

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,  // keys of each batch entry after this step, less one
  kTotal,
  kCosine,
  kSine,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kValid,  // rows of each batch entry that are no padding
};

struct Group {
  int64_t heads = 0, kv_heads = 0;
  Value *q = nullptr, *k = nullptr, *v = nullptr;
  Value* rows = nullptr;     // i64[1]
  Value* total = nullptr;    // i64[1]
  Value* lengths = nullptr;  // i64[batch], after this step
  Value* past = nullptr;     // i64[batch], before it
  Value* cache_k = nullptr;
  Value* cache_v = nullptr;
};

Status check_group(const NodeImporter& node) {
  const int64_t heads = node.get_int("num_heads", 0), kv = node.get_int("kv_num_heads", 0);
  if (heads < 1 || kv < 1 || heads % kv != 0) {
    return invalid_model("num_heads and kv_num_heads: expected a multiple, found {} and {}", heads,
                         kv);
  }
  if (node.get_int("sliding_window_cache", 0) != 0) {
    return unsupported("sliding_window_cache: expected 0, caches of the whole sequence");
  }
  const int64_t window = node.get_int("local_window_size", -1);
  if (window == 0 || window < -1) {
    return invalid_model("local_window_size: expected -1 or at least 1, found {}", window);
  }
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (node.get_string(name, "NONE") != "NONE") {
      return unsupported("{}: expected NONE, caches that are not quantized", name);
    }
  }
  return Status::ok();
}

// RMS normalization of every head.
Value* normalized(Composer& c, Value* x, int64_t heads, size_t weight, const char* epsilon) {
  if (!c.optional_input(weight)) return x;
  const double shared = c.node().get_float("qk_norm_epsilon", 1e-6f);
  Value* split = c.reshape(x, {0, 0, heads, -1}, "norm_heads");
  Value* normal = c.op("rms_normalization", {split, c.node().input(weight)},
                       {{"axis", int64_t{-1}}, {"epsilon", c.node().get_float(epsilon, shared)}});
  return c.reshape(normal, {0, 0, -1}, "norm_packed");
}

void read_operands(Composer& c, Group& g) {
  g.heads = c.node().get_int("num_heads", 0);
  g.kv_heads = c.node().get_int("kv_num_heads", 0);
  g.q = c.input(kQuery, "query");
  g.k = c.optional_input(kKey);
  g.v = c.optional_input(kValue);
  if (!c.ok()) return;
  if (!g.k != !g.v) c.fail(invalid_model("key and value: expected both or none"));
  if (!g.k) {
    const int64_t width = c.extent(g.q, 2, "packed query"), all = g.heads + 2 * g.kv_heads;
    if (width % all != 0) {
      c.fail(invalid_model("query: expected a width that {} heads divide, found {}", all, width));
    }
    const int64_t size = width / all;
    const auto parts = parts_of(c, g.q, {g.heads * size, g.kv_heads * size, g.kv_heads * size});
    g.q = parts[0], g.k = parts[1], g.v = parts[2];
  }
  g.q = normalized(c, g.q, g.heads, kQueryNorm, "q_norm_epsilon");
  g.k = normalized(c, g.k, g.kv_heads, kKeyNorm, "k_norm_epsilon");
}

// Where each batch entry stands in its cache.
void read_lengths(Composer& c, Group& g) {
  g.rows = axis_length(c, g.q, 1);
  const auto flat = [&](Value* x) { return c.reshape(c.cast(x, DType::kI64), {-1}, "per_batch"); };
  g.lengths = c.add(flat(c.input(kLengths, "seqlens_k")), c.ints({1}, "one_more"));
  g.total = flat(c.input(kTotal, "total_sequence_length"));
  Value* valid = c.optional_input(kValid);
  valid = valid ? flat(valid) : c.op("min", {g.rows, g.lengths});
  g.past = c.op("sub", {g.lengths, valid});
}

// Positions of the tokens. Of a first prompt only the first given one counts.
Value* token_positions(Composer& c, const Group& g, int64_t table_rows) {
  Value* steps = counted(c, g.rows);
  Value* own = c.add(c.unsqueeze(g.past, {1}, "step_axis"), steps);
  Value* given = c.optional_input(kPositions);
  if (!given) {
    // Rows that are padding may stand beyond the table.
    if (!c.optional_input(kValid)) return own;
    return c.op("min", {own, c.ints({table_rows - 1}, "last_row")});
  }
  Value* first = head_of(c, c.reshape(given, {-1}, "flat_positions"), 0, c.ints({1}, "first"));
  Value* prompt = c.op("equal", {g.total, g.rows});
  return c.op("expand",
              {c.op("where", {prompt, c.add(first, steps), given}), c.op("shape", {own})});
}

void rotate(Composer& c, Group& g) {
  if (c.node().get_int("do_rotary", 0) == 0) return;
  Value *cosine = c.input(kCosine, "cos_cache"), *sine = c.input(kSine, "sin_cache");
  if (!c.ok()) return;
  Attributes attributes{
      {"interleaved", c.node().get_int("rotary_interleaved", 0)},
      {"rotary_embedding_dim", 2 * c.extent(cosine, 1, "cos_cache")},
      {"num_heads", g.heads},
  };
  const int64_t table_rows = c.optional_input(kValid) ? c.extent(cosine, 0, "cos_cache") : 0;
  Value* positions = token_positions(c, g, table_rows);
  g.q = rotated(c, g.q, positions, cosine, sine, attributes);
  attributes.set("num_heads", g.kv_heads);
  g.k = rotated(c, g.k, positions, cosine, sine, attributes);
}

// The new keys and values, in the caches where there are any.
void write_caches(Composer& c, Group& g) {
  Value *past_k = c.optional_input(kPastKey), *past_v = c.optional_input(kPastValue);
  if (!past_k != !past_v) c.fail(invalid_model("past_key and past_value: expected both or none"));
  if (!c.ok() || !past_k) return;
  g.cache_k = written_cache(c, past_k, with_head_axis(c, g.k, g.kv_heads), g.past, g.total);
  g.cache_v = written_cache(c, past_v, with_head_axis(c, g.v, g.kv_heads), g.past, g.total);
  g.k = g.cache_k;
  g.v = g.cache_v;
}

// A score per head that only enlarges the denominator; 0 for a smooth softmax.
Value* softmax_sink(Composer& c, const Group& g) {
  if (Value* given = c.optional_input(kSink)) return given;
  if (c.node().get_int("smooth_softmax", -1) != 1) return nullptr;
  return c.op("expand", {c.scalar(c.dtype(g.q), 0, "sink"), c.ints({g.heads}, "sink_heads")});
}

Attributes group_attributes(const NodeImporter& node, const Group& g) {
  Attributes attributes{{"q_num_heads", g.heads},
                        {"kv_num_heads", g.kv_heads},
                        {"is_causal", node.get_int("causal", 1)},
                        {"softcap", node.get_float("softcap", 0)},
                        {"window", std::max<int64_t>(node.get_int("local_window_size", -1), 0)}};
  const double scale = node.get_float("scale", 0);
  if (scale != 0) attributes.set("scale", scale);
  // Scores with everything added, or probabilities.
  const int64_t scores = node.get_int("qk_output", 0);
  if (scores != 0) attributes.set("qk_matmul_output_mode", scores == 1 ? int64_t{2} : int64_t{3});
  return attributes;
}

Status import_group_query(NodeImporter& node) {
  STOKER_TRY(check_group(node));
  Composer c(node);
  Group g;
  read_operands(c, g);
  read_lengths(c, g);
  rotate(c, g);
  write_caches(c, g);
  const bool scores = node.wants(3), causal = node.get_int("causal", 1) != 0;
  if (g.cache_k) g.q = with_head_axis(c, g.q, g.heads);
  // A causal row ends at its own position; counting from the last one, padding included, gives each
  // row its position.
  Value* lengths = causal ? c.add(g.past, g.rows) : g.lengths;
  std::vector<Value*> inputs{g.q,     g.k,     g.v,     c.optional_input(kBias),
                             nullptr, nullptr, lengths, softmax_sink(c, g)};
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  const auto made = c.outputs("attention", std::move(inputs), group_attributes(node, g),
                              scores      ? 4
                              : g.cache_k ? 1
                                          : 3);
  c.bind(1, g.cache_k ? g.cache_k : made.size() > 1 ? made[1] : nullptr);
  c.bind(2, g.cache_v ? g.cache_v : made.size() > 2 ? made[2] : nullptr);
  if (scores) {  // 0 where a key is masked
    Value* seen = head_of(c, made[3], 3, g.total);
    Value* masked = c.op("is_inf", {seen}, {{"detect_positive", int64_t{0}}});
    c.bind(3, c.op("where", {masked, c.scalar(c.dtype(seen), 0, "masked_score"), seen}));
  }
  return c.finish(g.cache_k ? without_head_axis(c, made[0]) : made[0]);
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "GroupQueryAttention", import_group_query},
    {"com.microsoft", "RotaryEmbedding", import_rotary},
};

}  // namespace

std::span<const OnnxOp> contrib_cached_ops() { return kOps; }

}  // namespace stoker
