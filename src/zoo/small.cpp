// The two small networks: a three-layer perceptron and LeNet-5, both for 28x28 digits.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers.h"
#include "zoo/models.h"

namespace stoker::zoo {

void build_mlp(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{784}});
  x = model.node("Relu", {linear(model, x, 784, 512, "fc1")});
  x = model.node("Relu", {linear(model, x, 512, 256, "fc2")});
  linear(model, x, 256, 10, "fc3", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{10}});
}

namespace {

std::string conv_bias(ModelBuilder& model, const std::string& x, const Ints& weight_shape,
                      int64_t pad, const std::string& name) {
  const double fan_in = static_cast<double>(weight_shape[1] * 25);
  const std::string weight =
      model.uniform(name + ".weight", weight_shape, -2.0 / fan_in * 5, 2.0 / fan_in * 5);
  const std::string bias = model.uniform(name + ".bias", {weight_shape[0]}, -0.05, 0.05);
  const std::string y = model.node(
      "Conv", {x, weight, bias},
      {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{1, 1}}});
  return model.node("MaxPool", {model.node("Relu", {y})},
                    {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
}

}  // namespace

void build_lenet(ModelBuilder& model) {
  std::string x = model.input("x", Elements::kF32, {"N", int64_t{1}, int64_t{28}, int64_t{28}});
  x = conv_bias(model, x, {6, 1, 5, 5}, 2, "conv1");
  x = conv_bias(model, x, {16, 6, 5, 5}, 0, "conv2");
  x = model.node("Flatten", {x}, {{"axis", int64_t{1}}});
  x = model.node("Relu", {linear(model, x, 400, 120, "fc1")});
  x = model.node("Relu", {linear(model, x, 120, 84, "fc2")});
  linear(model, x, 84, 10, "fc3", "logits");
  model.output("logits", Elements::kF32, {"N", int64_t{10}});
}

}  // namespace stoker::zoo
