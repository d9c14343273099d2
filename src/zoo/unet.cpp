// U-Net for 256x256 pictures as most code bases have it today: padded 3x3 convolutions with batch
// normalization, 2x2 transposed convolutions on the way up, one output class. 31 M parameters.
// Ronneberger et al., "U-Net: Convolutional Networks for Biomedical Image Segmentation", 2015.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

namespace {

std::string double_conv(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                        const std::string& name) {
  const std::string part = name + ".double_conv.";
  std::string y = conv_norm(model, x, {in, out, 3}, part + "0", part + "1");
  y = model.node("Relu", {y});
  y = conv_norm(model, y, {out, out, 3}, part + "3", part + "4");
  return model.node("Relu", {y});
}

std::string up_conv(ModelBuilder& model, const std::string& x, int64_t in,
                    const std::string& name) {
  const int64_t out = in / 2;
  // With kernel and stride 2 each output element sees every input channel once.
  const std::string weight =
      model.normal(name + ".weight", {in, out, 2, 2}, std::sqrt(2.0 / static_cast<double>(in)));
  return model.node("ConvTranspose", {x, weight, model.uniform(name + ".bias", {out}, -0.1, 0.1)},
                    {{"dilations", Ints{1, 1}},
                     {"group", int64_t{1}},
                     {"kernel_shape", Ints{2, 2}},
                     {"pads", Ints{0, 0, 0, 0}},
                     {"strides", Ints{2, 2}}});
}

constexpr int64_t kWidth = 64;
constexpr int kLevels = 4;

}  // namespace

void build_unet(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{3}, int64_t{256}, int64_t{256}});
  x = double_conv(model, x, 3, kWidth, "inc");
  std::vector<std::string> skips;
  int64_t width = kWidth;
  for (int level = 1; level <= kLevels; ++level) {
    skips.push_back(x);
    x = max_pool(model, x, 2, 2, 0);
    x = double_conv(model, x, width, 2 * width, "down" + std::to_string(level) + ".maxpool_conv.1");
    width *= 2;
  }
  for (int level = 1; level <= kLevels; ++level) {
    const std::string name = "up" + std::to_string(level);
    const std::string up = up_conv(model, x, width, name + ".up");
    x = model.node("Concat", {skips.back(), up}, {{"axis", int64_t{1}}});
    skips.pop_back();
    x = double_conv(model, x, width, width / 2, name + ".conv");
    width /= 2;
  }
  const std::string logits = conv(model, x, {kWidth, 1}, "outc.conv");
  model.node("Sigmoid", {logits}, {}, "mask");
  model.output("mask", Elements::kF32, {"N", int64_t{1}, int64_t{256}, int64_t{256}});
}

}  // namespace stoker::zoo
