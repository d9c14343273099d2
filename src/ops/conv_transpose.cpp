// Transposed convolution: the gradient of conv towards its input, with an optional bias.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"
#include "ops/window.h"

namespace stoker {

namespace {

struct Transposed {
  Window window;
  Dims extents;  // spatial output
};

// Output extents and pads. With auto_pad SAME or output_shape the pads follow from the output.
Result<Transposed> geometry(const Attributes& attributes, const Dims& in, Shape kernel) {
  const size_t rank = kernel.size();
  STOKER_ASSIGN(Window w, window_of(attributes, "conv_transpose", std::move(kernel)));
  const Shape extra = attributes.get_ints("output_padding", Shape(rank, 0));
  const Shape asked = attributes.get_ints("output_shape");
  if (extra.size() != rank ||
      (!asked.empty() && asked.size() != rank && asked.size() != rank + 2)) {
    return invalid_model(
        "conv_transpose: output_padding and output_shape need one number for each spatial axis");
  }
  Dims extents;
  for (size_t d = 0; d < rank; ++d) {
    if (extra[d] < 0 || extra[d] > INT32_MAX)
      return invalid_model("conv_transpose: output_padding holds {}", extra[d]);
    const Dim full = (in[d] - Dim(1)) * Dim(w.strides[d]) + Dim(extra[d] + w.extent(d));
    if (!asked.empty() || w.auto_pad[0] == 'S') {
      extents.push_back(asked.empty() ? in[d] * Dim(w.strides[d])
                                      : Dim(asked[asked.size() - rank + d]));
      if (full.is_const() && extents[d].is_const()) {
        // A negative total leaves the end of the output without contributions.
        const int64_t total = full.value() - extents[d].value();
        const int64_t half = total > 0 ? total / 2 : 0;
        w.pads_begin[d] = w.auto_pad == "SAME_UPPER" ? half : std::max<int64_t>(total, 0) - half;
        w.pads_end[d] = total - w.pads_begin[d];
      }
    } else {
      extents.push_back(full - Dim(w.pads_begin[d] + w.pads_end[d]));
    }
    if (extents[d].is_const() && extents[d].value() < 0) {
      return invalid_model("conv_transpose: spatial axis {} becomes {} long", d, extents[d].text());
    }
  }
  return Transposed{std::move(w), std::move(extents)};
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "conv_transpose", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "conv_transpose", 1, "weight", kFloats));
  STOKER_TRY(check_same_dtype(c, "conv_transpose", 0, 1));
  STOKER_TRY(check_same_dtype(c, "conv_transpose", 0, 2));
  const ValueType &x = c.type(0), &w = c.type(1);
  if (!all_ranked(c)) return set_unranked(c, x.dtype);
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return invalid_model("conv_transpose: input {} and weight {} must have one rank of 3 or more",
                         type_text(x), type_text(w));
  }
  const int64_t group = c.attributes.get_int("group", 1);
  if (x.dims[1].is_const() && w.dims[0].is_const() && x.dims[1] != w.dims[0]) {
    return invalid_model("conv_transpose: input has {} channels, weight expects {}",
                         x.dims[1].text(), w.dims[0].text());
  }
  if (group < 1 || (w.dims[0].is_const() && w.dims[0].value() % group != 0)) {
    return invalid_model("conv_transpose: {} channels do not divide into {} groups",
                         w.dims[0].text(), group);
  }
  const auto kernel = constant_dims(Dims(w.dims.begin() + 2, w.dims.end()));
  if (!kernel) {
    Dims dims = {x.dims[0], w.dims[1] * Dim(group)};
    while (dims.size() < x.dims.size()) dims.push_back(c.fresh());
    set_output(c, 0, x.dtype, std::move(dims));
    return Status::ok();
  }
  if (c.attributes.get_ints("kernel_shape", *kernel) != *kernel) {
    return invalid_model("conv_transpose: kernel_shape differs from the weight {}", type_text(w));
  }
  STOKER_ASSIGN(const Transposed t,
                geometry(c.attributes, Dims(x.dims.begin() + 2, x.dims.end()), *kernel));
  Dims dims = {x.dims[0], w.dims[1] * Dim(group)};
  dims.insert(dims.end(), t.extents.begin(), t.extents.end());
  if (c.has(2)) {
    if (c.type(2).rank() != 1)
      return invalid_model("conv_transpose: bias is {}, expected rank 1", type_text(c.type(2)));
    STOKER_TRY(same_dim("conv_transpose", "the bias' length and the output channels",
                        c.type(2).dims[0], dims[1])
                   .status());
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

// w [C][M/group][taps] as rows of output channels: [M][C/group][taps].
std::vector<double> weight_rows(const TensorView& w, const ConvShape& s) {
  const std::vector<double> from = to_doubles(w);
  std::vector<double> to(from.size());
  const int64_t rows = s.groups * s.out_channels;
  for (int64_t m = 0; m < rows; ++m) {
    const int64_t group = m / s.out_channels, column = m % s.out_channels;
    for (int64_t i = 0; i < s.in_channels; ++i) {
      const double* source =
          from.data() + ((group * s.in_channels + i) * s.out_channels + column) * s.taps;
      std::copy(source, source + s.taps, to.data() + (m * s.in_channels + i) * s.taps);
    }
  }
  return to;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &w = c.inputs[1], &y = c.outputs[0];
  if (c.has(2)) STOKER_TRY(check_count(c.inputs[2], y.shape[1], "conv_transpose", "the bias"));
  if (w.shape[0] != x.shape[1]) {
    return invalid_argument("conv_transpose: input {} and weight {} differ in their channels",
                            shape_text(x.shape), shape_text(w.shape));
  }
  const Shape in(x.shape.begin() + 2, x.shape.end()), out(y.shape.begin() + 2, y.shape.end());
  STOKER_ASSIGN(const Transposed t, geometry(c.attributes, Dims(in.begin(), in.end()),
                                             Shape(w.shape.begin() + 2, w.shape.end())));
  const Window& window = t.window;
  const Shape strides = dense_strides(in);
  std::vector<int64_t> at(in.size()), tap(in.size());
  const ConvShape s = conv_shape(x, w, y, c.attributes.get_int("group", 1));
  // The input element that reaches an output position through a tap, if there is one.
  const auto offsets_at = [&](int64_t position, int64_t* offsets) {
    unravel(out, position, at.data());
    for (int64_t k = 0; k < s.taps; ++k) {
      unravel(window.kernel, k, tap.data());
      offsets[k] = 0;
      for (size_t d = 0; d < in.size(); ++d) {
        const int64_t i = at[d] + window.pads_begin[d] - tap[d] * window.dilations[d];
        if (i < 0 || i % window.strides[d] != 0 || i / window.strides[d] >= in[d]) {
          offsets[k] = -1;
          break;
        }
        offsets[k] += i / window.strides[d] * strides[d];
      }
    }
  };
  const std::vector<double> bias =
      c.has(2) ? to_doubles(c.inputs[2]) : std::vector<double>(y.shape[1], 0.0);
  const Writer write(y);
  convolve(s, to_doubles(x).data(), weight_rows(w, s).data(), offsets_at, c.wanted,
           [&](int64_t position, int64_t channel, double sum) {
             write.number(position, sum + bias[channel]);
           });
  return Status::ok();
}

}  // namespace

extern const Op op_conv_transpose;
const Op op_conv_transpose = {
    .name = "conv_transpose",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"auto_pad", AttributeKind::kString},
                   {"dilations", AttributeKind::kInts},
                   {"group", AttributeKind::kInt},
                   {"kernel_shape", AttributeKind::kInts},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts},
                   {"output_padding", AttributeKind::kInts},
                   {"output_shape", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
