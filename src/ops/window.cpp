// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include "ops/matrix.h"

namespace stoker {
namespace {

// Keeps products of window numbers far away from overflow.
constexpr int64_t kLargest = int64_t{1} << 31;

Status check_numbers(const char* op, const char* what, const Shape& numbers, size_t rank,
                     int64_t least) {
  if (numbers.size() != rank) {
    return invalid_model("{}: {} has {} numbers, expected {}", op, what, numbers.size(), rank);
  }
  for (const int64_t n : numbers) {
    if (n < least || n > kLargest) {
      return invalid_model("{}: {} {} holds {}, expected {} to {}", op, what, shape_text(numbers),
                           n, least, kLargest);
    }
  }
  return Status::ok();
}

}  // namespace

int64_t Window::taps() const {
  int64_t n = 1;
  for (const int64_t k : kernel) n *= k;
  return n;
}

Result<Window> window_of(const Attributes& attributes, const char* op, Shape kernel) {
  const size_t rank = kernel.size();
  Window w;
  w.kernel = std::move(kernel);
  w.strides = attributes.get_ints("strides", Shape(rank, 1));
  w.dilations = attributes.get_ints("dilations", Shape(rank, 1));
  w.auto_pad = attributes.get_string("auto_pad", "NOTSET");
  w.ceil = attributes.get_int("ceil_mode") != 0;
  Shape pads(2 * rank, 0);
  if (w.auto_pad.empty() || w.auto_pad == "NOTSET") {
    w.auto_pad = "NOTSET";
    pads = attributes.get_ints("pads", pads);
  } else if (w.auto_pad != "VALID" && w.auto_pad != "SAME_UPPER" && w.auto_pad != "SAME_LOWER") {
    return invalid_model("{}: auto_pad is \"{}\", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                         op, w.auto_pad);
  }
  STOKER_TRY(check_numbers(op, "kernel_shape", w.kernel, rank, 1));
  STOKER_TRY(check_numbers(op, "strides", w.strides, rank, 1));
  STOKER_TRY(check_numbers(op, "dilations", w.dilations, rank, 1));
  STOKER_TRY(check_numbers(op, "pads", pads, 2 * rank, -kLargest));
  int64_t taps = 1;
  for (const int64_t k : w.kernel) {
    taps *= k;
    if (taps > (int64_t{1} << 24))
      return invalid_model("{}: kernel {} is too large", op, shape_text(w.kernel));
  }
  w.pads_begin.assign(pads.begin(), pads.begin() + rank);
  w.pads_end.assign(pads.begin() + rank, pads.end());
  return w;
}

Result<Dim> window_output(const Window& w, const char* op, size_t d, const Dim& in) {
  if (w.auto_pad[0] == 'S') return round_up_div(in, w.strides[d]);
  const Dim room = in + Dim(w.pads_begin[d] + w.pads_end[d] - w.extent(d));
  if (room.is_const() && room.value() < 0) {
    return invalid_model("{}: the window covers {} elements of axis {}, the padded input has {}",
                         op, w.extent(d), d + 2,
                         (in + Dim(w.pads_begin[d] + w.pads_end[d])).text());
  }
  if (!w.ceil) return (w.strides[d] == 1 ? room : Dim::floor_div(room, Dim(w.strides[d]))) + Dim(1);
  if (w.strides[d] == 1) return room + Dim(1);
  // A last window that would start in the end padding is left out.
  const Dim rounded = round_up_div(room, w.strides[d]) + Dim(1);
  const Dim starts = round_up_div(in + Dim(w.pads_begin[d]), w.strides[d]);
  return Dim::min(rounded, starts);
}

Result<Dim> pool_output(const Window& w, const char* op, size_t d, const Dim& in) {
  const Dim room = in + Dim(w.pads_begin[d] + w.pads_end[d] - w.extent(d));
  if (w.auto_pad[0] == 'S' || !room.is_const() || room.value() >= 0)
    return window_output(w, op, d, in);
  const int64_t count = room.value() / w.strides[d] + 1;  // truncates
  if (count >= 0) return Dim(count);
  return invalid_model("{}: the window covers {} elements of axis {}, the padded input has {}", op,
                       w.extent(d), d + 2, (in + Dim(w.pads_begin[d] + w.pads_end[d])).text());
}

void resolve_pads(Window& w, WindowKind kind, const Shape& in, const Shape& out) {
  if (w.auto_pad[0] != 'S') return;
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t total = (out[d] - 1) * w.strides[d] + w.extent(d) - in[d];
    const int64_t lower = w.auto_pad == "SAME_LOWER" ? 1 : 0;
    const int64_t skipped = total < 0 && kind == WindowKind::kConv ? 1 : 0;
    w.pads_begin[d] = (total + lower + skipped) / 2;
    w.pads_end[d] = total - w.pads_begin[d];
  }
}

Taps::Taps(const Window& window, const Shape& in, const Shape& in_strides, const Shape& out)
    : window_(window), in_(in), strides_(in_strides), out_(out) {
  const int64_t taps = window.taps();
  relative_.resize(static_cast<size_t>(taps) * window.rank());
  for (int64_t t = 0; t < taps; ++t) {
    int64_t* relative = relative_.data() + t * static_cast<int64_t>(window.rank());
    unravel(window.kernel, t, relative);
    for (size_t d = 0; d < window.rank(); ++d) relative[d] *= window.dilations[d];
  }
}

void Taps::at(int64_t position, int64_t* offsets) const {
  const size_t rank = window_.rank();
  constexpr size_t kMaxRank = 16;
  int64_t start[kMaxRank];
  std::vector<int64_t> many(rank > kMaxRank ? rank : 0);
  int64_t* first = rank > kMaxRank ? many.data() : start;
  unravel(out_, position, first);
  for (size_t d = 0; d < rank; ++d)
    first[d] = first[d] * window_.strides[d] - window_.pads_begin[d];
  const int64_t taps = count();
  const int64_t* relative = relative_.data();
  for (int64_t t = 0; t < taps; ++t, relative += rank) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t i = first[d] + relative[d];
      if (i < 0 || i >= in_[d]) {
        offset = -1;
        break;
      }
      offset += i * strides_[d];
    }
    offsets[t] = offset;
  }
}

int64_t Taps::padded_count(int64_t position) const {
  int64_t n = 1;
  for (size_t d = out_.size(); d-- > 0;) {
    const int64_t start = position % out_[d] * window_.strides[d];
    position /= out_[d];
    const int64_t room = in_[d] + window_.pads_begin[d] + window_.pads_end[d] - start;
    const int64_t fits = (room + window_.dilations[d] - 1) / window_.dilations[d];
    n *= std::max<int64_t>(std::min(window_.kernel[d], fits), 0);
  }
  return n;
}

Status infer_conv(InferContext& c, const char* op, size_t x_index, size_t w_index, DType out) {
  const ValueType &x = c.type(x_index), &w = c.type(w_index);
  if (!x.ranked || !w.ranked) return set_unranked(c, out);
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return invalid_model("{}: input {} and weight {} must have one rank of 3 or more", op,
                         type_text(x), type_text(w));
  }
  const int64_t group = c.attributes.get_int("group", 1);
  if (group < 1) return invalid_model("{}: group is {}, expected 1 or more", op, group);
  const Dim expected = w.dims[1] * Dim(group);
  if (x.dims[1].is_const() && expected.is_const() && x.dims[1] != expected) {
    return invalid_model("{}: input has {} channels, weight expects {} (group {})", op,
                         x.dims[1].text(), expected.text(), group);
  }
  if (w.dims[0].is_const() && w.dims[0].value() % group != 0) {
    return invalid_model("{}: {} output channels do not divide into {} groups", op,
                         w.dims[0].text(), group);
  }
  const auto weight_kernel = constant_dims(Dims(w.dims.begin() + 2, w.dims.end()));
  Shape kernel = c.attributes.get_ints("kernel_shape", weight_kernel ? *weight_kernel : Shape());
  if (kernel.empty()) {
    Dims dims = {x.dims[0], w.dims[0]};
    while (dims.size() < x.dims.size()) dims.push_back(c.fresh());
    set_output(c, 0, out, std::move(dims));
    return Status::ok();
  }
  if (weight_kernel && kernel != *weight_kernel) {
    return invalid_model("{}: kernel_shape is {}, the weight has {}", op, shape_text(kernel),
                         shape_text(*weight_kernel));
  }
  if (kernel.size() + 2 != x.dims.size()) {
    return invalid_model("{}: kernel {} does not fit input {}", op, shape_text(kernel),
                         type_text(x));
  }
  STOKER_ASSIGN(const Window window, window_of(c.attributes, op, std::move(kernel)));
  Dims dims = {x.dims[0], w.dims[0]};
  for (size_t d = 0; d < window.rank(); ++d) {
    STOKER_ASSIGN(Dim extent, window_output(window, op, d, x.dims[d + 2]));
    dims.push_back(std::move(extent));
  }
  set_output(c, 0, out, std::move(dims));
  return Status::ok();
}

ConvShape conv_shape(const TensorView& x, const TensorView& w, const TensorView& y,
                     int64_t groups) {
  ConvShape s{x.shape[0], groups, x.shape[1] / groups, y.shape[1] / groups, 1, 1, 1};
  for (size_t d = 2; d < x.shape.size(); ++d) {
    s.taps *= w.shape[d];
    s.in_plane *= x.shape[d];
    s.out_plane *= y.shape[d];
  }
  return s;
}

Result<Window> conv_window(const Attributes& attributes, const TensorView& x, const TensorView& w,
                           const TensorView& y) {
  STOKER_ASSIGN(Window window,
                window_of(attributes, "conv", Shape(w.shape.begin() + 2, w.shape.end())));
  const int64_t group = attributes.get_int("group", 1);
  bool fits = group > 0 && x.shape[1] == w.shape[1] * group && y.shape[1] == w.shape[0] &&
              w.shape[0] % group == 0 && x.shape[0] == y.shape[0];
  for (size_t d = 0; fits && d < window.rank(); ++d) {
    STOKER_ASSIGN(const Dim out, window_output(window, "conv", d, Dim(x.shape[d + 2])));
    fits = out == Dim(y.shape[d + 2]);
  }
  if (!fits) {
    return invalid_argument("conv: input {}, weight {} and output {} do not belong together",
                            shape_text(x.shape), shape_text(w.shape), shape_text(y.shape));
  }
  resolve_pads(window, WindowKind::kConv, Shape(x.shape.begin() + 2, x.shape.end()),
               Shape(y.shape.begin() + 2, y.shape.end()));
  return window;
}

namespace {

void convolve_wanted(const ConvShape& s, const double* x, const double* w, const TapOffsets& taps,
                     std::span<const int64_t> wanted, const StoreSum& store) {
  std::vector<int64_t> offsets(static_cast<size_t>(s.taps));
  const int64_t k = s.in_channels * s.taps, channels = s.groups * s.out_channels;
  for (const int64_t position : wanted) {
    const int64_t channel = position / s.out_plane % channels;
    const int64_t image = position / (s.out_plane * channels);
    taps(position % s.out_plane, offsets.data());
    const double* plane =
        x + (image * s.groups + channel / s.out_channels) * s.in_channels * s.in_plane;
    const double* row = w + channel * k;
    double sum = 0;
    for (int64_t i = 0; i < s.in_channels; ++i) {
      for (int64_t t = 0; t < s.taps; ++t) {
        sum += row[i * s.taps + t] * (offsets[t] < 0 ? 0.0 : plane[i * s.in_plane + offsets[t]]);
      }
    }
    store(position, channel, sum);
  }
}

}  // namespace

void convolve(const ConvShape& s, const double* x, const double* w, const TapOffsets& taps,
              std::span<const int64_t> wanted, const StoreSum& store) {
  if (!wanted.empty()) return convolve_wanted(s, x, w, taps, wanted, store);
  std::vector<int64_t> offsets(static_cast<size_t>(s.taps));
  const int64_t k = s.in_channels * s.taps;
  for (int64_t block = 0; block < s.batch * s.groups; ++block) {
    const int64_t first = block % s.groups * s.out_channels;
    const double* plane = x + block * s.in_channels * s.in_plane;
    const auto fill = [&](int64_t column, int64_t count, double* panel) {
      for (int64_t j = 0; j < count; ++j) {
        taps(column + j, offsets.data());
        double* out = panel + j;
        for (int64_t i = 0; i < s.in_channels; ++i) {
          const double* in = plane + i * s.in_plane;
          for (int64_t t = 0; t < s.taps; ++t, out += kTile)
            *out = offsets[t] < 0 ? 0.0 : in[offsets[t]];
        }
      }
    };
    const int64_t base = block * s.out_channels * s.out_plane;
    multiply(s.out_channels, s.out_plane, k, w + first * k, fill,
             [&](int64_t row, int64_t column, double sum) {
               store(base + row * s.out_plane + column, first + row, sum);
             });
  }
}

}  // namespace stoker
