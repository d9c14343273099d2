// The maxima over a fixed number of bins of each region of interest, whose borders are rounded to
// whole elements. Inputs: x [N,C,H,W], rois [R,5] as batch,x1,y1,x2,y2.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "max_roi_pool", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "max_roi_pool", 1, "rois", kFloats));
  STOKER_TRY(check_same_dtype(c, "max_roi_pool", 0, 1));
  const ValueType &x = c.type(0), &rois = c.type(1);
  const std::vector<int64_t> pooled = c.attributes.get_ints("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) {
    return invalid_model("max_roi_pool: pooled_shape is {}, expected two positive numbers",
                         shape_text(pooled));
  }
  if (x.ranked && x.rank() != 4)
    return invalid_model("max_roi_pool: input is {}, expected [N,C,H,W]", type_text(x));
  if (rois.ranked && (rois.rank() != 2 || (rois.dims[1].is_const() && rois.dims[1] != Dim(5))))
    return invalid_model("max_roi_pool: rois is {}, expected [R,5]", type_text(rois));
  set_output(c, 0, x.dtype,
             {rois.ranked ? rois.dims[0] : c.fresh(), x.ranked ? x.dims[1] : c.fresh(),
              Dim(pooled[0]), Dim(pooled[1])});
  return Status::ok();
}

// The elements [begin, end) of a bin on one axis. In the precision of the regions, since borders
// are rounded.
template <class T>
std::pair<int64_t, int64_t> bin_range(double from, double to, double scale, int64_t bin,
                                      int64_t bins, int64_t extent) {
  const T limit = T(1 << 30);
  const auto border = [&](double at) {
    return std::clamp(std::round(static_cast<T>(at) * static_cast<T>(scale)), -limit, limit);
  };
  const T start = border(from);
  const T size = std::max(border(to) - start + 1, T(1)) / static_cast<T>(bins);
  const auto inside = [&](T at) {
    return static_cast<int64_t>(std::clamp(at + start, T(0), static_cast<T>(extent)));
  };
  return {inside(std::floor(static_cast<T>(bin) * size)),
          inside(std::ceil(static_cast<T>(bin + 1) * size))};
}

double maximum(const double* plane, int64_t width, std::pair<int64_t, int64_t> rows,
               std::pair<int64_t, int64_t> columns) {
  if (rows.first >= rows.second || columns.first >= columns.second) return 0;
  double best = plane[rows.first * width + columns.first];
  for (int64_t h = rows.first; h < rows.second; ++h) {
    for (int64_t w = columns.first; w < columns.second; ++w)
      best = std::max(best, plane[h * width + w]);
  }
  return best;
}

Status check_regions(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &rois = c.inputs[1], &y = c.outputs[0];
  const bool fits = x.rank() == 4 && rois.rank() == 2 && y.rank() == 4 && rois.shape[1] == 5 &&
                    y.shape[0] == rois.shape[0] && y.shape[1] == x.shape[1];
  if (!fits) {
    return invalid_argument("max_roi_pool: input {}, rois {} and output {} do not belong together",
                            shape_text(x.shape), shape_text(rois.shape), shape_text(y.shape));
  }
  const Reader roi(rois);
  for (int64_t r = 0; r < rois.shape[0]; ++r) {
    const double image = roi.number(r * 5);
    if (!(image >= 0 && image < static_cast<double>(x.shape[0]))) {
      return invalid_argument("max_roi_pool: region {} is of image {}, there are {}", r, image,
                              x.shape[0]);
    }
    for (int64_t i = 1; i < 5; ++i) {
      if (!std::isfinite(roi.number(r * 5 + i)))
        return invalid_argument("max_roi_pool: region {} is not finite", r);
    }
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_regions(c));
  if (y.count() == 0) return Status::ok();
  const std::vector<double> values = to_doubles(x);
  const int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  const double scale = c.attributes.get_float("spatial_scale", 1);
  const auto range = c.inputs[1].dtype == DType::kF64 ? bin_range<double> : bin_range<float>;
  const Reader roi(c.inputs[1]);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const int64_t ph = position / y.shape[3] % y.shape[2], pw = position % y.shape[3];
    const int64_t plane = position / (y.shape[2] * y.shape[3]);
    const int64_t r = plane / channels, channel = plane % channels;
    const int64_t image = static_cast<int64_t>(roi.number(r * 5));
    const auto rows =
        range(roi.number(r * 5 + 2), roi.number(r * 5 + 4), scale, ph, y.shape[2], height);
    const auto columns =
        range(roi.number(r * 5 + 1), roi.number(r * 5 + 3), scale, pw, y.shape[3], width);
    write.number(position, maximum(values.data() + (image * channels + channel) * height * width,
                                   width, rows, columns));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_max_roi_pool;
const Op op_max_roi_pool = {
    .name = "max_roi_pool",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"pooled_shape", AttributeKind::kInts, true},
                   {"spatial_scale", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
