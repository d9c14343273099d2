// MobileNetV2 at width 1.0, weights named as in torchvision; ReLU6 is written as Clip, as exporters
// do. Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

std::string relu6(ModelBuilder& model, const std::string& x) {
  return model.node("Clip", {x, "relu6.min", "relu6.max"});
}

std::string inverted_residual(ModelBuilder& model, const std::string& x, const ConvShape& block,
                              int64_t expand, const std::string& name) {
  const int64_t hidden = block.in * expand;
  std::string y = x;
  int index = 0;
  if (expand != 1) {
    y = relu6(model,
              conv_norm(model, y, {block.in, hidden, 1}, name + ".conv.0.0", name + ".conv.0.1"));
    index = 1;
  }
  const std::string depthwise = name + ".conv." + std::to_string(index);
  y = relu6(model, conv_norm(model, y, {hidden, hidden, 3, block.stride, hidden}, depthwise + ".0",
                             depthwise + ".1"));
  y = conv_norm(model, y, {hidden, block.out, 1}, name + ".conv." + std::to_string(index + 1),
                name + ".conv." + std::to_string(index + 2));
  return block.stride == 1 && block.in == block.out ? model.node("Add", {x, y}) : y;
}

struct Stage {
  int64_t expand, out, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

}  // namespace

void build_mobilenetv2(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{3}, int64_t{224}, int64_t{224}});
  model.scalar("relu6.min", 0.0f);
  model.scalar("relu6.max", 6.0f);
  x = relu6(model, conv_norm(model, x, {3, 32, 3, 2}, "features.0.0", "features.0.1"));
  int64_t in = 32;
  int index = 1;
  for (const Stage& stage : kStages) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const ConvShape shape{in, stage.out, 3, block == 0 ? stage.stride : 1};
      x = inverted_residual(model, x, shape, stage.expand, "features." + std::to_string(index++));
      in = stage.out;
    }
  }
  x = relu6(model, conv_norm(model, x, {in, 1280, 1}, "features.18.0", "features.18.1"));
  x = model.node("GlobalAveragePool", {x});
  x = model.node("Flatten", {x}, {{"axis", int64_t{1}}});
  linear(model, x, 1280, 1000, "classifier.1", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{1000}});
}

}  // namespace stoker::zoo
