// Pools each region of interest to a fixed size by bilinear samples at fractional positions.
// Inputs: x [N,C,H,W], rois [R,4] as x1,y1,x2,y2, batch_indices [R].
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

// More samples than this per bin and axis mean that a region is garbage.
constexpr double kMaxSamples = 65536;
constexpr int64_t kMaxSamplesOfBin = int64_t{1} << 24;

Status check_names(const Attributes& attributes) {
  const std::string mode = attributes.get_string("mode", "avg");
  if (mode != "avg" && mode != "max")
    return invalid_model("roi_align: mode is \"{}\", expected avg or max", mode);
  const std::string transform =
      attributes.get_string("coordinate_transformation_mode", "half_pixel");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    return invalid_model(
        "roi_align: coordinate_transformation_mode is \"{}\", expected half_pixel or "
        "output_half_pixel",
        transform);
  }
  for (const char* name : {"output_height", "output_width"}) {
    if (attributes.get_int(name, 1) < 1) {
      return invalid_model("roi_align: {} is {}, expected a positive number", name,
                           attributes.get_int(name, 1));
    }
  }
  const int64_t ratio = attributes.get_int("sampling_ratio");
  if (ratio >= 0 && static_cast<double>(ratio) <= kMaxSamples) return Status::ok();
  return invalid_model("roi_align: sampling_ratio is {}, expected 0 to {}", ratio, kMaxSamples);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "roi_align", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "roi_align", 1, "rois", kFloats));
  STOKER_TRY(check_input(c, "roi_align", 2, "batch_indices", kIndices));
  STOKER_TRY(check_same_dtype(c, "roi_align", 0, 1));
  STOKER_TRY(check_names(c.attributes));
  const ValueType &x = c.type(0), &rois = c.type(1), &indices = c.type(2);
  if (x.ranked && x.rank() != 4)
    return invalid_model("roi_align: input is {}, expected [N,C,H,W]", type_text(x));
  if (rois.ranked && (rois.rank() != 2 || (rois.dims[1].is_const() && rois.dims[1] != Dim(4))))
    return invalid_model("roi_align: rois is {}, expected [R,4]", type_text(rois));
  if (indices.ranked && indices.rank() != 1)
    return invalid_model("roi_align: batch_indices is {}, expected rank 1", type_text(indices));
  Dim count = rois.ranked ? rois.dims[0] : indices.ranked ? indices.dims[0] : c.fresh();
  if (rois.ranked && indices.ranked) {
    STOKER_ASSIGN(count, same_dim("roi_align", "the lengths of rois and batch_indices",
                                  rois.dims[0], indices.dims[0]));
  }
  set_output(
      c, 0, x.dtype,
      {count, x.ranked ? x.dims[1] : c.fresh(), Dim(c.attributes.get_int("output_height", 1)),
       Dim(c.attributes.get_int("output_width", 1))});
  return Status::ok();
}

// One axis of one region: where it starts, how long a bin is and how many samples it takes.
struct Bins {
  double start = 0, size = 0;
  int64_t samples = 0;
};

// In the precision of the regions: how many samples a bin takes must not depend on the precision of
// this evaluation.
template <class T>
Bins bins_of(double from, double to, double scale, bool half_pixel, int64_t out, int64_t ratio) {
  const T offset = half_pixel ? T(0.5) : T(0);
  const T start = static_cast<T>(from) * static_cast<T>(scale) - offset;
  const T end = static_cast<T>(to) * static_cast<T>(scale) - offset;
  const T length = half_pixel ? end - start : std::max(end - start, T(1));
  const T size = length / static_cast<T>(out);
  const T samples = ratio > 0 ? static_cast<T>(ratio) : std::ceil(size);
  Bins bins{static_cast<double>(start), static_cast<double>(size), -1};
  if (std::isfinite(start) && std::isfinite(size) && samples <= T(kMaxSamples))
    bins.samples = std::max<int64_t>(static_cast<int64_t>(samples), 0);
  return bins;
}

// The two elements between which a sample lies on one axis; none outside of the map.
struct Between {
  int64_t low = 0, high = 0;
  double weight_low = 0, weight_high = 0;
};

Between between(double at, int64_t extent) {
  if (at < -1 || at > static_cast<double>(extent)) return {};
  at = std::max(at, 0.0);
  const int64_t low = static_cast<int64_t>(at);
  if (low >= extent - 1) return {extent - 1, extent - 1, 1, 0};
  const double part = at - static_cast<double>(low);
  return {low, low + 1, 1 - part, part};
}

std::vector<Between> samples_of(const Bins& bins, int64_t bin, int64_t extent) {
  std::vector<Between> samples;
  for (int64_t i = 0; i < bins.samples; ++i) {
    const double at =
        bins.start + static_cast<double>(bin) * bins.size +
        (static_cast<double>(i) + 0.5) * bins.size / static_cast<double>(bins.samples);
    samples.push_back(between(at, extent));
  }
  return samples;
}

double pool(const double* plane, int64_t width, const std::vector<Between>& rows,
            const std::vector<Between>& columns, bool average) {
  double sum = 0, best = 0;
  bool first = true;
  for (const Between& y : rows) {
    for (const Between& x : columns) {
      const double corners[] = {y.weight_low * x.weight_low * plane[y.low * width + x.low],
                                y.weight_low * x.weight_high * plane[y.low * width + x.high],
                                y.weight_high * x.weight_low * plane[y.high * width + x.low],
                                y.weight_high * x.weight_high * plane[y.high * width + x.high]};
      // The standard's maximum is over the weighted corners, not over the interpolated values.
      const double most = std::max({corners[0], corners[1], corners[2], corners[3]});
      best = first ? most : std::max(best, most);
      first = false;
      sum += corners[0] + corners[1] + corners[2] + corners[3];
    }
  }
  const size_t count = std::max<size_t>(rows.size() * columns.size(), 1);
  return average ? sum / static_cast<double>(count) : best;
}

Status check_shapes(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &rois = c.inputs[1], &y = c.outputs[0];
  const bool fits = x.rank() == 4 && rois.rank() == 2 && y.rank() == 4 && rois.shape[1] == 4 &&
                    y.shape[0] == rois.shape[0] && y.shape[1] == x.shape[1];
  if (!fits) {
    return invalid_argument("roi_align: input {}, rois {} and output {} do not belong together",
                            shape_text(x.shape), shape_text(rois.shape), shape_text(y.shape));
  }
  return check_count(c.inputs[2], rois.shape[0], "roi_align", "batch_indices");
}

// Rows and columns of the bins of one region.
Result<std::array<Bins, 2>> region_bins(const EvalContext& c, const Reader& roi, int64_t r) {
  const TensorView& y = c.outputs[0];
  const bool wide = c.inputs[1].dtype == DType::kF64;
  const bool half =
      c.attributes.get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double scale = c.attributes.get_float("spatial_scale", 1);
  std::array<Bins, 2> bins;
  for (int64_t d = 0; d < 2; ++d) {
    const double from = roi.number(r * 4 + 1 - d), to = roi.number(r * 4 + 3 - d);
    bins[static_cast<size_t>(d)] =
        (wide ? bins_of<double> : bins_of<float>)(from, to, scale, half,
                                                  y.shape[static_cast<size_t>(2 + d)],
                                                  c.attributes.get_int("sampling_ratio"));
  }
  if (bins[0].samples < 0 || bins[1].samples < 0 ||
      bins[0].samples * bins[1].samples > kMaxSamplesOfBin) {
    return invalid_argument(
        "roi_align: region {} is [{}, {}, {}, {}], which is not finite or too "
        "large to sample",
        r, roi.number(r * 4), roi.number(r * 4 + 1), roi.number(r * 4 + 2), roi.number(r * 4 + 3));
  }
  return bins;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_shapes(c));
  if (y.count() == 0) return Status::ok();
  if (x.count() == 0) return invalid_argument("roi_align: the input is empty");
  const std::vector<double> values = to_doubles(x);
  const std::vector<int64_t> batches = to_ints(c.inputs[2]);
  const int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  const int64_t plane = height * width, bins_of_plane = y.shape[2] * y.shape[3];
  const bool average = c.attributes.get_string("mode", "avg") == "avg";
  const Reader roi(c.inputs[1]);
  const Writer write(y);
  int64_t present = -1;
  std::array<Bins, 2> bins;
  const auto pool_at = [&](int64_t r, int64_t bin, int64_t from, int64_t to) -> Status {
    if (batches[r] < 0 || batches[r] >= x.shape[0]) {
      return invalid_argument("roi_align: region {} is of image {}, there are {}", r, batches[r],
                              x.shape[0]);
    }
    if (r != present) {
      STOKER_ASSIGN(bins, region_bins(c, roi, r));
      present = r;
    }
    const auto rows = samples_of(bins[0], bin / y.shape[3], height);
    const auto columns = samples_of(bins[1], bin % y.shape[3], width);
    for (int64_t channel = from; channel < to; ++channel) {
      const double* in = values.data() + (batches[r] * channels + channel) * plane;
      write.number((r * channels + channel) * bins_of_plane + bin,
                   pool(in, width, rows, columns, average));
    }
    return Status::ok();
  };
  if (!c.wanted.empty()) {
    for (const int64_t position : c.wanted) {
      const int64_t channel = position / bins_of_plane % channels;
      STOKER_TRY(pool_at(position / (bins_of_plane * channels), position % bins_of_plane, channel,
                         channel + 1));
    }
    return Status::ok();
  }
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    for (int64_t bin = 0; bin < bins_of_plane; ++bin) STOKER_TRY(pool_at(r, bin, 0, channels));
  }
  return Status::ok();
}

}  // namespace

extern const Op op_roi_align;
const Op op_roi_align = {
    .name = "roi_align",
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = {{"coordinate_transformation_mode", AttributeKind::kString},
                   {"mode", AttributeKind::kString},
                   {"output_height", AttributeKind::kInt},
                   {"output_width", AttributeKind::kInt},
                   {"sampling_ratio", AttributeKind::kInt},
                   {"spatial_scale", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
