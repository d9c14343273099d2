// BERT base, uncased, and DistilBERT, as exporters write them at opset 17: layer normalization and
// gelu spelled out in primitive nodes, attention as MatMul, Softmax, MatMul. Weights named as in
// Hugging Face. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018;
// Sanh et al., "DistilBERT, a distilled version of BERT", 2019.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx-ml.pb.h"
#include "zoo/models.h"
#include "zoo/transformer.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 3072;
constexpr int64_t kBertLayers = 12;
constexpr int64_t kDistilLayers = 6;
constexpr int64_t kPositions = 512;
constexpr int64_t kVocabulary = 30522;
constexpr double kDeviation = 0.02;  // of all weights, as BERT is initialized
constexpr float kEpsilon = 1e-12f;
constexpr float kLowest = -3.4028235e38f;

std::string norm(ModelBuilder& model, const std::string& x, const std::string& name,
                 const std::string& output = "") {
  return layer_norm_nodes(model, x, kHidden, kEpsilon, name, output);
}

// Rows 0 .. S of the table of positions.
std::string places(ModelBuilder& model, const std::string& ids) {
  const std::string table =
      model.normal("embeddings.position_embeddings.weight", {kPositions, kHidden}, kDeviation);
  Ints all(kPositions);
  for (int64_t i = 0; i < kPositions; ++i) all[static_cast<size_t>(i)] = i;
  const std::string row = model.node(
      "Unsqueeze", {model.ints("embeddings.position_ids", all), model.ints("axes_0", {0})});
  const std::string positions = model.node(
      "Slice",
      {row, model.ints("zero_list", {0}), extent_of(model, ids, 1), model.ints("axes_1", {1})});
  return model.node("Gather", {table, positions}, {{"axis", int64_t{0}}});
}

std::string words(ModelBuilder& model, const std::string& ids) {
  const std::string table =
      model.normal("embeddings.word_embeddings.weight", {kVocabulary, kHidden}, kDeviation);
  return model.node("Gather", {table, ids}, {{"axis", int64_t{0}}});
}

std::string bert_attention(ModelBuilder& model, const std::string& x, const std::string& mask,
                           const std::string& name) {
  const std::string self = name + ".attention.self";
  const auto projection = [&](const char* part) {
    return dense(model, x, kHidden, kHidden, self + part, kDeviation);
  };
  const std::string query = projection(".query");
  const std::string key = projection(".key");
  const std::string values =
      split_heads(model, projection(".value"), kHeads, kHeadSize, {0, 2, 1, 3});
  const std::string queries = split_heads(model, query, kHeads, kHeadSize, {0, 2, 1, 3});
  const std::string keys = split_heads(model, key, kHeads, kHeadSize, {0, 2, 3, 1});
  const std::string scores = model.node(
      "Div", {model.node("MatMul", {queries, keys}), model.scalar("sqrt_head_size", 8.0f)});
  const std::string weights = softmax(model, model.node("Add", {scores, mask}));
  const std::string joined = join_heads(model, model.node("MatMul", {weights, values}), kHidden);
  const std::string out = name + ".attention.output";
  const std::string projected = dense(model, joined, kHidden, kHidden, out + ".dense", kDeviation);
  return norm(model, model.node("Add", {projected, x}), out + ".LayerNorm");
}

// Scaled before the product; masked by Where, as DistilBERT's masked_fill is exported.
std::string distil_attention(ModelBuilder& model, const std::string& x, const std::string& padding,
                             const std::string& name) {
  const std::string self = name + ".attention";
  const auto projection = [&](const char* part, double gain) {
    return dense(model, x, kHidden, kHidden, self + part, deviation_for(kHidden, gain));
  };
  std::string queries =
      split_heads(model, projection(".q_lin", 1.4), kHeads, kHeadSize, {0, 2, 1, 3});
  const std::string keys =
      split_heads(model, projection(".k_lin", 1.4), kHeads, kHeadSize, {0, 2, 1, 3});
  const std::string values =
      split_heads(model, projection(".v_lin", 1), kHeads, kHeadSize, {0, 2, 1, 3});
  queries = model.node("Div", {queries, model.scalar("sqrt_head_size", 8.0f)});
  const std::string turned = model.node("Transpose", {keys}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::string scores = model.node("MatMul", {queries, turned});
  const std::string hidden = model.node("Expand", {padding, model.node("Shape", {scores})});
  const std::string masked = model.node("Where", {hidden, model.scalar("lowest", kLowest), scores});
  const std::string context = model.node("MatMul", {softmax(model, masked), values});
  const std::string joined = join_heads(model, context, kHidden);
  const std::string projected =
      dense(model, joined, kHidden, kHidden, self + ".out_lin", deviation_for(kHidden));
  return norm(model, model.node("Add", {projected, x}), name + ".sa_layer_norm");
}

}  // namespace

void build_bert_base(ModelBuilder& model) {
  const Extents tokens = {"N", "S"};
  const std::string ids = model.input("input_ids", Elements::kI64, tokens);
  const std::string attend = model.input("attention_mask", Elements::kI64, tokens);
  const std::string types = model.input("token_type_ids", Elements::kI64, tokens);
  const std::string wide = model.node("Unsqueeze", {attend, model.ints("axes_12", {1, 2})});
  const std::string real = model.node("Cast", {wide}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  const std::string mask = model.node("Mul", {model.node("Sub", {model.scalar("one", 1.0f), real}),
                                              model.scalar("lowest", kLowest)});
  const std::string kinds =
      model.normal("embeddings.token_type_embeddings.weight", {2, kHidden}, kDeviation);
  const std::string kind = model.node("Gather", {kinds, types}, {{"axis", int64_t{0}}});
  const std::string typed = model.node("Add", {words(model, ids), kind});
  std::string x =
      norm(model, model.node("Add", {typed, places(model, ids)}), "embeddings.LayerNorm");
  for (int64_t i = 0; i < kBertLayers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i);
    x = bert_attention(model, x, mask, name);
    const std::string inner = gelu(
        model, dense(model, x, kHidden, kFeedForward, name + ".intermediate.dense", kDeviation));
    const std::string outer =
        dense(model, inner, kFeedForward, kHidden, name + ".output.dense", kDeviation);
    x = norm(model, model.node("Add", {outer, x}), name + ".output.LayerNorm",
             i + 1 == kBertLayers ? "last_hidden_state" : "");
  }
  const std::string first =
      model.node("Gather", {x, model.scalar("index_0", int64_t{0})}, {{"axis", int64_t{1}}});
  const std::string weight = model.normal("pooler.dense.weight", {kHidden, kHidden}, kDeviation);
  const std::string pooled = model.node(
      "Gemm", {first, weight, model.uniform("pooler.dense.bias", {kHidden}, -0.02, 0.02)},
      {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
  model.node("Tanh", {pooled}, {}, "pooler_output");
  model.output("last_hidden_state", Elements::kF32, {"N", "S", kHidden});
  model.output("pooler_output", Elements::kF32, {"N", kHidden});
}

void build_distilbert(ModelBuilder& model) {
  const std::string ids = model.input("input_ids", Elements::kI64, {"N", "S"});
  const std::string attend = model.input("attention_mask", Elements::kI64, {"N", "S"});
  const std::string absent = model.node("Equal", {attend, model.scalar("no_token", int64_t{0})});
  const std::string padding = model.node("Unsqueeze", {absent, model.ints("axes_12", {1, 2})});
  std::string x = norm(model, model.node("Add", {words(model, ids), places(model, ids)}),
                       "embeddings.LayerNorm");
  for (int64_t i = 0; i < kDistilLayers; ++i) {
    const std::string name = "transformer.layer." + std::to_string(i);
    x = distil_attention(model, x, padding, name);
    const std::string inner = gelu(
        model, dense(model, x, kHidden, kFeedForward, name + ".ffn.lin1", deviation_for(kHidden)));
    const std::string outer = dense(model, inner, kFeedForward, kHidden, name + ".ffn.lin2",
                                    deviation_for(kFeedForward, kAfterGelu));
    x = norm(model, model.node("Add", {outer, x}), name + ".output_layer_norm",
             i + 1 == kDistilLayers ? "last_hidden_state" : "");
  }
  model.output("last_hidden_state", Elements::kF32, {"N", "S", kHidden});
}

}  // namespace stoker::zoo
