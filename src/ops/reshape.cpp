// The same elements under the shape of input 1: 0 keeps the extent (unless allowzero), -1 takes the
// rest.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

namespace {

// product(x) / product(others); factors that occur in both cancel first, so symbols stay simple.
Result<Dim> rest(const Dims& x, Dims others) {
  Dims numerator;
  for (const Dim& d : x) {
    const auto same = std::find(others.begin(), others.end(), d);
    if (same != others.end() && d != Dim(0)) {
      others.erase(same);
    } else {
      numerator.push_back(d);
    }
  }
  const Dim top = product(numerator), bottom = product(others);
  if (bottom == Dim(0)) {
    return invalid_model("reshape: -1 cannot be worked out beside an extent of 0 in input {}",
                         dims_text(x));
  }
  if (top.is_const() && bottom.is_const() && top.value() % bottom.value() != 0) {
    return invalid_model("reshape: the {} elements left of input {} do not divide by {}",
                         top.value(), dims_text(x), bottom.value());
  }
  return bottom == Dim(1) ? top : Dim::floor_div(top, bottom);
}

Status infer_target(InferContext& c, const Dims& target) {
  const ValueType& x = c.type(0);
  const bool allow_zero = c.attributes.get_int("allowzero") != 0;
  Dims dims;
  int hole = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim d = target[i];
    if (d == Dim(-1)) {
      if (hole >= 0)
        return invalid_model("reshape: the target {} holds -1 twice", dims_text(target));
      hole = static_cast<int>(i);
      d = Dim(1);
    } else if (d == Dim(0) && !allow_zero) {
      if (x.ranked && i >= x.dims.size()) {
        return invalid_model("reshape: the target {} keeps extent {} of the input {}",
                             dims_text(target), i, type_text(x));
      }
      d = x.ranked ? x.dims[i] : c.fresh();
    } else if (d.is_const() && d.value() < 0) {
      return invalid_model("reshape: the target {} holds a negative extent", dims_text(target));
    }
    dims.push_back(std::move(d));
  }
  if (!x.ranked) {
    if (hole >= 0) dims[hole] = c.fresh();
  } else if (hole >= 0) {
    Dims others = dims;
    others.erase(others.begin() + hole);
    STOKER_ASSIGN(dims[hole], rest(x.dims, std::move(others)));
  } else {
    const Dim from = product(x.dims), to = product(dims);
    if (from.is_const() && to.is_const() && from != to) {
      return invalid_model("reshape: input {} has {} elements, the target {} has {}", type_text(x),
                           from.text(), dims_text(dims), to.text());
    }
  }
  set_output(c, 0, x.dtype, std::move(dims));
  return Status::ok();
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "reshape", 0, "input", kAny));
  STOKER_TRY(check_input(c, "reshape", 1, "shape", kIndices));
  if (const auto target = c.elements(1)) {
    STOKER_TRY(infer_target(c, *target));
    pass_elements(c, 0);
    return Status::ok();
  }
  return set_open(c, c.type(0).dtype, vector_length(c, 1));
}

}  // namespace

extern const Op op_reshape;
const Op op_reshape = {
    .name = "reshape",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"allowzero", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = [](const EvalContext& c) { return copy_reshaped(c.outputs[0], c.inputs[0]); },
};

}  // namespace stoker
