// An optional that holds the input, or nothing: then `dtype` and `holds` ("tensor" or "sequence")
// say of what.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

using Kind = ValueType::Kind;

Status infer(InferContext& c) {
  ValueType& out = c.outputs[0];
  if (c.has(0)) {
    out = c.type(0);
    if (out.kind != Kind::kTensor && !(out.kind == Kind::kSequence && out.inner == Kind::kTensor)) {
      return invalid_model("optional: input is {}, expected a tensor or a sequence of tensors",
                           type_text(out));
    }
    out.inner = out.kind;
  } else {
    const std::string holds = c.attributes.get_string("holds", "tensor");
    if (holds != "tensor" && holds != "sequence")
      return invalid_model("optional: holds is \"{}\", expected tensor or sequence", holds);
    out = ValueType::unranked(c.attributes.get_dtype("dtype", DType::kInvalid));
    if (out.dtype == DType::kInvalid)
      return invalid_model("optional: no input, and no dtype of what it could hold");
    out.inner = holds == "tensor" ? Kind::kTensor : Kind::kSequence;
  }
  out.kind = Kind::kOptional;
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  if (c.has(0)) c.outputs[0] = c.inputs[0];
  return Status::ok();
}

}  // namespace

extern const Op op_optional;
const Op op_optional = {
    .name = "optional",
    .min_inputs = 0,
    .attributes = {{"dtype", AttributeKind::kDType}, {"holds", AttributeKind::kString}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
