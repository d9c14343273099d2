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
  double gain = 1;  // of the normalization; below 1 on the last layer of a residual branch
};

// Conv without bias (padding kernel/2) and BatchNormalization, weights named as torchvision does.
std::string conv_norm(ModelBuilder& model, const std::string& x, const ConvShape& shape,
                      const std::string& conv, const std::string& norm);
// Gemm with transposed weight [out,in] and bias.
std::string linear(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                   const std::string& name, const std::string& output = "");

}  // namespace stoker::zoo
