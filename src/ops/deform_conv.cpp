// Convolution whose taps are displaced by offsets and weighted by a mask, both given per output
// position; displaced taps are read by linear interpolation, with zeros around the input.
// Inputs: x [N,C,...], w [M,C/group,k...], offset [N,offset_group*K*r,...], bias, mask
// [N,offset_group*K,...], where K is the number of taps and r that of the spatial axes.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling.h"
#include "ops/window.h"

namespace stoker {

namespace {

Status check_attributes_of(const Attributes& attributes) {
  for (const char* name : {"group", "offset_group"}) {
    const int64_t value = attributes.get_int(name, 1);
    if (value < 1 || value > (int64_t{1} << 31))
      return invalid_model("deform_conv: {} is {}, expected a positive number", name, value);
  }
  return Status::ok();
}

// Offsets or mask: [N, channels, output extents...].
Status check_field(const InferContext& c, size_t i, const char* what, std::optional<Dim> channels) {
  const ValueType &type = c.type(i), &y = c.outputs[0];
  if (!type.ranked || !y.ranked) return Status::ok();
  if (type.rank() != y.rank()) {
    return invalid_model("deform_conv: {} is {}, expected rank {}", what, type_text(type),
                         y.rank());
  }
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (d == 1 && !channels) continue;
    STOKER_TRY(
        same_dim("deform_conv", what, type.dims[d], d == 1 ? *channels : y.dims[d]).status());
  }
  return Status::ok();
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "deform_conv", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "deform_conv", 1, "weight", kFloats));
  STOKER_TRY(check_input(c, "deform_conv", 2, "offset", kFloats));
  for (size_t i = 1; i < c.inputs.size(); ++i) STOKER_TRY(check_same_dtype(c, "deform_conv", 0, i));
  STOKER_TRY(check_attributes_of(c.attributes));
  STOKER_TRY(infer_conv(c, "deform_conv", 0, 1, c.type(0).dtype));
  const ValueType &x = c.type(0), &w = c.type(1);
  const int64_t groups = c.attributes.get_int("offset_group", 1);
  std::optional<Dim> taps;
  if (w.ranked && w.rank() > 2) {
    taps = Dim(groups);
    for (size_t d = 2; d < w.dims.size(); ++d) taps = *taps * w.dims[d];
  }
  if (x.ranked && x.rank() > 1 && x.dims[1].is_const() && x.dims[1].value() % groups != 0) {
    return invalid_model("deform_conv: {} channels are not divisible by offset_group {}",
                         x.dims[1].text(), groups);
  }
  const auto offsets = taps ? std::optional(*taps * Dim(w.rank() - 2)) : std::nullopt;
  STOKER_TRY(check_field(c, 2, "offset", offsets));
  if (c.has(4)) STOKER_TRY(check_field(c, 4, "mask", taps));
  if (!c.has(3) || !c.type(3).ranked || !w.ranked) return Status::ok();
  if (c.type(3).rank() != 1)
    return invalid_model("deform_conv: bias is {}, expected rank 1", type_text(c.type(3)));
  return same_dim("deform_conv", "the bias' length and the output channels", c.type(3).dims[0],
                  w.dims[0])
      .status();
}

struct Deformation {
  const Window& window;
  Shape in, strides, out;
  int64_t taps, out_plane, in_plane, groups;
  std::vector<double> offsets, mask;
};

Status check_shapes(const EvalContext& c, int64_t taps) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const int64_t groups = c.attributes.get_int("offset_group", 1), axes = x.rank() - 2;
  if (x.shape[1] % groups != 0) {
    return invalid_argument("deform_conv: {} channels are not divisible by offset_group {}",
                            x.shape[1], groups);
  }
  if (c.has(3)) STOKER_TRY(check_count(c.inputs[3], y.shape[1], "deform_conv", "the bias"));
  for (const size_t i : {2, 4}) {
    if (!c.has(i)) continue;
    Shape expected = y.shape;
    expected[1] = groups * taps * (i == 2 ? axes : 1);
    if (c.inputs[i].shape != expected) {
      return invalid_argument("deform_conv: {} has shape {}, expected {}",
                              i == 2 ? "offset" : "mask", shape_text(c.inputs[i].shape),
                              shape_text(expected));
    }
  }
  return Status::ok();
}

// The values of all taps of all channels of one image at one output position: column[channel *
// taps + tap].
void read_taps(const Deformation& d, const double* image, int64_t n, int64_t channels,
               int64_t position, double* column) {
  const int64_t axes = static_cast<int64_t>(d.in.size()), of_group = channels / d.groups;
  std::vector<int64_t> at(d.out.size()), relative(d.out.size());
  std::vector<SampleTaps> where(d.out.size());
  unravel(d.out, position, at.data());
  for (int64_t g = 0; g < d.groups; ++g) {
    for (int64_t t = 0; t < d.taps; ++t) {
      unravel(d.window.kernel, t, relative.data());
      const int64_t row = (n * d.groups + g) * d.taps + t;
      for (int64_t a = 0; a < axes; ++a) {
        const int64_t start = at[a] * d.window.strides[a] - d.window.pads_begin[a] +
                              relative[a] * d.window.dilations[a];
        const double moved = d.offsets[(row * axes + a) * d.out_plane + position];
        where[a] = linear_taps(static_cast<double>(start) + moved, d.in[a]);
      }
      const double factor = d.mask.empty() ? 1 : d.mask[row * d.out_plane + position];
      for (int64_t channel = g * of_group; channel < (g + 1) * of_group; ++channel) {
        column[channel * d.taps + t] =
            factor * sample(image + channel * d.in_plane, d.strides, where);
      }
    }
  }
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &w = c.inputs[1], &y = c.outputs[0];
  STOKER_ASSIGN(const Window window, conv_window(c.attributes, x, w, y));
  const int64_t taps = window.taps(), groups = c.attributes.get_int("group", 1);
  STOKER_TRY(check_shapes(c, taps));
  if (y.count() == 0) return Status::ok();
  const ConvShape s = conv_shape(x, w, y, groups);
  const Shape in(x.shape.begin() + 2, x.shape.end());
  const Deformation d{window,
                      in,
                      dense_strides(in),
                      Shape(y.shape.begin() + 2, y.shape.end()),
                      taps,
                      s.out_plane,
                      s.in_plane,
                      c.attributes.get_int("offset_group", 1),
                      to_doubles(c.inputs[2]),
                      c.has(4) ? to_doubles(c.inputs[4]) : std::vector<double>()};
  const std::vector<double> image = to_doubles(x), weight = to_doubles(w);
  const std::vector<double> bias =
      c.has(3) ? to_doubles(c.inputs[3]) : std::vector<double>(y.shape[1], 0.0);
  std::vector<double> column(static_cast<size_t>(x.shape[1] * taps));
  const Writer write(y);
  const int64_t depth = s.in_channels * taps;
  const auto fill = [&](int64_t n, int64_t position) {
    read_taps(d, image.data() + n * x.shape[1] * s.in_plane, n, x.shape[1], position,
              column.data());
  };
  const auto sum = [&](int64_t n, int64_t channel, int64_t position) {
    const double* in_group = column.data() + channel / s.out_channels * depth;
    double total = 0;
    for (int64_t k = 0; k < depth; ++k) total += in_group[k] * weight[channel * depth + k];
    write.number((n * y.shape[1] + channel) * s.out_plane + position, total + bias[channel]);
  };
  if (!c.wanted.empty()) {
    for (const int64_t i : c.wanted) {
      const int64_t n = i / (s.out_plane * y.shape[1]);
      fill(n, i % s.out_plane);
      sum(n, i / s.out_plane % y.shape[1], i % s.out_plane);
    }
    return Status::ok();
  }
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t position = 0; position < s.out_plane; ++position) {
      fill(n, position);
      for (int64_t channel = 0; channel < y.shape[1]; ++channel) sum(n, channel, position);
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_deform_conv;
const Op op_deform_conv = {
    .name = "deform_conv",
    .min_inputs = 3,
    .max_inputs = 5,
    .attributes = {{"dilations", AttributeKind::kInts},
                   {"group", AttributeKind::kInt},
                   {"kernel_shape", AttributeKind::kInts},
                   {"offset_group", AttributeKind::kInt},
                   {"pads", AttributeKind::kInts},
                   {"strides", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
