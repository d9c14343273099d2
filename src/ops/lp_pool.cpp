// The p-norm of every window.
// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status evaluate(const EvalContext& c) {
  STOKER_ASSIGN(const PoolShape s, pool_shape(c));
  const Taps taps(s.window, s.in, dense_strides(s.in), s.out);
  const std::vector<double> values = to_doubles(c.inputs[0]);
  const Writer write(c.outputs[0]);
  const double p = static_cast<double>(c.attributes.get_int("p", 2));
  for_each_pool(s, taps, c.wanted,
                [&](int64_t plane, int64_t position, const std::vector<int64_t>& offsets) {
                  const double* in = values.data() + plane * s.in_plane;
                  double sum = 0;
                  for (const int64_t offset : offsets) {
                    if (offset >= 0) sum += std::pow(std::fabs(in[offset]), p);
                  }
                  write.number(plane * s.out_plane + position, std::pow(sum, 1.0 / p));
                });
  return Status::ok();
}

}  // namespace

extern const Op op_lp_pool;
const Op op_lp_pool = {
    .name = "lp_pool",
    .attributes = {{"auto_pad", AttributeKind::kString},
                   {"ceil_mode", AttributeKind::kInt},
                   {"dilations", AttributeKind::kInts},
                   {"kernel_shape", AttributeKind::kInts, true},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts},
                   {"p", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_pool(c, "lp_pool", kFloats); },
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
