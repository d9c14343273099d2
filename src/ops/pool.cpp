// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"

namespace stoker {

Status infer_pool(InferContext& c, const char* op, DTypeSet set) {
  STOKER_TRY(check_input(c, op, 0, "input", set));
  const ValueType& x = c.type(0);
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    c.outputs[i] = ValueType::unranked(i == 0 ? x.dtype : DType::kI64);
  }
  if (!x.ranked) return Status::ok();
  Shape kernel = c.attributes.get_ints("kernel_shape");
  if (x.rank() < 3 || kernel.size() + 2 != x.dims.size()) {
    return invalid_model("{}: kernel {} does not fit input {}", op, shape_text(kernel),
                         type_text(x));
  }
  STOKER_ASSIGN(const Window window, window_of(c.attributes, op, std::move(kernel)));
  Dims dims = {x.dims[0], x.dims[1]};
  for (size_t d = 0; d < window.rank(); ++d) {
    STOKER_ASSIGN(Dim extent, pool_output(window, op, d, x.dims[d + 2]));
    dims.push_back(std::move(extent));
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) set_output(c, i, c.outputs[i].dtype, dims);
  return Status::ok();
}

Status infer_global_pool(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 0, "input", kFloats));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (x.rank() < 2)
    return invalid_model("{}: input is {}, expected rank 2 or more", op, type_text(x));
  Dims dims(x.dims.size(), Dim(1));
  dims[0] = x.dims[0];
  dims[1] = x.dims[1];
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Result<PoolShape> pool_shape(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  PoolShape s;
  s.in.assign(x.shape.begin() + 2, x.shape.end());
  s.out.assign(y.shape.begin() + 2, y.shape.end());
  STOKER_ASSIGN(s.window, window_of(c.attributes, "pool", c.attributes.get_ints("kernel_shape")));
  resolve_pads(s.window, WindowKind::kPool, s.in, s.out);
  s.planes = x.shape[0] * x.shape[1];
  s.in_plane = s.out_plane = 1;
  for (const int64_t extent : s.in) s.in_plane *= extent;
  for (const int64_t extent : s.out) s.out_plane *= extent;
  return s;
}

}  // namespace stoker
