// What the classification losses share: labels of every sample, weights of the classes, and the
// reduction over the samples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Input 0 holds one number per class (axis 1), input 1 the labels without that axis, input 2 maybe
// one weight per class. Output 0 is the loss: one number per sample, or a scalar when reduced.
Status infer_loss(InferContext& c, const char* op);

// Extents of the scores: samples are batch * inner, the classes lie between the two.
struct LossShape {
  int64_t batch = 0, classes = 0, inner = 0;
  int64_t samples() const { return batch * inner; }
  // Row-major position of a sample's score for a class.
  int64_t position(int64_t sample, int64_t label) const {
    return (sample / inner * classes + label) * inner + sample % inner;
  }
};
// An error when the operands do not fit together.
Result<LossShape> loss_shape(const EvalContext& c, const char* op);

// Writes output 0; log_probability(position) is the logarithm at a row-major position of input 0.
using LogProbability = double (*)(const void* context, int64_t position);
Status write_loss(const EvalContext& c, const char* op, const LossShape& shape,
                  LogProbability log_probability, const void* context);

}  // namespace stoker
