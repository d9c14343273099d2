// Whisper tiny: the encoder of 30 seconds of sound, and one step of the decoder with the caches of
// its own earlier tokens and of the encoder's output. Weights named as in Hugging Face. Radford et
// al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/models.h"
#include "zoo/transformer.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kHidden = 384;
constexpr int64_t kHeads = 6;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 1536;
constexpr int64_t kLayers = 4;
constexpr int64_t kBands = 80;
constexpr int64_t kFrames = 1500;  // after the convolution of stride 2
constexpr int64_t kTokens = 448;
constexpr int64_t kVocabulary = 51865;
constexpr float kEpsilon = 1e-5f;
constexpr double kSharp = 1.6;   // gain of queries and keys: scores that single frames out
constexpr double kBranch = 0.5;  // gain at the end of a residual branch

std::string norm(ModelBuilder& model, const std::string& x, const std::string& name,
                 const std::string& output = "") {
  return layer_norm(model, x, kHidden, kEpsilon, name, output);
}

std::string conv1d(ModelBuilder& model, const std::string& x, int64_t in, int64_t stride,
                   double gain, const std::string& name) {
  const std::string weight =
      model.normal(name + ".weight", {kHidden, in, 3}, deviation_for(3 * in, gain));
  const std::string bias = model.uniform(name + ".bias", {kHidden}, -0.05, 0.05);
  return gelu(model, model.node("Conv", {x, weight, bias},
                                {{"dilations", Ints{1}},
                                 {"group", int64_t{1}},
                                 {"kernel_shape", Ints{3}},
                                 {"pads", Ints{1, 1}},
                                 {"strides", Ints{stride}}}));
}

std::string heads(ModelBuilder& model, const std::string& x) {
  return split_heads(model, x, kHeads, kHeadSize, {0, 2, 1, 3});
}

std::string queries(ModelBuilder& model, const std::string& x, const std::string& name) {
  const std::string all =
      dense(model, x, kHidden, kHidden, name + ".q_proj", deviation_for(kHidden, kSharp));
  return heads(model, model.node("Mul", {all, model.scalar("head_scale", 0.125f)}));
}

std::string keys(ModelBuilder& model, const std::string& x, const std::string& name) {
  return heads(
      model, project(model, x, kHidden, kHidden, name + ".k_proj", deviation_for(kHidden, kSharp)));
}

std::string values(ModelBuilder& model, const std::string& x, const std::string& name) {
  return heads(model, dense(model, x, kHidden, kHidden, name + ".v_proj", deviation_for(kHidden)));
}

// `key` and `value` are [N, heads, T, size].
std::string attend(ModelBuilder& model, const std::string& query, const std::string& key,
                   const std::string& value, const std::string& name) {
  const std::string turned = model.node("Transpose", {key}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::string weights = softmax(model, model.node("MatMul", {query, turned}));
  const std::string joined = join_heads(model, model.node("MatMul", {weights, value}), kHidden);
  return dense(model, joined, kHidden, kHidden, name + ".out_proj", deviation_for(kHidden));
}

std::string feed_forward(ModelBuilder& model, const std::string& x, const std::string& name) {
  const std::string y = norm(model, x, name + ".final_layer_norm");
  const std::string inner =
      gelu(model, dense(model, y, kHidden, kFeedForward, name + ".fc1", deviation_for(kHidden)));
  const std::string outer = dense(model, inner, kFeedForward, kHidden, name + ".fc2",
                                  deviation_for(kFeedForward, kAfterGelu * kBranch));
  return model.node("Add", {x, outer});
}

// Self-attention over the tokens so far: the caches grow by this token.
std::string decode_self(ModelBuilder& model, const std::string& x, const std::string& name,
                        const std::string& past, const std::string& present) {
  const std::string y = norm(model, x, name + ".self_attn_layer_norm");
  const std::string self = name + ".self_attn";
  const std::string query = queries(model, y, self);
  const auto grow = [&](const char* kind, const std::string& added) {
    return model.node("Concat", {past + ".decoder." + kind, added}, {{"axis", int64_t{2}}},
                      present + ".decoder." + kind);
  };
  const std::string key = grow("key", keys(model, y, self));
  const std::string value = grow("value", values(model, y, self));
  return model.node("Add", {x, attend(model, query, key, value, self)});
}

std::string decode_cross(ModelBuilder& model, const std::string& x, const std::string& name,
                         const std::string& past) {
  const std::string y = norm(model, x, name + ".encoder_attn_layer_norm");
  const std::string cross = name + ".encoder_attn";
  const std::string query = queries(model, y, cross);
  const std::string found =
      attend(model, query, past + ".encoder.key", past + ".encoder.value", cross);
  return model.node("Add", {x, found});
}

std::string decoder_embeddings(ModelBuilder& model, const std::string& ids,
                               const std::string& table) {
  const std::string places =
      model.normal("decoder.embed_positions.weight", {kTokens, kHidden}, 0.3);
  const std::string position = extent_of(model, "past_key_values.0.decoder.key", 2);
  const std::string place = model.node("Gather", {places, position}, {{"axis", int64_t{0}}});
  const std::string word = model.node("Gather", {table, ids}, {{"axis", int64_t{0}}});
  return model.node("Add", {word, place});
}

}  // namespace

void build_whisper_tiny_encoder(ModelBuilder& model) {
  std::string x = model.input("input_features", Elements::kF32, {"N", kBands, 2 * kFrames});
  x = conv1d(model, x, kBands, 1, 1, "encoder.conv1");
  x = conv1d(model, x, kHidden, 2, kAfterGelu, "encoder.conv2");
  x = model.node("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  x = model.node("Add",
                 {x, model.normal("encoder.embed_positions.weight", {kFrames, kHidden}, 0.5)});
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string name = "encoder.layers." + std::to_string(i);
    const std::string self = name + ".self_attn";
    const std::string y = norm(model, x, name + ".self_attn_layer_norm");
    const std::string query = queries(model, y, self);
    const std::string key = keys(model, y, self);
    x = model.node("Add", {x, attend(model, query, key, values(model, y, self), self)});
    x = feed_forward(model, x, name);
  }
  norm(model, x, "encoder.layer_norm", "last_hidden_state");
  model.output("last_hidden_state", Elements::kF32, {"N", kFrames, kHidden});
}

void build_whisper_tiny_decoder(ModelBuilder& model) {
  const std::string ids = model.input("input_ids", Elements::kI64, {"N", int64_t{1}});
  const auto layer_name = [](const char* stem, int64_t i) { return stem + std::to_string(i); };
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string past = layer_name("past_key_values.", i);
    for (const char* kind : {".decoder.key", ".decoder.value"})
      model.input(past + kind, Elements::kF32, {"N", kHeads, "P", kHeadSize});
    for (const char* kind : {".encoder.key", ".encoder.value"})
      model.input(past + kind, Elements::kF32, {"N", kHeads, "T", kHeadSize});
  }
  const std::string table = model.normal("decoder.embed_tokens.weight", {kVocabulary, kHidden},
                                         deviation_for(kHidden, 3));
  std::string x = decoder_embeddings(model, ids, table);
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string name = layer_name("decoder.layers.", i);
    const std::string past = layer_name("past_key_values.", i);
    x = decode_self(model, x, name, past, layer_name("present.", i));
    x = decode_cross(model, x, name, past);
    x = feed_forward(model, x, name);
  }
  x = norm(model, x, "decoder.layer_norm");
  const std::string turned = model.node("Transpose", {table}, {{"perm", Ints{1, 0}}});
  model.node("MatMul", {x, turned}, {}, "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{1}, kVocabulary});
  for (int64_t i = 0; i < kLayers; ++i) {
    for (const char* kind : {".decoder.key", ".decoder.value"}) {
      model.output(layer_name("present.", i) + kind, Elements::kF32,
                   {"N", kHeads, "P + 1", kHeadSize});
    }
  }
}

}  // namespace stoker::zoo
