// Llama-family decoders in the shapes of SmolLM2-135M and Llama-3.2-1B, each as a step (one token,
// caches in and out) and as a prefill (all tokens, caches out), spelled as exporters do: RMSNorm,
// rotary positions, shared key-value heads and SwiGLU in primitive nodes, one table for embedding
// and logits. Weights named as in Hugging Face. Touvron et al., "LLaMA", 2023; Allal et al.,
// "SmolLM2", 2025; Llama 3.2 model card, 2024.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "zoo/models.h"
#include "zoo/transformer.h"

namespace stoker::zoo {

namespace {

struct Llama {
  int64_t hidden, feed_forward, layers, heads, shared_heads, vocabulary;
  double theta;  // base of the rotary frequencies
  bool step;     // one token behind caches; otherwise all tokens at once
};

constexpr int64_t kHeadSize = 64;
constexpr int64_t kHalf = kHeadSize / 2;
// Rows of the rotary tables. Llama-3.2 stretches its low frequencies to reach 131,072 positions;
// the table here is that of the 8,192 positions it was trained on, without stretching.
constexpr int64_t kPositions = 8192;
constexpr float kEpsilon = 1e-5f;
constexpr float kLowest = -3.4028235e38f;
constexpr double kSharp = 1.4;   // gain of queries and keys: scores that single tokens out
constexpr double kBranch = 0.5;  // gain at the end of a residual branch

struct Rotation {
  double cosine = 1, sine = 0;
};

// Of an angle of at most 1, by the power series: the library's own functions differ between
// machines in the last bit.
Rotation rotation_by(double angle) {
  Rotation sum{0, 0};
  double term = 1;
  for (int n = 0; n < 24; n += 2) {
    sum.cosine += n % 4 == 0 ? term : -term;
    term *= angle / (n + 1);
    sum.sine += n % 4 == 0 ? term : -term;
    term *= angle / (n + 2);
  }
  return sum;
}

struct RotaryTables {
  std::vector<float> cosine, sine;  // [positions, head size], both halves alike
};

RotaryTables rotary_tables(double theta) {
  RotaryTables tables;
  tables.cosine.resize(kPositions * kHeadSize);
  tables.sine.resize(kPositions * kHeadSize);
  double ratio = theta;  // between two frequencies: theta^(1/32), by five exact square roots
  for (int64_t n = kHalf; n > 1; n /= 2) ratio = std::sqrt(ratio);
  double frequency = 1;
  for (int64_t i = 0; i < kHalf; ++i, frequency /= ratio) {
    const Rotation turn = rotation_by(frequency);
    Rotation at;
    for (int64_t p = 0; p < kPositions; ++p) {
      for (const int64_t column : {i, i + kHalf}) {
        tables.cosine[static_cast<size_t>(p * kHeadSize + column)] = static_cast<float>(at.cosine);
        tables.sine[static_cast<size_t>(p * kHeadSize + column)] = static_cast<float>(at.sine);
      }
      at = {at.cosine * turn.cosine - at.sine * turn.sine,
            at.sine * turn.cosine + at.cosine * turn.sine};
    }
  }
  return tables;
}

std::string rms_norm(ModelBuilder& model, const std::string& x, int64_t width,
                     const std::string& name) {
  const std::string squared = model.node("Pow", {x, model.scalar("two", 2.0f)});
  const std::string mean =
      model.node("ReduceMean", {squared}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
  const std::string root =
      model.node("Sqrt", {model.node("Add", {mean, model.scalar("epsilon", kEpsilon)})});
  const std::string inverse = model.node("Div", {model.scalar("one", 1.0f), root});
  const std::string normal = model.node("Mul", {x, inverse});
  return model.node("Mul", {model.uniform(name + ".weight", {width}, 0.9, 1.1), normal});
}

// What every layer uses.
struct Shared {
  std::string cosine, sine;  // [N, 1, S, head size]
  std::string mask;          // [N, 1, S, T], added to the scores
};

// Rows of a rotary table at the given positions.
std::string rows_at(ModelBuilder& model, const std::string& table, const std::string& positions) {
  const std::string rows = model.node("Gather", {table, positions}, {{"axis", int64_t{0}}});
  return model.node("Unsqueeze", {rows, model.ints("axes_1", {1})});
}

std::string rotate(ModelBuilder& model, const std::string& x, const Shared& shared,
                   const std::string& output = "") {
  const std::string middle = model.ints("half", {kHalf});
  const std::string axis = model.ints("axes_3", {3});
  const std::string low = model.node("Slice", {x, model.ints("axes_0", {0}), middle, axis});
  const std::string high = model.node("Slice", {x, middle, model.ints("end", {INT64_MAX}), axis});
  const std::string turned =
      model.node("Concat", {model.node("Neg", {high}), low}, {{"axis", int64_t{-1}}});
  const std::string kept = model.node("Mul", {x, shared.cosine});
  return model.node("Add", {kept, model.node("Mul", {turned, shared.sine})}, {}, output);
}

// Each key-value head once per query head that reads it.
std::string repeat_heads(ModelBuilder& model, const std::string& x, const Llama& llama) {
  const std::string wide = model.node("Unsqueeze", {x, model.ints("axes_2", {2})});
  const std::string heads =
      model.ints("head_groups", {llama.shared_heads, llama.heads / llama.shared_heads});
  const std::string shape = model.node(
      "Concat",
      {extent_of(model, x, 0), heads, extent_of(model, x, 2), model.ints("head_size", {kHeadSize})},
      {{"axis", int64_t{0}}});
  const std::string copies = model.node("Expand", {wide, shape});
  const std::string joined =
      model.node("Concat",
                 {extent_of(model, x, 0), model.ints("heads", {llama.heads}),
                  extent_of(model, x, 2), model.ints("head_size", {kHeadSize})},
                 {{"axis", int64_t{0}}});
  return model.node("Reshape", {copies, joined});
}

std::string attention(ModelBuilder& model, const std::string& x, const Llama& llama,
                      const Shared& shared, int64_t layer) {
  const std::string name = "model.layers." + std::to_string(layer) + ".self_attn";
  const std::string past = "past_key_values." + std::to_string(layer);
  const std::string present = "present." + std::to_string(layer);
  const auto heads = [&](const char* part, int64_t count, double gain) {
    const std::string y = project(model, x, llama.hidden, count * kHeadSize, name + part,
                                  deviation_for(llama.hidden, gain));
    const std::string shape = "split_" + std::to_string(count) + "_heads";
    return model.node("Reshape", {y, model.ints(shape, {0, 0, count, kHeadSize})});
  };
  const AttributeList swap = {{"perm", Ints{0, 2, 1, 3}}};
  const std::string query =
      rotate(model, model.node("Transpose", {heads(".q_proj", llama.heads, kSharp)}, swap), shared);
  std::string key = model.node("Transpose", {heads(".k_proj", llama.shared_heads, kSharp)}, swap);
  key = rotate(model, key, shared, llama.step ? "" : present + ".key");
  std::string value = model.node("Transpose", {heads(".v_proj", llama.shared_heads, 1)}, swap,
                                 llama.step ? "" : present + ".value");
  if (llama.step) {
    const AttributeList tokens = {{"axis", int64_t{2}}};
    key = model.node("Concat", {past + ".key", key}, tokens, present + ".key");
    value = model.node("Concat", {past + ".value", value}, tokens, present + ".value");
  }
  const std::string keys =
      model.node("Transpose", {repeat_heads(model, key, llama)}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::string values = repeat_heads(model, value, llama);
  const std::string scores =
      model.node("Mul", {model.node("MatMul", {query, keys}), model.scalar("head_scale", 0.125f)});
  const std::string weights = softmax(model, model.node("Add", {scores, shared.mask}));
  const int64_t width = llama.heads * kHeadSize;
  const std::string joined = join_heads(model, model.node("MatMul", {weights, values}), width);
  return project(model, joined, width, llama.hidden, name + ".o_proj", deviation_for(width));
}

std::string feed_forward(ModelBuilder& model, const std::string& x, const Llama& llama,
                         const std::string& name) {
  const auto widen = [&](const char* part) {
    return project(model, x, llama.hidden, llama.feed_forward, name + part,
                   deviation_for(llama.hidden));
  };
  const std::string gate = widen(".gate_proj");
  const std::string open = model.node("Mul", {gate, model.node("Sigmoid", {gate})});
  const std::string inner = model.node("Mul", {open, widen(".up_proj")});
  // silu halves a normal input about.
  return project(model, inner, llama.feed_forward, llama.hidden, name + ".down_proj",
                 deviation_for(llama.feed_forward, 2 * kBranch));
}

// Added to the scores: lowest where a token must not look, ahead of it or at padding.
std::string mask_of(ModelBuilder& model, const Llama& llama, const std::string& attend) {
  const std::string absent = model.node("Equal", {attend, model.scalar("no_token", int64_t{0})});
  const std::string padding = model.node("Unsqueeze", {absent, model.ints("axes_12", {1, 2})});
  std::string ahead = model.scalar("zero", 0.0f);
  if (!llama.step) {
    const std::string length = extent_of(model, attend, 1);
    const std::string square = model.node("Concat", {length, length}, {{"axis", int64_t{0}}});
    const std::string full = model.node("Expand", {model.scalar("lowest", kLowest), square});
    ahead =
        model.node("Trilu", {full, model.scalar("index_1", int64_t{1})}, {{"upper", int64_t{1}}});
  }
  return model.node("Where", {padding, model.scalar("lowest", kLowest), ahead});
}

void declare_caches(ModelBuilder& model, const Llama& llama, const Extent& length, const char* stem,
                    bool outputs) {
  for (int64_t i = 0; i < llama.layers; ++i) {
    for (const char* kind : {".key", ".value"}) {
      const std::string name = stem + std::to_string(i) + kind;
      const Extents shape = {"N", llama.shared_heads, length, kHeadSize};
      if (outputs) {
        model.output(name, Elements::kF32, shape);
      } else {
        model.input(name, Elements::kF32, shape);
      }
    }
  }
}

void build(ModelBuilder& model, const Llama& llama) {
  const Extent tokens = llama.step ? Extent(int64_t{1}) : Extent("S");
  const Extent reach = llama.step ? "P + 1" : "S";
  const std::string ids = model.input("input_ids", Elements::kI64, {"N", tokens});
  const std::string attend = model.input("attention_mask", Elements::kI64, {"N", reach});
  const std::string positions = model.input("position_ids", Elements::kI64, {"N", tokens});
  if (llama.step) declare_caches(model, llama, "P", "past_key_values.", false);

  const RotaryTables tables = rotary_tables(llama.theta);
  const Ints table_shape = {kPositions, kHeadSize};
  const std::string cosines =
      model.floats("model.rotary_emb.cos_cached", table_shape, tables.cosine);
  const std::string sines = model.floats("model.rotary_emb.sin_cached", table_shape, tables.sine);
  const Shared shared{rows_at(model, cosines, positions), rows_at(model, sines, positions),
                      mask_of(model, llama, attend)};
  const std::string words =
      model.normal("model.embed_tokens.weight", {llama.vocabulary, llama.hidden},
                   deviation_for(llama.hidden, 5));
  std::string x = model.node("Gather", {words, ids}, {{"axis", int64_t{0}}});
  for (int64_t i = 0; i < llama.layers; ++i) {
    const std::string name = "model.layers." + std::to_string(i);
    std::string y = rms_norm(model, x, llama.hidden, name + ".input_layernorm");
    x = model.node("Add", {x, attention(model, y, llama, shared, i)});
    y = rms_norm(model, x, llama.hidden, name + ".post_attention_layernorm");
    x = model.node("Add", {x, feed_forward(model, y, llama, name + ".mlp")});
  }
  x = rms_norm(model, x, llama.hidden, "model.norm");
  const std::string turned = model.node("Transpose", {words}, {{"perm", Ints{1, 0}}});
  model.node("MatMul", {x, turned}, {}, "logits");
  model.output("logits", Elements::kF32, {"N", tokens, llama.vocabulary});
  declare_caches(model, llama, reach, "present.", true);
}

constexpr Llama smollm2(bool step) { return {576, 1536, 30, 9, 3, 49152, 1e5, step}; }
constexpr Llama llama_1b(bool step) { return {2048, 8192, 16, 32, 8, 128256, 5e5, step}; }

}  // namespace

void build_llama_135m(ModelBuilder& model) { build(model, smollm2(true)); }
void build_llama_135m_prefill(ModelBuilder& model) { build(model, smollm2(false)); }
void build_llama_1b(ModelBuilder& model) { build(model, llama_1b(true)); }
void build_llama_1b_prefill(ModelBuilder& model) { build(model, llama_1b(false)); }

}  // namespace stoker::zoo
