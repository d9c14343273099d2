// Elements added before and after (negative: taken away) along the axes: constant, edge, reflect,
// wrap.
// SPDX-License-Identifier: Apache-2.0
#include "ops/index_map.h"
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr int64_t kLargest = int64_t{1} << 40;

Status check_mode(const std::string& mode) {
  if (mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap")
    return Status::ok();
  return invalid_model("pad: mode is \"{}\", expected constant, edge, reflect or wrap", mode);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "pad", 0, "input", kAny));
  STOKER_TRY(check_input(c, "pad", 1, "pads", kIndices));
  STOKER_TRY(check_mode(c.attributes.get_string("mode", "constant")));
  if (c.has(2)) STOKER_TRY(check_same_dtype(c, "pad", 0, 2));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  std::vector<int64_t> axes;
  if (c.has(3)) {
    const auto given = c.constant_ints(3);
    if (!given) return set_open(c, x.dtype, x.rank());
    for (const int64_t axis : *given) {
      STOKER_ASSIGN(const int64_t normal, normalize_axis("pad", axis, x.rank()));
      axes.push_back(normal);
    }
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  const auto pads = c.elements(1);
  if (pads && pads->size() != 2 * axes.size()) {
    return invalid_model("pad: pads has {} numbers, expected {} (two for each axis)", pads->size(),
                         2 * axes.size());
  }
  Dims dims = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& d = dims[axes[i]];
    d = pads ? d + (*pads)[i] + (*pads)[i + axes.size()] : c.fresh();
    if (d.is_const() && (d.value() < 0 || d.value() > kLargest)) {
      return invalid_model("pad: axis {} of {} becomes {} long", axes[i], type_text(x), d.text());
    }
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

// Input coordinate of a coordinate that may lie outside; -1: none.
int64_t source(int64_t i, int64_t extent, const std::string& mode) {
  if (i >= 0 && i < extent) return i;
  if (mode == "constant" || extent == 0) return -1;
  if (mode == "edge") return i < 0 ? 0 : extent - 1;
  if (mode == "wrap") return ((i % extent) + extent) % extent;
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1);
  const int64_t at = ((i % period) + period) % period;
  return at < extent ? at : period - at;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const std::string mode = c.attributes.get_string("mode", "constant");
  const std::vector<int64_t> pads = to_ints(c.inputs[1]);
  std::vector<int64_t> before(x.shape.size(), 0), after(x.shape.size(), 0), axes;
  if (c.has(3)) {
    axes = to_ints(c.inputs[3]);
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  if (pads.size() != 2 * axes.size())
    return invalid_argument("pad: two pads for each axis are needed");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = wrap_axis(axes[i], x.rank());
    if (axis < 0 || axis >= x.rank())
      return invalid_argument("pad: axis {} does not exist", axes[i]);
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
  }
  if (c.has(2)) STOKER_TRY(check_count(c.inputs[2], 1, "pad", "the fill value"));
  IndexMaps maps(x.shape.size());
  for (size_t d = 0; d < maps.size(); ++d) {
    // A negative pad takes elements away before the others are repeated.
    const int64_t cut = std::max<int64_t>(-before[d], 0);
    const int64_t kept = x.shape[d] - cut - std::max<int64_t>(-after[d], 0);
    for (int64_t i = 0; i < y.shape[d]; ++i) {
      const int64_t at =
          source(i - std::max<int64_t>(before[d], 0), std::max<int64_t>(kept, 0), mode);
      maps[d].push_back(at < 0 ? -1 : at + cut);
    }
  }
  return copy_indexed(y, x, maps, c.has(2) ? c.inputs[2] : TensorView{}, c.wanted);
}

}  // namespace

extern const Op op_pad;
const Op op_pad = {
    .name = "pad",
    .min_inputs = 2,
    .max_inputs = 4,
    .attributes = {{"mode", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
