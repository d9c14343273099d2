// Mean of every window, over the elements inside the input or also over the padding.
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
  const bool padded = c.attributes.get_int("count_include_pad") != 0;
  for_each_pool(s, taps, c.wanted,
                [&](int64_t plane, int64_t position, const std::vector<int64_t>& offsets) {
                  const double* in = values.data() + plane * s.in_plane;
                  double sum = 0;
                  int64_t count = 0;
                  for (const int64_t offset : offsets) {
                    if (offset < 0) continue;
                    sum += in[offset];
                    ++count;
                  }
                  if (padded) count = taps.padded_count(position);
                  // A window wholly in the padding gives 0.
                  write.number(plane * s.out_plane + position,
                               sum / static_cast<double>(std::max<int64_t>(count, 1)));
                });
  return Status::ok();
}

}  // namespace

extern const Op op_average_pool;
const Op op_average_pool = {
    .name = "average_pool",
    .attributes = {{"auto_pad", AttributeKind::kString},
                   {"ceil_mode", AttributeKind::kInt},
                   {"dilations", AttributeKind::kInts},
                   {"kernel_shape", AttributeKind::kInts, true},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts},
                   {"count_include_pad", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_pool(c, "average_pool", kFloats); },
    .evaluate = evaluate,
};

}  // namespace stoker
