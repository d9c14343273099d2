// BERT base, uncased, as exporters write it at opset 17: layer normalization and gelu spelled out
// in primitive nodes, attention as MatMul, Softmax, MatMul. Weights named as in Hugging Face.
// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018.
// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx-ml.pb.h"
#include "zoo/builder.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 3072;
constexpr int64_t kLayers = 12;
constexpr int64_t kPositions = 512;
constexpr int64_t kVocabulary = 30522;
constexpr double kDeviation = 0.02;  // of all weights, as BERT is initialized

// Weight stored as [in,out] for MatMul, then the bias, which stands first in the Add as in exports.
std::string dense(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                  const std::string& name) {
  const std::string product =
      model.node("MatMul", {x, model.normal(name + ".weight", {in, out}, kDeviation)});
  return model.node("Add", {model.uniform(name + ".bias", {out}, -0.02, 0.02), product});
}

std::string layer_norm(ModelBuilder& model, const std::string& x, const std::string& name,
                       const std::string& output = "") {
  const std::string mean =
      model.node("ReduceMean", {x}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
  const std::string centered = model.node("Sub", {x, mean});
  const std::string squared = model.node("Pow", {centered, "two"});
  const std::string variance =
      model.node("ReduceMean", {squared}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
  const std::string deviation = model.node("Sqrt", {model.node("Add", {variance, "epsilon"})});
  const std::string normal = model.node("Div", {centered, deviation});
  const std::string scaled =
      model.node("Mul", {normal, model.uniform(name + ".weight", {kHidden}, 0.9, 1.1)});
  return model.node("Add", {scaled, model.uniform(name + ".bias", {kHidden}, -0.05, 0.05)}, {},
                    output);
}

std::string gelu(ModelBuilder& model, const std::string& x) {
  const std::string erf = model.node("Erf", {model.node("Div", {x, "sqrt_two"})});
  const std::string doubled = model.node("Mul", {x, model.node("Add", {erf, "one"})});
  return model.node("Mul", {doubled, "half"});
}

std::string to_heads(ModelBuilder& model, const std::string& x, const Ints& permutation) {
  const std::string split = model.node("Reshape", {x, "split_heads"});
  return model.node("Transpose", {split}, {{"perm", permutation}});
}

std::string attention(ModelBuilder& model, const std::string& x, const std::string& mask,
                      const std::string& name) {
  const std::string self = name + ".attention.self";
  const std::string query = dense(model, x, kHidden, kHidden, self + ".query");
  const std::string key = dense(model, x, kHidden, kHidden, self + ".key");
  const std::string value = dense(model, x, kHidden, kHidden, self + ".value");
  const std::string values = to_heads(model, value, {0, 2, 1, 3});
  const std::string queries = to_heads(model, query, {0, 2, 1, 3});
  const std::string keys = to_heads(model, key, {0, 2, 3, 1});
  const std::string scores =
      model.node("Div", {model.node("MatMul", {queries, keys}), "sqrt_head_size"});
  const std::string weights =
      model.node("Softmax", {model.node("Add", {scores, mask})}, {{"axis", int64_t{-1}}});
  const std::string context = model.node("Transpose", {model.node("MatMul", {weights, values})},
                                         {{"perm", Ints{0, 2, 1, 3}}});
  const std::string joined = model.node("Reshape", {context, "join_heads"});
  const std::string out = name + ".attention.output";
  const std::string projected = dense(model, joined, kHidden, kHidden, out + ".dense");
  return layer_norm(model, model.node("Add", {projected, x}), out + ".LayerNorm");
}

std::string embeddings(ModelBuilder& model, const std::string& ids, const std::string& types) {
  const std::string words =
      model.normal("embeddings.word_embeddings.weight", {kVocabulary, kHidden}, kDeviation);
  const std::string kinds =
      model.normal("embeddings.token_type_embeddings.weight", {2, kHidden}, kDeviation);
  const std::string places =
      model.normal("embeddings.position_embeddings.weight", {kPositions, kHidden}, kDeviation);
  const std::string length =
      model.node("Gather", {model.node("Shape", {ids}), "one_index"}, {{"axis", int64_t{0}}});
  const std::string end = model.node("Unsqueeze", {length, "axis_0"});
  Ints all(kPositions);
  for (int64_t i = 0; i < kPositions; ++i) all[static_cast<size_t>(i)] = i;
  const std::string row =
      model.node("Unsqueeze", {model.ints("embeddings.position_ids", all), "axis_0"});
  const std::string positions = model.node("Slice", {row, "zero_list", end, "one_list"});
  const std::string word = model.node("Gather", {words, ids}, {{"axis", int64_t{0}}});
  const std::string kind = model.node("Gather", {kinds, types}, {{"axis", int64_t{0}}});
  const std::string place = model.node("Gather", {places, positions}, {{"axis", int64_t{0}}});
  const std::string sum = model.node("Add", {model.node("Add", {word, kind}), place});
  return layer_norm(model, sum, "embeddings.LayerNorm");
}

void add_constants(ModelBuilder& model) {
  model.scalar("two", 2.0f);
  model.scalar("one", 1.0f);
  model.scalar("half", 0.5f);
  model.scalar("epsilon", 1e-12f);
  model.scalar("sqrt_two", 1.41421356f);
  model.scalar("sqrt_head_size", 8.0f);
  model.scalar("lowest", -3.4028235e38f);
  model.scalar("one_index", int64_t{1});
  model.scalar("zero_index", int64_t{0});
  model.ints("axis_0", {0});
  model.ints("axes_12", {1, 2});
  model.ints("zero_list", {0});
  model.ints("one_list", {1});
  model.ints("split_heads", {0, 0, kHeads, kHeadSize});
  model.ints("join_heads", {0, 0, kHidden});
}

}  // namespace

void build_bert_base(ModelBuilder& model) {
  const Extents tokens = {"N", "S"};
  const std::string ids = model.input("input_ids", Elements::kI64, tokens);
  const std::string attend = model.input("attention_mask", Elements::kI64, tokens);
  const std::string types = model.input("token_type_ids", Elements::kI64, tokens);
  add_constants(model);
  const std::string wide = model.node("Unsqueeze", {attend, "axes_12"});
  const std::string real = model.node("Cast", {wide}, {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  const std::string mask = model.node("Mul", {model.node("Sub", {"one", real}), "lowest"});
  std::string x = embeddings(model, ids, types);
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i);
    x = attention(model, x, mask, name);
    const std::string inner =
        gelu(model, dense(model, x, kHidden, kFeedForward, name + ".intermediate.dense"));
    const std::string outer = dense(model, inner, kFeedForward, kHidden, name + ".output.dense");
    x = layer_norm(model, model.node("Add", {outer, x}), name + ".output.LayerNorm",
                   i + 1 == kLayers ? "last_hidden_state" : "");
  }
  const std::string first = model.node("Gather", {x, "zero_index"}, {{"axis", int64_t{1}}});
  const std::string weight = model.normal("pooler.dense.weight", {kHidden, kHidden}, kDeviation);
  const std::string pooled = model.node(
      "Gemm", {first, weight, model.uniform("pooler.dense.bias", {kHidden}, -0.02, 0.02)},
      {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
  model.node("Tanh", {pooled}, {}, "pooler_output");
  model.output("last_hidden_state", Elements::kF32, {"N", "S", kHidden});
  model.output("pooler_output", Elements::kF32, {"N", kHidden});
}

}  // namespace stoker::zoo
