// Layers that the zoo's transformers share, spelled as exporters spell them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "zoo/builder.h"

namespace stoker::zoo {

// Deviation of a weight [in, out] that turns inputs of deviation 1 into outputs of deviation
// `gain`.
double deviation_for(int64_t in, double gain = 1);

// x times NAME.weight, stored as [in, out] for MatMul.
std::string project(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                    const std::string& name, double deviation);
// The same and NAME.bias, which stands first in the Add as in exports.
std::string dense(ModelBuilder& model, const std::string& x, int64_t in, int64_t out,
                  const std::string& name, double deviation);

// Layer normalization over the last axis: in primitive nodes as up to opset 16, and as one node.
std::string layer_norm_nodes(ModelBuilder& model, const std::string& x, int64_t width,
                             float epsilon, const std::string& name,
                             const std::string& output = "");
std::string layer_norm(ModelBuilder& model, const std::string& x, int64_t width, float epsilon,
                       const std::string& name, const std::string& output = "");

// The exact one, by Erf. It takes less than half of a normal input's deviation away: kAfterGelu.
std::string gelu(ModelBuilder& model, const std::string& x);
inline constexpr double kAfterGelu = 1.5;

// [N, S, heads * size] with its last axis split, axes permuted: {0, 2, 1, 3} for queries and
// values, {0, 2, 3, 1} for transposed keys. `heads` may be -1 for what is left.
std::string split_heads(ModelBuilder& model, const std::string& x, int64_t heads, int64_t size,
                        const Ints& permutation);
// [N, heads, S, size] back to [N, S, hidden].
std::string join_heads(ModelBuilder& model, const std::string& x, int64_t hidden);

std::string softmax(ModelBuilder& model, const std::string& x);  // over the last axis

// Size of an axis of x as i64[1].
std::string extent_of(ModelBuilder& model, const std::string& x, int64_t axis);

}  // namespace stoker::zoo
