// ViT-B/16 for 224x224 pictures: 16x16 patches by a convolution, a class token, 12 layers with one
// projection for queries, keys and values. Weights named as in timm. Dosovitskiy et al., "An Image
// is Worth 16x16 Words", 2020.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"
#include "zoo/models.h"
#include "zoo/transformer.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kFeedForward = 3072;
constexpr int64_t kLayers = 12;
constexpr int64_t kPatch = 16;
constexpr int64_t kPatches = (224 / kPatch) * (224 / kPatch);
constexpr float kEpsilon = 1e-6f;
constexpr double kBranch = 0.5;  // gain at the end of a residual branch

std::string embed(ModelBuilder& model, const std::string& x) {
  const std::string weight = model.normal("patch_embed.proj.weight", {kHidden, 3, kPatch, kPatch},
                                          deviation_for(3 * kPatch * kPatch));
  const std::string bias = model.uniform("patch_embed.proj.bias", {kHidden}, -0.05, 0.05);
  std::string patches = model.node("Conv", {x, weight, bias},
                                   {{"dilations", Ints{1, 1}},
                                    {"group", int64_t{1}},
                                    {"kernel_shape", Ints{kPatch, kPatch}},
                                    {"pads", Ints{0, 0, 0, 0}},
                                    {"strides", Ints{kPatch, kPatch}}});
  patches = model.node("Reshape", {patches, model.ints("patch_rows", {0, kHidden, kPatches})});
  patches = model.node("Transpose", {patches}, {{"perm", Ints{0, 2, 1}}});
  const std::string shape =
      model.node("Concat", {extent_of(model, patches, 0), model.ints("class_shape", {1, kHidden})},
                 {{"axis", int64_t{0}}});
  const std::string token =
      model.node("Expand", {model.normal("cls_token", {1, 1, kHidden}, 1), shape});
  const std::string rows = model.node("Concat", {token, patches}, {{"axis", int64_t{1}}});
  return model.node("Add", {rows, model.normal("pos_embed", {1, kPatches + 1, kHidden}, 0.3)});
}

std::string attention(ModelBuilder& model, const std::string& x, const std::string& name) {
  const std::string all =
      dense(model, x, kHidden, 3 * kHidden, name + ".qkv", deviation_for(kHidden, 1.4));
  const std::string apart =
      model.node("Reshape", {all, model.ints("split_qkv", {0, 0, 3, kHeads, kHeadSize})});
  const std::string turned = model.node("Transpose", {apart}, {{"perm", Ints{2, 0, 3, 1, 4}}});
  const auto part = [&](int64_t index) {
    return model.node("Gather", {turned, model.scalar("index_" + std::to_string(index), index)},
                      {{"axis", int64_t{0}}});
  };
  const std::string queries = model.node("Mul", {part(0), model.scalar("head_scale", 0.125f)});
  const std::string keys = model.node("Transpose", {part(1)}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::string weights = softmax(model, model.node("MatMul", {queries, keys}));
  const std::string joined = join_heads(model, model.node("MatMul", {weights, part(2)}), kHidden);
  return dense(model, joined, kHidden, kHidden, name + ".proj", deviation_for(kHidden, kBranch));
}

std::string feed_forward(ModelBuilder& model, const std::string& x, const std::string& name) {
  const std::string inner =
      gelu(model, dense(model, x, kHidden, kFeedForward, name + ".fc1", deviation_for(kHidden)));
  return dense(model, inner, kFeedForward, kHidden, name + ".fc2",
               deviation_for(kFeedForward, kAfterGelu * kBranch));
}

}  // namespace

void build_vit_b16(ModelBuilder& model) {
  std::string x =
      embed(model, model.input("x", Elements::kF32, {"N", int64_t{3}, int64_t{224}, int64_t{224}}));
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    const std::string first = layer_norm(model, x, kHidden, kEpsilon, name + ".norm1");
    x = model.node("Add", {x, attention(model, first, name + ".attn")});
    const std::string second = layer_norm(model, x, kHidden, kEpsilon, name + ".norm2");
    x = model.node("Add", {x, feed_forward(model, second, name + ".mlp")});
  }
  x = layer_norm(model, x, kHidden, kEpsilon, "norm");
  x = model.node("Gather", {x, model.scalar("index_0", int64_t{0})}, {{"axis", int64_t{1}}});
  linear(model, x, kHidden, 1000, "head", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{1000}});
}

}  // namespace stoker::zoo
