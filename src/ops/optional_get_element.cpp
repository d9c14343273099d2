// What an optional holds; a tensor or a sequence is given back as it is.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  if (!c.has(0)) return invalid_model("optional_get_element: input 0 is missing");
  ValueType& out = c.outputs[0];
  out = c.type(0);
  if (out.kind != ValueType::Kind::kOptional) return Status::ok();
  out.kind = out.inner;
  out.inner = ValueType::Kind::kTensor;
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  if (!c.has(0)) {
    return invalid_argument(
        "optional_get_element: the optional holds nothing; ask optional_has_element first");
  }
  c.outputs[0] = c.inputs[0];
  return Status::ok();
}

}  // namespace

extern const Op op_optional_get_element;
const Op op_optional_get_element = {
    .name = "optional_get_element",
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
