// What the pools share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/window.h"

namespace stoker {

// Outputs of a windowed pool: [N, C, windows...]; further outputs are i64 of the same shape.
Status infer_pool(InferContext& c, const char* op, DTypeSet set);
// [N, C, 1, ...].
Status infer_global_pool(InferContext& c, const char* op);

struct PoolShape {
  Window window;
  Shape in, out;
  int64_t planes, in_plane, out_plane;
};
Result<PoolShape> pool_shape(const EvalContext& c);

// body(plane, position, offsets): every output element with the offsets of its taps in the input
// plane.
template <class Body>
void for_each_pool(const PoolShape& s, const Taps& taps, std::span<const int64_t> wanted,
                   Body body) {
  std::vector<int64_t> offsets(static_cast<size_t>(taps.count()));
  if (!wanted.empty()) {
    for (const int64_t at : wanted) {
      taps.at(at % s.out_plane, offsets.data());
      body(at / s.out_plane, at % s.out_plane, offsets);
    }
    return;
  }
  for (int64_t position = 0; position < s.out_plane; ++position) {
    taps.at(position, offsets.data());
    for (int64_t plane = 0; plane < s.planes; ++plane) body(plane, position, offsets);
  }
}

// Runs f(values of one plane) -> double over all [N, C] planes.
template <class F>
Status global_pool(const EvalContext& c, F f) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const std::vector<double> values = to_doubles(x);
  const int64_t planes = x.shape[0] * x.shape[1], plane = planes == 0 ? 0 : x.count() / planes;
  const Writer write(y);
  for_each_position(planes, c.wanted, [&](int64_t i) {
    write.number(i,
                 f(std::span<const double>(values.data() + i * plane, static_cast<size_t>(plane))));
  });
  return Status::ok();
}

}  // namespace stoker
