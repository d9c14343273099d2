// Mean of all inputs, broadcast, rounded once.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

extern const Op op_mean;
const Op op_mean = {
    .name = "mean",
    .max_inputs = -1,
    .infer = [](InferContext& c) { return infer_broadcast(c, "mean", kFloats); },
    .evaluate = [](const EvalContext& c) -> Status {
      const TensorView& y = c.outputs[0];
      std::vector<std::vector<double>> values;
      std::vector<Shape> strides;
      for (const TensorView& x : c.inputs) {
        STOKER_TRY(check_broadcast(y.shape, {&x}));
        values.push_back(to_doubles(x));
        const TensorView copy{DType::kF64, x.shape, dense_strides(x.shape)};
        strides.push_back(broadcast_walk(y.shape, {&copy}).strides[0]);
      }
      std::vector<int64_t> at(y.shape.size());
      const Writer write(y);
      for_each_position(y.count(), c.wanted, [&](int64_t position) {
        unravel(y.shape, position, at.data());
        double sum = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          sum += values[i][static_cast<size_t>(dot(at.data(), strides[i]))];
        }
        write.number(position, sum / static_cast<double>(c.inputs.size()));
      });
      return Status::ok();
    },
    .pointwise = true,
};

}  // namespace stoker
