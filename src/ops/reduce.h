// Reductions over axes that an optional input 1 names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

inline constexpr DTypeSet kReducible =
    kFloats | dtypes({DType::kI64, DType::kI32, DType::kU64, DType::kU32});

// Attributes of every reduction.
std::vector<AttributeDef> reduce_attributes();
Status infer_reduce(InferContext& c, const char* op, DTypeSet set);
// Shape value of a whole reduction of a vector of sizes.
void reduce_elements(InferContext& c, Dim (*f)(const Dim& a, const Dim& b));

struct Reduction {
  SplitWalk walk;  // operands: x, y; y's strides are 0 along the reduced axes
  int64_t count;   // elements that one output is made of
  std::vector<int64_t> kept_wanted;
};
// An error when the axes do not lead to the shape of y: they may be known only when the model runs.
Result<Reduction> reduction_of(const TensorView& x, const TensorView& y,
                               const std::vector<int64_t>& axes, bool keep,
                               std::span<const int64_t> wanted);
Result<Reduction> reduction_of(const EvalContext& c);

// y = finish(fold of step from init, count) in double.
template <class Step, class Finish>
Status reduce_float(const EvalContext& c, double init, Step step, Finish finish) {
  STOKER_ASSIGN(const Reduction r, reduction_of(c));
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  for_each_wanted(r.walk.kept, r.kept_wanted, [&](const int64_t* kept) {
    double value = init;
    for_each_wanted(r.walk.inner, {},
                    [&](const int64_t* o) { value = step(value, load(x.data, kept[0] + o[0])); });
    store(y.data, kept[1], finish(value, r.count));
  });
  return Status::ok();
}

// The same for T = int64_t or uint64_t, which wrap.
template <class T, class Step, class Finish>
Status reduce_integer(const EvalContext& c, T init, Step step, Finish finish) {
  STOKER_ASSIGN(const Reduction r, reduction_of(c));
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const LoadInt load = load_int(x.dtype);
  const StoreInt store = store_int(y.dtype);
  for_each_wanted(r.walk.kept, r.kept_wanted, [&](const int64_t* kept) {
    T value = init;
    for_each_wanted(r.walk.inner, {}, [&](const int64_t* o) {
      value = step(value, static_cast<T>(load(x.data, kept[0] + o[0])));
    });
    store(y.data, kept[1], wrap_int(y.dtype, static_cast<int64_t>(finish(value, r.count))));
  });
  return Status::ok();
}

// Floats, signed and unsigned integers by one generic step and finish.
template <class Step, class Finish>
Status reduce_number(const EvalContext& c, double init, int64_t init_signed, uint64_t init_unsigned,
                     Step step, Finish finish) {
  if (!is_exact_integer(c.inputs[0].dtype)) return reduce_float(c, init, step, finish);
  if (c.inputs[0].dtype == DType::kU64)
    return reduce_integer<uint64_t>(c, init_unsigned, step, finish);
  return reduce_integer<int64_t>(c, init_signed, step, finish);
}

}  // namespace stoker
