// Resampling of axes by nearest, linear or cubic interpolation, to given sizes or by given scales.
// Inputs: x, roi, scales, sizes. Linear and cubic run one axis after the other.
// SPDX-License-Identifier: Apache-2.0
#include "ops/index_map.h"
#include "ops/resample.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status check_name(const Attributes& attributes, const char* name,
                  std::span<const char* const> known) {
  const std::string value = attributes.get_string(name, known[0]);
  if (std::find(known.begin(), known.end(), value) != known.end()) return Status::ok();
  return invalid_model("resize: {} is \"{}\", which is not a known one", name, value);
}

Status check_names(const Attributes& a) {
  static constexpr const char* kPolicies[] = {"stretch", "not_larger", "not_smaller"};
  STOKER_TRY(check_name(a, "mode", kResampleModes));
  STOKER_TRY(check_name(a, "nearest_mode", kResampleNearest));
  STOKER_TRY(check_name(a, "keep_aspect_ratio_policy", kPolicies));
  return check_name(a, "coordinate_transformation_mode", kResampleCoordinates);
}

// floor(in * scale) for a symbolic extent when the scale is a simple fraction.
std::optional<Dim> scaled_dim(const Dim& in, float scale) {
  if (in.is_const()) {
    const float out = std::floor(static_cast<float>(in.value()) * scale);
    return out >= 0 && out < 0x1p40f ? std::optional(Dim(static_cast<int64_t>(out))) : std::nullopt;
  }
  for (int64_t q = 1; q <= 64; ++q) {
    const float p = scale * static_cast<float>(q);
    if (p > 0 && p < 0x1p20f && p == std::floor(p)) {
      const Dim numerator = in * Dim(static_cast<int64_t>(p));
      return q == 1 ? numerator : Dim::floor_div(numerator, Dim(q));
    }
  }
  return std::nullopt;
}

Status apply_scales(InferContext& c, const std::vector<int64_t>& axes, Dims& dims) {
  const Tensor* scales = c.inputs[2].constant;
  if (scales && scales->count() != static_cast<int64_t>(axes.size())) {
    return invalid_model("resize: {} scales for {} axes", scales->count(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!scales) {
      dims[axes[i]] = c.fresh();
      continue;
    }
    const float scale =
        static_cast<float>(load_double(scales->dtype())(scales->data(), static_cast<int64_t>(i)));
    if (!(scale > 0))
      return invalid_model("resize: scale {} is {}, expected a positive number", i, scale);
    const auto dim = scaled_dim(dims[axes[i]], scale);
    if (!dim && dims[axes[i]].is_const())
      return invalid_model("resize: scale {} gives too large an axis", scale);
    dims[axes[i]] = dim ? *dim : c.fresh();
  }
  return Status::ok();
}

Status apply_sizes(InferContext& c, const std::vector<int64_t>& axes, Dims& dims) {
  const auto sizes = c.elements(3);
  if (sizes && sizes->size() != axes.size()) {
    return invalid_model("resize: {} sizes for {} axes", sizes->size(), axes.size());
  }
  const std::string policy = c.attributes.get_string("keep_aspect_ratio_policy", "stretch");
  std::vector<double> ratios;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim size = sizes ? (*sizes)[i] : c.fresh();
    const Dim& in = dims[axes[i]];
    if (size.is_const() && size.value() < 0)
      return invalid_model("resize: size {} is negative", size.text());
    if (size.is_const() && in.is_const() && in.value() > 0) {
      ratios.push_back(static_cast<double>(size.value()) / static_cast<double>(in.value()));
    }
    if (policy == "stretch") dims[axes[i]] = size;
  }
  if (policy == "stretch") return Status::ok();
  const bool known = ratios.size() == axes.size() && !axes.empty();
  const double scale = !known                   ? 0
                       : policy == "not_larger" ? *std::min_element(ratios.begin(), ratios.end())
                                                : *std::max_element(ratios.begin(), ratios.end());
  for (const int64_t axis : axes) {
    dims[axis] = known ? Dim(static_cast<int64_t>(
                             std::floor(scale * static_cast<double>(dims[axis].value()) + 0.5)))
                       : c.fresh();
  }
  return Status::ok();
}

Status infer(InferContext& c) {
  STOKER_TRY(check_names(c.attributes));
  // Whole elements move in the mode nearest, unless extrapolation writes a number.
  const bool moves = c.attributes.get_string("mode", "nearest") == "nearest" &&
                     c.attributes.get_string("coordinate_transformation_mode", "half_pixel") !=
                         "tf_crop_and_resize";
  STOKER_TRY(check_input(c, "resize", 0, "input", moves ? kAny : kReal));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const std::vector<int64_t> axes = resized_axes(c.attributes, x.rank());
  for (const int64_t axis : axes) STOKER_TRY(normalize_axis("resize", axis, x.rank()).status());
  Dims dims = x.dims;
  // An empty tensor stands for an input that is left out.
  const auto given = [&](size_t i) {
    return c.has(i) && !(c.type(i).ranked && product(c.type(i).dims) == Dim(0));
  };
  if (given(2)) {
    STOKER_TRY(check_input(c, "resize", 2, "scales", kFloats));
    STOKER_TRY(apply_scales(c, axes, dims));
  } else if (given(3)) {
    STOKER_TRY(check_input(c, "resize", 3, "sizes", kIndices));
    STOKER_TRY(apply_sizes(c, axes, dims));
  } else {
    return invalid_model("resize: neither scales nor sizes are given");
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (x.dims[d] == Dim(0) && dims[d] != Dim(0))
      return invalid_model("resize: axis {} of {} is empty", d, type_text(x));
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

// Resamples axis d of a dense tensor; its extent changes from axis.in to axis.out.
std::vector<double> resample(const std::vector<double>& from, Shape& shape, size_t d,
                             const ResizeAxis& axis, const ResampleRule& rule) {
  int64_t inner = 1, outer = 1;
  for (size_t i = 0; i < shape.size(); ++i) (i < d ? outer : inner) *= i == d ? 1 : shape[i];
  std::vector<double> to(static_cast<size_t>(outer * axis.out * inner), 0.0);
  for (int64_t at = 0; at < axis.out; ++at) {
    const AxisTaps taps = axis_taps(rule, axis, at);
    for (int64_t o = 0; o < outer; ++o) {
      double* row = to.data() + (o * axis.out + at) * inner;
      for (size_t t = 0; t < taps.indices.size(); ++t) {
        if (taps.weights[t] == 0) continue;
        const double* source = from.data() + (o * axis.in + taps.indices[t]) * inner;
        for (int64_t i = 0; i < inner; ++i) row[i] += taps.weights[t] * source[i];
      }
    }
  }
  shape[d] = axis.out;
  return to;
}

void extrapolate(const EvalContext& c, const ResampleRule& rule,
                 const std::vector<ResizeAxis>& axes) {
  const TensorView& y = c.outputs[0];
  const double value = c.attributes.get_float("extrapolation_value", 0.0);
  const Writer write(y);
  std::vector<int64_t> at(axes.size());
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    unravel(y.shape, position, at.data());
    for (size_t d = 0; d < axes.size(); ++d) {
      if (extrapolates(rule, axes[d], at[d])) return write.number(position, value);
    }
  });
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const std::vector<ResizeAxis> axes = resize_axes(c);
  const ResampleRule rule = resample_rule(c.attributes);
  const bool crop = rule.coordinates == ResampleRule::Coordinates::kTfCropAndResize;
  if (y.count() == 0) return Status::ok();
  if (x.count() == 0) return invalid_argument("resize: the input is empty");
  if (rule.mode == ResampleRule::Mode::kNearest) {
    IndexMaps maps(axes.size());
    for (size_t d = 0; d < axes.size(); ++d) {
      for (int64_t i = 0; i < axes[d].out; ++i) maps[d].push_back(nearest_index(rule, axes[d], i));
    }
    STOKER_TRY(copy_indexed(y, x, maps, {}, c.wanted));
  } else {
    std::vector<double> values = to_doubles(x);
    Shape shape = x.shape;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].kept() && !crop) continue;
      values = resample(values, shape, d, axes[d], rule);
    }
    // As in ONNX Runtime a linear integer result is cut off, seen in f32; others round.
    if (is_integer(y.dtype)) {
      const bool smooth = rule.antialias || rule.mode != ResampleRule::Mode::kLinear;
      for (double& v : values)
        v = smooth ? std::round(v) : std::trunc(static_cast<double>(static_cast<float>(v)));
    }
    from_doubles(values, y);
  }
  if (crop) extrapolate(c, rule, axes);
  return Status::ok();
}

}  // namespace

extern const Op op_resize;
const Op op_resize = {
    .name = "resize",
    .max_inputs = 4,
    .attributes = {{"antialias", AttributeKind::kInt},
                   {"axes", AttributeKind::kInts},
                   {"coordinate_transformation_mode", AttributeKind::kString},
                   {"cubic_coeff_a", AttributeKind::kFloat},
                   {"exclude_outside", AttributeKind::kInt},
                   {"extrapolation_value", AttributeKind::kFloat},
                   {"keep_aspect_ratio_policy", AttributeKind::kString},
                   {"mode", AttributeKind::kString},
                   {"nearest_mode", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
