// SPDX-License-Identifier: Apache-2.0
#include "ops/cosine_window.h"

#include <numbers>

namespace stoker {

Status infer_cosine_window(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 0, "size", kIndices));
  const DType dtype = c.attributes.get_dtype("output_datatype", DType::kF32);
  if (!contains(kNumbers, dtype))
    return invalid_model("{}: output_datatype is {}, expected a number", op, dtype_name(dtype));
  const auto size = c.elements(0);
  if (size && size->size() != 1)
    return invalid_model("{}: size has {} elements, expected 1", op, size->size());
  if (size && (*size)[0].is_const() && (*size)[0].value() < 0)
    return invalid_model("{}: size is {}, expected 0 or more", op, (*size)[0].value());
  set_output(c, 0, dtype, {size ? (*size)[0] : c.fresh()});
  return Status::ok();
}

Status evaluate_cosine_window(const EvalContext& c, const char* op, double a0, double a1,
                              double a2) {
  STOKER_TRY(check_count(c.inputs[0], 1, op, "the size"));
  const int64_t size = Reader(c.inputs[0]).integer(0);
  STOKER_TRY(check_count(c.outputs[0], size, op, "the output"));
  // A symmetric window ends on the first point of the next period. One of a single point has no
  // period, and the formula of the standard no value: NaN.
  const double period = static_cast<double>(c.attributes.get_int("periodic", 1) ? size : size - 1);
  const Writer write(c.outputs[0]);
  for_each_position(size, c.wanted, [&](int64_t i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    write.number(i, a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  });
  return Status::ok();
}

}  // namespace stoker
