// Boxes by falling score, without those that overlap a box chosen before too much.
// Inputs: boxes [N,B,4], scores [N,C,B], max_output_boxes_per_class, iou_threshold,
// score_threshold. Output: rows of batch, class, box; their number depends on the data.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  constexpr const char* op = "non_max_suppression";
  STOKER_TRY(check_input(c, op, 0, "boxes", kFloats));
  STOKER_TRY(check_input(c, op, 1, "scores", kFloats));
  STOKER_TRY(check_same_dtype(c, op, 0, 1));
  if (c.has(2)) STOKER_TRY(check_input(c, op, 2, "max_output_boxes_per_class", kIndices));
  if (c.has(3)) STOKER_TRY(check_input(c, op, 3, "iou_threshold", kFloats));
  if (c.has(4)) STOKER_TRY(check_input(c, op, 4, "score_threshold", kFloats));
  const int64_t format = c.attributes.get_int("center_point_box");
  if (format != 0 && format != 1)
    return invalid_model("{}: center_point_box is {}, expected 0 or 1", op, format);
  const ValueType &boxes = c.type(0), &scores = c.type(1);
  if (boxes.ranked && (boxes.rank() != 3 || (boxes.dims[2].is_const() && boxes.dims[2] != Dim(4))))
    return invalid_model("{}: boxes is {}, expected [N,B,4]", op, type_text(boxes));
  if (scores.ranked && scores.rank() != 3)
    return invalid_model("{}: scores is {}, expected [N,C,B]", op, type_text(scores));
  if (boxes.ranked && scores.ranked) {
    STOKER_TRY(
        same_dim(op, "the batches of boxes and scores", boxes.dims[0], scores.dims[0]).status());
    STOKER_TRY(
        same_dim(op, "the numbers of boxes and of scores", boxes.dims[1], scores.dims[2]).status());
  }
  set_output(c, 0, DType::kI64, {c.fresh(), Dim(3)});
  return Status::ok();
}

template <class T>
struct Box {
  T x_min, x_max, y_min, y_max;
  T area() const { return (x_max - x_min) * (y_max - y_min); }
};

template <class T>
Box<T> box_of(const Reader& boxes, int64_t at, bool centered) {
  T v[4];
  for (int64_t i = 0; i < 4; ++i) v[i] = static_cast<T>(boxes.number(at * 4 + i));
  if (centered) {
    const T w = v[2] / 2, h = v[3] / 2;
    return {v[0] - w, v[0] + w, v[1] - h, v[1] + h};
  }
  return {std::min(v[1], v[3]), std::max(v[1], v[3]), std::min(v[0], v[2]), std::max(v[0], v[2])};
}

// In the precision of the boxes: an overlap of exactly the threshold is kept.
template <class T>
bool overlaps(const Box<T>& a, const Box<T>& b, T threshold) {
  const T width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const T height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0 && height > 0)) return false;
  const T common = width * height, joined = a.area() + b.area() - common;
  if (!(common > 0 && a.area() > 0 && b.area() > 0 && joined > 0)) return false;
  return common / joined > threshold;
}

struct Limits {
  int64_t boxes = 0;
  double iou = 0;
  std::optional<double> score;
  bool centered = false;
};

// The boxes of one class, best first; equal scores in the order of the boxes.
template <class T>
std::vector<int64_t> select(const std::vector<Box<T>>& boxes, const Reader& scores, int64_t offset,
                            const Limits& limits) {
  std::vector<std::pair<T, int64_t>> candidates;
  for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i) {
    const T score = static_cast<T>(scores.number(offset + i));
    // NaN is no score.
    if (std::isnan(score) || (limits.score && !(score > static_cast<T>(*limits.score)))) continue;
    candidates.push_back({score, i});
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<int64_t> selected;
  for (const auto& [score, i] : candidates) {
    if (static_cast<int64_t>(selected.size()) >= limits.boxes) break;
    const Box<T>& box = boxes[i];
    const bool suppressed = std::any_of(selected.begin(), selected.end(), [&](int64_t k) {
      return overlaps(box, boxes[k], static_cast<T>(limits.iou));
    });
    if (!suppressed) selected.push_back(i);
  }
  return selected;
}

template <class T>
std::vector<int64_t> select_all(const TensorView& boxes, const TensorView& scores,
                                const Limits& limits) {
  const int64_t count = boxes.shape[1], classes = scores.shape[1];
  const Reader read_box(boxes), read_score(scores);
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < boxes.shape[0]; ++n) {
    std::vector<Box<T>> of_image;
    for (int64_t i = 0; i < count; ++i)
      of_image.push_back(box_of<T>(read_box, n * count + i, limits.centered));
    for (int64_t k = 0; k < classes; ++k) {
      for (const int64_t i : select(of_image, read_score, (n * classes + k) * count, limits))
        rows.insert(rows.end(), {n, k, i});
    }
  }
  return rows;
}

// The only element of an optional input.
Result<std::optional<double>> scalar(const ValueContext& c, size_t i, const char* what) {
  if (!c.has(i)) return std::optional<double>();
  const Tensor& tensor = c.tensor(i);
  if (tensor.count() == 0) return std::optional<double>();
  if (tensor.count() != 1) {
    return invalid_argument("non_max_suppression: {} has shape {}, expected a scalar", what,
                            shape_text(tensor.shape()));
  }
  return std::optional(load_double(tensor.dtype())(tensor.data(), 0));
}

Result<Limits> limits_of(const ValueContext& c) {
  Limits limits;
  limits.centered = c.attributes.get_int("center_point_box") != 0;
  STOKER_ASSIGN(const auto boxes, scalar(c, 2, "max_output_boxes_per_class"));
  STOKER_ASSIGN(const auto iou, scalar(c, 3, "iou_threshold"));
  STOKER_ASSIGN(limits.score, scalar(c, 4, "score_threshold"));
  // More than the number of boxes is as good as that, whatever the rounding.
  limits.boxes = static_cast<int64_t>(std::clamp(boxes.value_or(0), 0.0, 0x1p62));
  limits.iou = iou.value_or(0);
  if (!(limits.iou >= 0 && limits.iou <= 1)) {
    return invalid_argument("non_max_suppression: iou_threshold is {}, expected 0 to 1",
                            limits.iou);
  }
  return limits;
}

Status evaluate_values(ValueContext& c) {
  for (const size_t i : {0, 1}) {
    if (!c.has(i) || !c.inputs[i].is_tensor())
      return invalid_argument("non_max_suppression: input {} is no tensor", i);
  }
  const TensorView boxes = view_of(c.tensor(0)), scores = view_of(c.tensor(1));
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2]) {
    return invalid_argument(
        "non_max_suppression: boxes {} and scores {}, expected [N,B,4] and "
        "[N,C,B]",
        shape_text(boxes.shape), shape_text(scores.shape));
  }
  STOKER_ASSIGN(const Limits limits, limits_of(c));
  std::vector<int64_t> rows;
  if (limits.boxes > 0) {
    rows = boxes.dtype == DType::kF64 ? select_all<double>(boxes, scores, limits)
                                      : select_all<float>(boxes, scores, limits);
  }
  c.outputs[0] = Tensor::from<int64_t>({static_cast<int64_t>(rows.size() / 3), 3}, rows);
  return Status::ok();
}

}  // namespace

extern const Op op_non_max_suppression;
const Op op_non_max_suppression = {
    .name = "non_max_suppression",
    .min_inputs = 2,
    .max_inputs = 5,
    .attributes = {{"center_point_box", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate_values,
};

}  // namespace stoker
