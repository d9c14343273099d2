// Fourier transforms of a signal's frames: frame_length points every frame_step points, each
// multiplied by the window.
// SPDX-License-Identifier: Apache-2.0
#include "ops/fft.h"
#include "ops/support.h"

namespace stoker {

namespace {

// A scalar input as an expression; nullopt: not known yet.
Result<std::optional<Dim>> scalar(const InferContext& c, size_t i, const char* what) {
  STOKER_TRY(check_input(c, "stft", i, what, kIndices));
  const auto given = c.elements(i);
  if (!given) return std::optional<Dim>();
  if (given->size() != 1)
    return invalid_model("stft: {} has {} elements, expected 1", what, given->size());
  if ((*given)[0].is_const() && (*given)[0].value() < 1)
    return invalid_model("stft: {} is {}, expected 1 or more", what, (*given)[0].value());
  return std::optional((*given)[0]);
}

Result<Dim> frame_length(InferContext& c, const Dim& signal) {
  if (c.has(3)) {
    STOKER_ASSIGN(const auto given, scalar(c, 3, "frame_length"));
    return given ? *given : c.fresh();
  }
  if (!c.has(2)) return signal;
  return c.type(2).ranked ? c.type(2).dims[0] : c.fresh();
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "stft", 0, "signal", kFloats));
  STOKER_ASSIGN(const auto step, scalar(c, 1, "frame_step"));
  const ValueType& x = c.type(0);
  if (c.has(2)) {
    STOKER_TRY(check_input(c, "stft", 2, "window", kFloats));
    STOKER_TRY(check_same_dtype(c, "stft", 0, 2));
    if (c.type(2).ranked && c.type(2).rank() != 1)
      return invalid_model("stft: window is {}, expected rank 1", type_text(c.type(2)));
  }
  if (!x.ranked) {
    set_output(c, 0, x.dtype, {c.fresh(), c.fresh(), c.fresh(), Dim(2)});
    return Status::ok();
  }
  if (x.rank() != 2 && x.rank() != 3)
    return invalid_model("stft: signal is {}, expected (batch, length, 1 or 2)", type_text(x));
  if (x.rank() == 3 && x.dims[2].is_const() && x.dims[2].value() != 1 && x.dims[2].value() != 2) {
    return invalid_model("stft: the last axis of {} has {} parts, expected 1 or 2", type_text(x),
                         x.dims[2].value());
  }
  STOKER_ASSIGN(const Dim length, frame_length(c, x.dims[1]));
  const Dim rest = x.dims[1] - length;
  if (rest.is_const() && rest.value() < 0) {
    return invalid_model("stft: a frame has {} points, the signal only {}", length.text(),
                         x.dims[1].text());
  }
  const Dim frames = step ? Dim::floor_div(rest, *step) + Dim(1) : c.fresh();
  const Dim bins =
      c.attributes.get_int("onesided", 1) ? Dim::floor_div(length, Dim(2)) + Dim(1) : length;
  set_output(c, 0, x.dtype, {x.dims[0], frames, bins, Dim(2)});
  return Status::ok();
}

struct Frames {
  int64_t step = 0, length = 0, count = 0, bins = 0;
};

Result<Frames> make_frames(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (x.rank() != 2 && (x.rank() != 3 || x.shape[2] < 1 || x.shape[2] > 2))
    return invalid_argument("stft: signal has shape {}", shape_text(x.shape));
  Frames f;
  STOKER_TRY(check_count(c.inputs[1], 1, "stft", "frame_step"));
  f.step = Reader(c.inputs[1]).integer(0);
  f.length = c.has(2) ? c.inputs[2].count() : x.shape[1];
  if (c.has(3)) {
    STOKER_TRY(check_count(c.inputs[3], 1, "stft", "frame_length"));
    f.length = Reader(c.inputs[3]).integer(0);
  }
  if (f.step < 1 || f.length < 1 || f.length > x.shape[1]) {
    return invalid_argument("stft: frames of {} points every {} do not fit a signal of {}",
                            f.length, f.step, x.shape[1]);
  }
  f.count = (x.shape[1] - f.length) / f.step + 1;
  f.bins = c.attributes.get_int("onesided", 1) ? f.length / 2 + 1 : f.length;
  if (y.shape != Shape{x.shape[0], f.count, f.bins, 2}) {
    return invalid_argument("stft: {} frames of {} bins do not fill an output of {}", f.count,
                            f.bins, shape_text(y.shape));
  }
  return f;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const Frames f, make_frames(c));
  // A window shorter than the frame stands at its start; what lies beyond a frame counts for
  // nothing.
  std::vector<double> window(static_cast<size_t>(f.length), c.has(2) ? 0.0 : 1.0);
  if (c.has(2)) {
    const std::vector<double> given = to_doubles(c.inputs[2]);
    std::copy_n(given.begin(), std::min(given.size(), window.size()), window.begin());
  }
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  const bool is_complex = x.rank() == 3 && x.shape[2] == 2;
  Fourier fourier(f.length);
  std::vector<std::complex<double>> line(window.size());
  for (int64_t batch = 0; batch < x.shape[0]; ++batch) {
    for (int64_t frame = 0; frame < f.count; ++frame) {
      for (int64_t k = 0; k < f.length; ++k) {
        const int64_t at = batch * x.strides[0] + (frame * f.step + k) * x.strides[1];
        line[k] = {load(x.data, at) * window[k],
                   is_complex ? load(x.data, at + x.strides[2]) * window[k] : 0.0};
      }
      fourier.transform(line.data(), false);
      const int64_t to = batch * y.strides[0] + frame * y.strides[1];
      for (int64_t k = 0; k < f.bins; ++k) {
        store(y.data, to + k * y.strides[2], line[k].real());
        store(y.data, to + k * y.strides[2] + y.strides[3], line[k].imag());
      }
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_stft;
const Op op_stft = {
    .name = "stft",
    .min_inputs = 2,
    .max_inputs = 4,
    .attributes = {{"onesided", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
