// Layers that several of the zoo's image networks share. Weights follow He's initialization, so
// that activations keep their size through the depth of a network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zoo/builder.h"

namespace stoker::zoo {

struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t groups = 1;
  double gain = 1;    // beyond what a ReLU before it needs; below 1 at the end of a residual branch
  double bias = 0.1;  // largest, where there is one
};

// Conv with bias (padding kernel/2), its weights scaled by `gain`, named NAME.weight and NAME.bias.
std::string conv(ModelBuilder& model, const std::string& x, const ConvShape& shape,
                 const std::string& name);
// Conv without bias (padding kernel/2) and BatchNormalization, weights named as torchvision does.
std::string conv_norm(ModelBuilder& model, const std::string& x, const ConvShape& shape,
                      const std::string& conv, const std::string& norm);
// x * sigmoid(x); halves the deviation of a normal x, so that a conv behind it needs kAfterSilu.
std::string silu(ModelBuilder& model, const std::string& x);
inline constexpr double kAfterSilu = 1.2;
// Square window, padding on all four sides.
std::string max_pool(ModelBuilder& model, const std::string& x, int64_t kernel, int64_t stride,
                     int64_t pad);
// Gemm with transposed weight [out,in] and bias.
std::string linear(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                   const std::string& name, const std::string& output = "");

}  // namespace stoker::zoo
