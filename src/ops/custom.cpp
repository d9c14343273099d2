// An operator of a library that the caller named (stoker/custom_op.h). Attributes of its own say
// which library, domain and name; all others are the model's.
// SPDX-License-Identifier: Apache-2.0
#include "ops/custom_call.h"
#include "ops/support.h"

namespace stoker {

namespace {

struct Called {
  std::shared_ptr<const OpLibrary> library;
  const CustomOp* op = nullptr;
  std::string label;
};

Result<Called> find_called(const Attributes& attributes, size_t inputs, size_t outputs) {
  Called called;
  const std::string identity = attributes.get_string(kCustomLibrary);
  const std::string domain = attributes.get_string(kCustomDomain);
  const std::string name = attributes.get_string(kCustomName);
  called.library = find_op_library(identity);
  if (!called.library) {
    return error(StatusCode::kNotFound,
                 "{}:{} is an operator of the library '{}', which is not loaded: name its file "
                 "(--op-library FILE, or knob op_libraries)",
                 domain, name, identity);
  }
  called.op = called.library->find(domain, name);
  if (!called.op)
    return invalid_model("the library '{}' has no operator {}:{}", identity, domain, name);
  STOKER_TRY(called.op->check_counts(inputs, outputs));
  called.label = fmt::format("{}:{} of library {} {}", domain, name, called.library->name,
                             called.library->version);
  return called;
}

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Called called, find_called(c.attributes, c.inputs.size(), c.outputs.size()));
  return call_infer(*called.op, c).at(called.label);
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(const Called called, find_called(c.attributes, c.inputs.size(), c.outputs.size()));
  return call_evaluate(*called.op, c).at(called.label);
}

}  // namespace

extern const Op op_custom;
const Op op_custom = {
    .name = "custom",
    .min_inputs = 0,
    .max_inputs = -1,
    .output_count = -1,
    .attributes = {{kCustomLibrary, AttributeKind::kString, true},
                   {kCustomDomain, AttributeKind::kString, true},
                   {kCustomName, AttributeKind::kString, true},
                   {kCustomVersion, AttributeKind::kInt},
                   {"*", AttributeKind::kString}},  // the model's own, of any kind
    .infer = infer,
    .evaluate_values = evaluate,
    // Folded, the engine would no longer say whose code its numbers come from.
    .foldable = false,
};

}  // namespace stoker
