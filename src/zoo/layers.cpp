// Layers that several of the zoo's image networks share.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"

#include <cmath>

namespace stoker::zoo {

namespace {

std::string convolve(ModelBuilder& model, const std::vector<std::string>& inputs,
                     const ConvShape& shape) {
  const int64_t pad = shape.kernel / 2;
  return model.node("Conv", inputs,
                    {{"dilations", Ints{1, 1}},
                     {"group", shape.groups},
                     {"kernel_shape", Ints{shape.kernel, shape.kernel}},
                     {"pads", Ints{pad, pad, pad, pad}},
                     {"strides", Ints{shape.stride, shape.stride}}});
}

std::string conv_weight(ModelBuilder& model, const ConvShape& shape, const std::string& name,
                        double gain) {
  const int64_t fan_in = shape.in / shape.groups * shape.kernel * shape.kernel;
  return model.normal(name + ".weight",
                      {shape.out, shape.in / shape.groups, shape.kernel, shape.kernel},
                      std::sqrt(2.0 / static_cast<double>(fan_in)) * gain);
}

}  // namespace

std::string conv(ModelBuilder& model, const std::string& x, const ConvShape& shape,
                 const std::string& name) {
  const std::string weight = conv_weight(model, shape, name, shape.gain);
  const std::string bias = model.uniform(name + ".bias", {shape.out}, -shape.bias, shape.bias);
  return convolve(model, {x, weight, bias}, shape);
}

std::string conv_norm(ModelBuilder& model, const std::string& x, const ConvShape& shape,
                      const std::string& conv, const std::string& norm) {
  const std::string y = convolve(model, {x, conv_weight(model, shape, conv, 1)}, shape);
  return model.node(
      "BatchNormalization",
      {y, model.uniform(norm + ".weight", {shape.out}, 0.8 * shape.gain, 1.2 * shape.gain),
       model.uniform(norm + ".bias", {shape.out}, -0.1, 0.1),
       model.uniform(norm + ".running_mean", {shape.out}, -0.1, 0.1),
       model.uniform(norm + ".running_var", {shape.out}, 0.8, 1.2)},
      {{"epsilon", 1e-5f}, {"momentum", 0.9f}});
}

std::string silu(ModelBuilder& model, const std::string& x) {
  return model.node("Mul", {x, model.node("Sigmoid", {x})});
}

std::string max_pool(ModelBuilder& model, const std::string& x, int64_t kernel, int64_t stride,
                     int64_t pad) {
  return model.node("MaxPool", {x},
                    {{"ceil_mode", int64_t{0}},
                     {"dilations", Ints{1, 1}},
                     {"kernel_shape", Ints{kernel, kernel}},
                     {"pads", Ints{pad, pad, pad, pad}},
                     {"strides", Ints{stride, stride}}});
}

std::string linear(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                   const std::string& name, const std::string& output) {
  const std::string weight =
      model.normal(name + ".weight", {out, in}, std::sqrt(1.0 / static_cast<double>(in)));
  const std::string bias = model.uniform(name + ".bias", {out}, -0.05, 0.05);
  return model.node("Gemm", {x, weight, bias},
                    {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}}, output);
}

}  // namespace stoker::zoo
