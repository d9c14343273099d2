// What the ops that fill a tensor with random numbers share. The dtype is the attribute "dtype",
// the shape the attribute "shape" or, in the `like` forms, the input's, whose dtype is then the
// default.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/random.h"
#include "ops/value_checks.h"

namespace stoker {

Status infer_drawn(InferContext& c, const char* op);
Status infer_drawn_like(InferContext& c, const char* op);

// Output 0 from draw(stream), element by element.
template <class Draw>
Status evaluate_drawn(ValueContext& c, Draw&& draw) {
  STOKER_ASSIGN(c.outputs[0], draw_tensor(c, c.attributes.get_dtype("dtype", DType::kF32),
                                          c.attributes.get_ints("shape"), draw));
  return Status::ok();
}
template <class Draw>
Status evaluate_drawn_like(ValueContext& c, const char* op, Draw&& draw) {
  STOKER_TRY(check_tensor(c, op, 0, kAny));
  const Tensor& like = c.tensor(0);
  STOKER_ASSIGN(c.outputs[0],
                draw_tensor(c, c.attributes.get_dtype("dtype", like.dtype()), like.shape(), draw));
  return Status::ok();
}

// The two distributions, with the attributes that say which.
inline auto normal_of(const Attributes& attributes) {
  const double mean = attributes.get_float("mean", 0), scale = attributes.get_float("scale", 1);
  return [=](RandomStream& stream) { return mean + scale * stream.normal(); };
}
inline auto uniform_of(const Attributes& attributes) {
  const double low = attributes.get_float("low", 0), high = attributes.get_float("high", 1);
  return [=](RandomStream& stream) { return low + (high - low) * stream.uniform(); };
}

}  // namespace stoker
