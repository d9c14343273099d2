// Parts of the input along `axis`: of the lengths in input 1, or `num_outputs` equal ones (the last
// may be shorter).
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

// Parts of ceil(whole / parts) elements; the last ones may be shorter, down to nothing.
Dims equal_parts(const Dim& whole, int64_t parts) {
  const Dim size = round_up_div(whole, parts);
  Dims lengths;
  Dim left = whole;
  for (int64_t i = 0; i < parts; ++i) {
    if (whole.is_const()) {
      lengths.push_back(Dim::min(size, left));
    } else {
      // Of two parts the second is never negative.
      lengths.push_back(i + 1 < parts ? size : parts < 3 ? left : Dim::max(left, Dim(0)));
    }
    left = left - lengths.back();
  }
  return lengths;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "split", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("split", c.attributes.get_int("axis"), x.rank()));
  const int64_t parts = static_cast<int64_t>(c.outputs.size());
  const Dim whole = x.dims[axis];
  Dims lengths;
  if (c.has(1)) {
    const auto given = c.elements(1);
    if (given && given->size() != c.outputs.size()) {
      return invalid_model("split: {} lengths for {} outputs", given->size(), parts);
    }
    Dim total(0);
    for (int64_t i = 0; i < parts; ++i) {
      lengths.push_back(given ? (*given)[i] : c.fresh());
      if (lengths.back().is_const() && lengths.back().value() < 0) {
        return invalid_model("split: the length {} is negative", lengths.back().text());
      }
      total = total + lengths.back();
    }
    if (given)
      STOKER_TRY(
          same_dim("split", "the sum of the lengths and the axis' extent", total, whole).status());
  } else {
    if (c.attributes.get_int("num_outputs", parts) != parts) {
      return invalid_model("split: num_outputs is {} with {} outputs",
                           c.attributes.get_int("num_outputs"), parts);
    }
    lengths = equal_parts(whole, parts);
  }
  const auto elements = x.rank() == 1 ? c.elements(0) : std::nullopt;
  size_t start = 0;
  for (int64_t i = 0; i < parts; ++i) {
    Dims dims = x.dims;
    dims[axis] = lengths[i];
    set_output(c, i, x.dtype, std::move(dims));
    if (!elements || !lengths[i].is_const()) continue;
    const size_t end = start + static_cast<size_t>(lengths[i].value());
    if (end > elements->size()) break;
    c.shape_values[i] = Dims(elements->begin() + start, elements->begin() + end);
    start = end;
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& x = c.inputs[0];
  const int64_t axis = wrap_axis(c.attributes.get_int("axis"), x.rank());
  int64_t start = 0;
  for (const TensorView& y : c.outputs) {
    if (start + y.shape[axis] > x.shape[axis])
      return invalid_argument("split: the parts exceed the input");
    STOKER_TRY(copy_block(y.shape, y, {0, y.strides}, x, {start * x.strides[axis], x.strides}));
    start += y.shape[axis];
  }
  return Status::ok();
}

}  // namespace

extern const Op op_split;
const Op op_split = {
    .name = "split",
    .max_inputs = 2,
    .output_count = -1,
    .attributes = {{"axis", AttributeKind::kInt}, {"num_outputs", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
