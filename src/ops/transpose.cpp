// Axes in the order of `perm`; reversed when it is left out.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

std::vector<int64_t> permutation(const Attributes& attributes, int64_t rank) {
  std::vector<int64_t> perm = attributes.get_ints("perm");
  if (perm.empty() && !attributes.has("perm")) {
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  }
  return perm;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "transpose", 0, "input", kAny));
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, x.dtype);
  const std::vector<int64_t> perm = permutation(c.attributes, x.rank());
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int>(perm.size()) == x.rank();
  for (size_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == static_cast<int64_t>(i);
  if (!valid) {
    return invalid_model("transpose: perm {} is no permutation of the axes of {}", shape_text(perm),
                         type_text(x));
  }
  Dims dims;
  for (const int64_t p : perm) dims.push_back(x.dims[p]);
  set_output(c, 0, x.dtype, std::move(dims));
  pass_elements(c, 0);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  Shape strides;
  for (const int64_t p : permutation(c.attributes, x.rank())) strides.push_back(x.strides[p]);
  return copy_block(y.shape, y, {0, y.strides}, x, {0, std::move(strides)});
}

}  // namespace

extern const Op op_transpose;
const Op op_transpose = {
    .name = "transpose",
    .attributes = {{"perm", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
