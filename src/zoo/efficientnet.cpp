// EfficientNet-B0 for 224x224 pictures, weights named as in torchvision: inverted residuals with
// squeeze-and-excitation, SiLU written as Sigmoid and Mul. Tan and Le, "EfficientNet: Rethinking
// Model Scaling for Convolutional Neural Networks", 2019.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

constexpr double kBranch = 0.7;       // gain at the end of a residual branch
constexpr double kAfterLinear = 0.7;  // nothing in between took half of the variance away

std::string squeeze_excite(ModelBuilder& model, const std::string& x, int64_t width,
                           int64_t squeezed, const std::string& name) {
  std::string s = model.node("GlobalAveragePool", {x});
  s = silu(model, conv(model, s, {width, squeezed}, name + ".fc1"));
  s = conv(model, s, {squeezed, width, 1, 1, 1, kAfterSilu}, name + ".fc2");
  return model.node("Mul", {model.node("Sigmoid", {s}), x});
}

std::string inverted_residual(ModelBuilder& model, const std::string& x, const ConvShape& block,
                              int64_t expand, const std::string& name) {
  const int64_t hidden = block.in * expand;
  const auto part = [&](int index) { return name + ".block." + std::to_string(index); };
  int index = 0;
  std::string y = x;
  if (expand != 1) {
    y = silu(model, conv_norm(model, y, {block.in, hidden, 1, 1, 1, kAfterLinear},
                              part(index) + ".0", part(index) + ".1"));
    ++index;
  }
  const ConvShape depthwise{hidden, hidden, block.kernel, block.stride, hidden, kAfterSilu};
  y = silu(model, conv_norm(model, y, depthwise, part(index) + ".0", part(index) + ".1"));
  ++index;
  y = squeeze_excite(model, y, hidden, std::max<int64_t>(1, block.in / 4), part(index));
  ++index;
  // The sigmoid before it halves once more.
  const ConvShape project{hidden, block.out, 1, 1, 1, kBranch * 2 * kAfterSilu};
  y = conv_norm(model, y, project, part(index) + ".0", part(index) + ".1");
  return block.stride == 1 && block.in == block.out ? model.node("Add", {y, x}) : y;
}

struct Stage {
  int64_t expand, kernel, stride, out, blocks;
};
constexpr Stage kStages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                             {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                             {6, 3, 1, 320, 1}};

}  // namespace

void build_efficientnet_b0(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{3}, int64_t{224}, int64_t{224}});
  x = silu(model,
           conv_norm(model, x, {3, 32, 3, 2, 1, kAfterLinear}, "features.0.0", "features.0.1"));
  int64_t in = 32;
  int number = 1;
  for (const Stage& stage : kStages) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const ConvShape shape{in, stage.out, stage.kernel, block == 0 ? stage.stride : 1};
      const std::string name = "features." + std::to_string(number) + "." + std::to_string(block);
      x = inverted_residual(model, x, shape, stage.expand, name);
      in = stage.out;
    }
    ++number;
  }
  x = silu(model,
           conv_norm(model, x, {in, 1280, 1, 1, 1, kAfterLinear}, "features.8.0", "features.8.1"));
  x = model.node("GlobalAveragePool", {x});
  x = model.node("Flatten", {x}, {{"axis", int64_t{1}}});
  linear(model, x, 1280, 1000, "classifier.1", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{1000}});
}

}  // namespace stoker::zoo
