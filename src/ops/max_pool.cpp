// Largest element of every window; the second output is its flat index in the input.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <numeric>

#include "ops/pool.h"
#include "ops/support.h"

namespace stoker {

namespace {

// Index of an element in its plane when the first spatial axis runs fastest.
int64_t column_major(int64_t offset, const Shape& in) {
  int64_t index = 0;
  for (size_t d = in.size(); d-- > 0;) {
    index =
        index + offset % in[d] *
                    std::accumulate(in.begin(), in.begin() + d, int64_t{1}, std::multiplies<>());
    offset /= in[d];
  }
  return index;
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  STOKER_ASSIGN(const PoolShape s, pool_shape(c));
  const Taps taps(s.window, s.in, dense_strides(s.in), s.out);
  const std::vector<double> values =
      to_doubles(x);  // 8-bit integers and floats are exact in double
  const Writer write(c.outputs[0]);
  const bool indexed = c.outputs.size() > 1 && c.outputs[1].present();
  const Writer index(indexed ? c.outputs[1] : c.outputs[0]);
  const bool columns = c.attributes.get_int("storage_order") != 0;
  for_each_pool(
      s, taps, c.wanted, [&](int64_t plane, int64_t position, const std::vector<int64_t>& offsets) {
        const double* in = values.data() + plane * s.in_plane;
        int64_t best = -1;
        for (const int64_t offset : offsets) {
          if (offset >= 0 && (best < 0 || in[offset] > in[best])) best = offset;
        }
        const int64_t at = plane * s.out_plane + position;
        write.number(at, best < 0 ? -std::numeric_limits<double>::infinity() : in[best]);
        if (indexed)
          index.integer(at, plane * s.in_plane +
                                (columns ? column_major(std::max<int64_t>(best, 0), s.in) : best));
      });
  return Status::ok();
}

}  // namespace

extern const Op op_max_pool;
const Op op_max_pool = {
    .name = "max_pool",
    .output_count = -1,
    .attributes = {{"auto_pad", AttributeKind::kString},
                   {"ceil_mode", AttributeKind::kInt},
                   {"dilations", AttributeKind::kInts},
                   {"kernel_shape", AttributeKind::kInts, true},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts},
                   {"storage_order", AttributeKind::kInt}},
    .infer = [](InferContext& c) { return infer_pool(c, "max_pool", kFloats | kBytes); },
    .evaluate = evaluate,
};

}  // namespace stoker
