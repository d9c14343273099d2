// Local response normalization over `size` neighbouring channels.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, "lrn", kFloats));
  if (c.attributes.get_int("size") < 1)
    return invalid_model("lrn: size is {}, expected 1 or more", c.attributes.get_int("size"));
  if (c.type(0).ranked && c.type(0).rank() < 2) {
    return invalid_model("lrn: input is {}, expected rank 2 or more", type_text(c.type(0)));
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const std::vector<double> values = to_doubles(x);
  const int64_t size = c.attributes.get_int("size"), channels = x.shape[1];
  const double alpha = c.attributes.get_float("alpha", 1e-4f),
               beta = c.attributes.get_float("beta", 0.75),
               bias = c.attributes.get_float("bias", 1.0);
  int64_t inner = 1;
  for (int d = 2; d < x.rank(); ++d) inner *= x.shape[d];
  const Writer write(c.outputs[0]);
  for_each_position(x.count(), c.wanted, [&](int64_t i) {
    const int64_t channel = i / inner % channels;
    const int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2),
                  last = std::min(channels - 1, channel + size / 2);
    double squares = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double v = values[i + (k - channel) * inner];
      squares += v * v;
    }
    write.number(i, values[i] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_lrn;
const Op op_lrn = {
    .name = "lrn",
    .attributes = {{"alpha", AttributeKind::kFloat},
                   {"beta", AttributeKind::kFloat},
                   {"bias", AttributeKind::kFloat},
                   {"size", AttributeKind::kInt, true}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
