// ResNet-50 v1.5 (the stride of a down-sampling block sits on its 3x3 convolution), weights named
// as in torchvision. He et al., "Deep Residual Learning for Image Recognition", 2015.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

std::string bottleneck(ModelBuilder& model, const std::string& x, int64_t in, int64_t width,
                       int64_t stride, const std::string& name) {
  const int64_t out = width * 4;
  std::string y = conv_norm(model, x, {in, width, 1}, name + ".conv1", name + ".bn1");
  y = model.node("Relu", {y});
  y = conv_norm(model, y, {width, width, 3, stride}, name + ".conv2", name + ".bn2");
  y = model.node("Relu", {y});
  y = conv_norm(model, y, {width, out, 1, 1, 1, 0.25}, name + ".conv3", name + ".bn3");
  std::string shortcut = x;
  if (stride != 1 || in != out) {
    shortcut =
        conv_norm(model, x, {in, out, 1, stride}, name + ".downsample.0", name + ".downsample.1");
  }
  return model.node("Relu", {model.node("Add", {y, shortcut})});
}

}  // namespace

void build_resnet50(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{3}, int64_t{224}, int64_t{224}});
  x = model.node("Relu", {conv_norm(model, x, {3, 64, 7, 2}, "conv1", "bn1")});
  x = max_pool(model, x, 3, 2, 1);
  constexpr int64_t kBlocks[] = {3, 4, 6, 3};
  int64_t in = 64;
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int64_t block = 0; block < kBlocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = bottleneck(model, x, in, width, stride,
                     "layer" + std::to_string(stage + 1) + "." + std::to_string(block));
      in = width * 4;
    }
  }
  x = model.node("GlobalAveragePool", {x});
  x = model.node("Flatten", {x}, {{"axis", int64_t{1}}});
  linear(model, x, 2048, 1000, "fc", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{1000}});
}

}  // namespace stoker::zoo
