// DLRM in the configuration for the Criteo Kaggle data: 13 numbers through a bottom MLP
// 512-256-64-16, 26 categories as sums over bags of embeddings, pairwise products, a top MLP
// 512-256-1. Tables are cut at 250,000 rows (hashing, the reference program's max-ind-range), so
// that the model takes 116 MB instead of 2.2 GB. Naumov et al., "Deep Learning Recommendation Model
// for Personalization and Recommendation Systems", 2019.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kNumbers = 13;
constexpr int64_t kWidth = 16;
constexpr int64_t kMaxRows = 250'000;
// Distinct values of the categories in the Criteo Kaggle data.
constexpr int64_t kCategories[] = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};
constexpr int64_t kTables = std::size(kCategories);
constexpr int64_t kFeatures = kTables + 1;
constexpr int64_t kPairs = kFeatures * (kFeatures - 1) / 2;

std::string relu_layer(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                       const std::string& name) {
  return model.node("Relu", {linear(model, x, in, out, name)});
}

std::string bag(ModelBuilder& model, int64_t number) {
  const std::string index = std::to_string(number);
  const int64_t rows = std::min(kCategories[number], kMaxRows);
  const std::string ids = model.input("indices_" + index, Elements::kI64, {"N", "L"});
  const std::string table = model.normal("emb_l." + index + ".weight", {rows, kWidth}, 0.25);
  const std::string members = model.node("Gather", {table, ids}, {{"axis", int64_t{0}}});
  return model.node("ReduceSum", {members, model.ints("axes_1", {1})}, {{"keepdims", int64_t{0}}});
}

// The products of all pairs of features: the part of F F^T below its diagonal.
std::string interactions(ModelBuilder& model, const std::vector<std::string>& features) {
  const std::string joined = model.node("Concat", features, {{"axis", int64_t{1}}});
  const std::string rows =
      model.node("Reshape", {joined, model.ints("feature_rows", {-1, kFeatures, kWidth})});
  const std::string columns = model.node("Transpose", {rows}, {{"perm", Ints{0, 2, 1}}});
  const std::string products = model.node("MatMul", {rows, columns});
  const std::string flat = model.node("Flatten", {products}, {{"axis", int64_t{1}}});
  Ints below;
  for (int64_t i = 0; i < kFeatures; ++i) {
    for (int64_t j = 0; j < i; ++j) below.push_back(i * kFeatures + j);
  }
  return model.node("Gather", {flat, model.ints("below_diagonal", below)}, {{"axis", int64_t{1}}});
}

}  // namespace

void build_dlrm(ModelBuilder& model) {
  std::string x = model.input("dense", Elements::kF32, {"N", kNumbers});
  constexpr int64_t kBottom[] = {kNumbers, 512, 256, 64, kWidth};
  for (size_t i = 0; i + 1 < std::size(kBottom); ++i) {
    x = relu_layer(model, x, kBottom[i], kBottom[i + 1], "bot_l." + std::to_string(2 * i));
  }
  std::vector<std::string> features = {x};
  for (int64_t i = 0; i < kTables; ++i) features.push_back(bag(model, i));
  const std::string pairs = interactions(model, features);
  std::string y = model.node("Concat", {x, pairs}, {{"axis", int64_t{1}}});
  y = relu_layer(model, y, kWidth + kPairs, 512, "top_l.0");
  y = relu_layer(model, y, 512, 256, "top_l.2");
  model.node("Sigmoid", {linear(model, y, 256, 1, "top_l.4")}, {}, "probability");
  model.output("probability", Elements::kF32, {"N", int64_t{1}});
}

}  // namespace stoker::zoo
