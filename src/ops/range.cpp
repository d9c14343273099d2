// start, start + delta, ... up to but without limit.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

std::optional<int64_t> float_count(const InferContext& c) {
  double v[3];
  for (size_t i = 0; i < 3; ++i) {
    const Tensor* tensor = c.inputs[i].constant;
    if (!tensor || tensor->count() != 1) return std::nullopt;
    v[i] = load_double(tensor->dtype())(tensor->data(), 0);
  }
  // The difference rounds to the dtype first, as ONNX Runtime has it.
  const double distance = c.type(0).dtype == DType::kF32
                              ? static_cast<double>(static_cast<float>(v[1] - v[0]))
                              : v[1] - v[0];
  const double count = std::ceil(distance / v[2]);
  return count > 0 && count < 0x1p40 ? static_cast<int64_t>(count) : 0;
}

std::optional<Dim> integer_count(const InferContext& c) {
  const auto start = c.elements(0), limit = c.elements(1), delta = c.elements(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || !(*delta)[0].is_const()) {
    return std::nullopt;
  }
  const int64_t step = (*delta)[0].value();
  Dim distance = (*limit)[0] - (*start)[0];
  if (step < 0) distance = Dim(0) - distance;
  if (step == 0 || step == INT64_MIN) return std::nullopt;
  const Dim count = round_up_div(distance, step < 0 ? -step : step);
  // A plain sum of sizes is not negative.
  return !count.is_const() && distance.text().find('-') == std::string::npos
             ? count
             : Dim::max(count, Dim(0));
}

Status infer(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) {
    STOKER_TRY(check_input(c, "range", i, "bound", kNumbers));
    STOKER_TRY(check_same_dtype(c, "range", 0, i));
  }
  const DType dtype = c.type(0).dtype;
  if (c.inputs[2].constant && c.inputs[2].constant->count() == 1 &&
      load_double(dtype)(c.inputs[2].constant->data(), 0) == 0) {
    return invalid_model("range: delta is 0");
  }
  std::optional<Dim> count;
  if (is_float(dtype)) {
    if (const auto n = float_count(c)) count = Dim(*n);
  } else {
    count = integer_count(c);
  }
  set_output(c, 0, dtype, {count ? *count : c.fresh()});
  const auto start = c.elements(0), delta = c.elements(2);
  if (count && count->is_const() && count->value() <= 4096 && start && delta) {
    Dims elements;
    for (int64_t i = 0; i < count->value(); ++i)
      elements.push_back((*start)[0] + Dim(i) * (*delta)[0]);
    c.shape_values[0] = std::move(elements);
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  for (const TensorView& bound : c.inputs) STOKER_TRY(check_count(bound, 1, "range", "a bound"));
  const Writer write(y);
  if (is_integer(y.dtype)) {
    const uint64_t start = static_cast<uint64_t>(Reader(c.inputs[0]).integer(0));
    const uint64_t delta = static_cast<uint64_t>(Reader(c.inputs[2]).integer(0));
    for_each_position(y.count(), c.wanted, [&](int64_t i) {
      write.integer(i, static_cast<int64_t>(start + delta * static_cast<uint64_t>(i)));
    });
    return Status::ok();
  }
  const double start = Reader(c.inputs[0]).number(0), delta = Reader(c.inputs[2]).number(0);
  for_each_position(y.count(), c.wanted,
                    [&](int64_t i) { write.number(i, start + static_cast<double>(i) * delta); });
  return Status::ok();
}

}  // namespace

extern const Op op_range;
const Op op_range = {
    .name = "range",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
