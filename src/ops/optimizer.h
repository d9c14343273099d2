// What the training steps share: adagrad, adam, momentum update any number of tensors at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

// Inputs: learning rate, update count, then `groups` lists of equally many tensors, the tensors to
// update first. Outputs: the lists that the step renews, in the same order: all but the gradients.
Status infer_optimizer(InferContext& c, const char* op, size_t groups);

struct Step {
  double rate = 0, count = 0;
  size_t tensors = 0;
};
// An error when the operands do not fit together.
Result<Step> optimizer_step(const EvalContext& c, const char* op, size_t groups);

// update(double* v): v holds one element of every list, the gradient second, and receives the new
// ones.
template <class Update>
void update_all(const EvalContext& c, const Step& step, size_t groups, Update update) {
  for (size_t k = 0; k < step.tensors; ++k) {
    std::vector<Reader> in;
    std::vector<Writer> out;
    for (size_t g = 0; g < groups; ++g) in.emplace_back(c.inputs[2 + g * step.tensors + k]);
    for (size_t g = 0; g + 1 < groups; ++g) out.emplace_back(c.outputs[g * step.tensors + k]);
    std::vector<double> v(groups);
    for (int64_t i = 0; i < c.outputs[k].count(); ++i) {
      for (size_t g = 0; g < groups; ++g) v[g] = in[g].number(i);
      update(v.data());
      out[0].number(i, v[0]);
      for (size_t g = 2; g < groups; ++g) out[g - 1].number(i, v[g]);
    }
  }
}

}  // namespace stoker
