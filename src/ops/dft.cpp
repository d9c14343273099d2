// Discrete Fourier transform along one axis of signals whose last axis holds the real part, or the
// real and the imaginary part. One-sided: of real signals, half of the symmetric spectrum.
// SPDX-License-Identifier: Apache-2.0
#include "ops/fft.h"
#include "ops/support.h"

namespace stoker {

namespace {

// The axis when it is known; one of the signal's, never the last.
Result<std::optional<int64_t>> known_axis(const InferContext& c, int64_t rank) {
  int64_t axis = -2;
  if (c.has(2)) {
    STOKER_TRY(check_input(c, "dft", 2, "axis", kIndices));
    const auto given = c.constant_ints(2);
    if (!given) return std::optional<int64_t>();
    if (given->size() != 1)
      return invalid_model("dft: axis has {} elements, expected 1", given->size());
    axis = (*given)[0];
  }
  STOKER_ASSIGN(const int64_t at, normalize_axis("dft", axis, rank));
  if (at == rank - 1)
    return invalid_model("dft: axis {} is the last one, which holds real and imaginary part", axis);
  return std::optional(at);
}

// The length of the transform: input 1, or as long as the signal.
Result<Dim> length(InferContext& c, const Dim& extent) {
  const bool real_output = c.attributes.get_int("inverse") && c.attributes.get_int("onesided");
  if (!c.has(1)) return real_output ? Dim(2) * (extent - Dim(1)) : extent;
  STOKER_TRY(check_input(c, "dft", 1, "dft_length", kIndices));
  const auto given = c.elements(1);
  if (!given) return c.fresh();
  if (given->size() != 1)
    return invalid_model("dft: dft_length has {} elements, expected 1", given->size());
  return (*given)[0];
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "dft", 0, "input", kFloats));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  if (x.rank() < 2) return invalid_model("dft: input is {}, expected rank 2 or more", type_text(x));
  const Dim& parts = x.dims.back();
  if (parts.is_const() && parts.value() != 1 && parts.value() != 2) {
    return invalid_model("dft: the last axis of {} has {} parts, expected 1 or 2", type_text(x),
                         parts.value());
  }
  const bool inverse = c.attributes.get_int("inverse"), half = c.attributes.get_int("onesided");
  STOKER_ASSIGN(const auto axis, known_axis(c, x.rank()));
  Dims dims = x.dims;
  dims.back() = Dim(inverse && half ? 1 : 2);
  if (!axis) {
    for (size_t d = 0; d + 1 < dims.size(); ++d) dims[d] = c.fresh();
  } else {
    Dim& extent = dims[static_cast<size_t>(*axis)];
    STOKER_ASSIGN(extent, length(c, extent));
    if (extent.is_const() && extent.value() < 1) {
      return invalid_model("dft: the transform has length {}, expected 1 or more", extent.value());
    }
    if (half && !inverse) extent = Dim::floor_div(extent, Dim(2)) + Dim(1);
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

struct Plan {
  int64_t axis = 0, n = 0, taken = 0;  // length of the transform; elements the signal gives it
  bool inverse = false, half = false;
};

Result<Plan> make_plan(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  Plan plan{.inverse = c.attributes.get_int("inverse") != 0,
            .half = c.attributes.get_int("onesided") != 0};
  plan.axis = -2;
  if (c.has(2)) {
    STOKER_TRY(check_count(c.inputs[2], 1, "dft", "the axis"));
    plan.axis = Reader(c.inputs[2]).integer(0);
  }
  plan.axis = wrap_axis(plan.axis, x.rank());
  if (plan.axis < 0 || plan.axis >= x.rank() - 1)
    return invalid_argument("dft: axis {} does not exist in shape {}", plan.axis,
                            shape_text(x.shape));
  const int64_t extent = x.shape[plan.axis];
  plan.n = plan.inverse && plan.half ? 2 * (extent - 1) : extent;
  if (c.has(1)) {
    STOKER_TRY(check_count(c.inputs[1], 1, "dft", "dft_length"));
    plan.n = Reader(c.inputs[1]).integer(0);
  }
  const int64_t expected = plan.half && !plan.inverse ? plan.n / 2 + 1 : plan.n;
  Shape shape = x.shape;
  shape[plan.axis] = expected;
  shape.back() = plan.inverse && plan.half ? 1 : 2;
  if (plan.n < 1 || x.shape.back() < 1 || x.shape.back() > 2 || y.shape != shape) {
    return invalid_argument("dft: input of shape {}, length {}, does not give an output of {}",
                            shape_text(x.shape), plan.n, shape_text(y.shape));
  }
  plan.taken = std::min(extent, plan.inverse && plan.half ? plan.n / 2 + 1 : plan.n);
  return plan;
}

// The other half of the spectrum of a real signal, whose first and middle value are real.
void mirror(std::vector<std::complex<double>>& values) {
  const size_t n = values.size();
  values[0] = values[0].real();
  for (size_t k = 1; 2 * k < n; ++k) values[n - k] = std::conj(values[k]);
  if (n % 2 == 0) values[n / 2] = values[n / 2].real();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const Plan plan, make_plan(c));
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  const int64_t last = x.rank() - 1;
  // Everything but the transformed axis and the parts.
  Walk walk{x.shape, {x.strides, y.strides}};
  walk.shape[plan.axis] = walk.shape[last] = 1;
  const int64_t from = x.strides[plan.axis], to = y.strides[plan.axis], bins = y.shape[plan.axis];
  const bool is_complex = x.shape[last] == 2, real_output = y.shape[last] == 1;
  Fourier fourier(plan.n);
  std::vector<std::complex<double>> line(static_cast<size_t>(plan.n));
  for_each_wanted(walk, {}, [&](const int64_t* o) {
    std::fill(line.begin(), line.end(), 0.0);
    for (int64_t k = 0; k < plan.taken; ++k) {
      const int64_t at = o[0] + k * from;
      line[k] = {load(x.data, at), is_complex ? load(x.data, at + x.strides[last]) : 0.0};
    }
    if (real_output) mirror(line);
    fourier.transform(line.data(), plan.inverse);
    for (int64_t k = 0; k < bins; ++k) {
      store(y.data, o[1] + k * to, line[k].real());
      if (!real_output) store(y.data, o[1] + k * to + y.strides[last], line[k].imag());
    }
  });
  return Status::ok();
}

}  // namespace

extern const Op op_dft;
const Op op_dft = {
    .name = "dft",
    .min_inputs = 1,
    .max_inputs = 3,
    .attributes = {{"inverse", AttributeKind::kInt}, {"onesided", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
