// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "engine/verify_internal.h"
#include "kernels/desc/check.h"

namespace stoker::engine {
namespace {

Status check_operand_indices(const PlanProgram& program, const PlanStep& step) {
  for (const auto* list : {&step.inputs, &step.outputs}) {
    for (const int32_t index : *list) {
      if (index < -1 || index >= static_cast<int64_t>(program.tensors.size())) {
        return corrupt_file("names tensor {} of {}", index, program.tensors.size());
      }
    }
  }
  return Status::ok();
}

// Sizes that bind will write into the params stand in `param_dims`; here only their number matters.
Status fit_param_dims(const PlanStep& step, Desc& desc) {
  if (step.param_dims.empty()) return Status::ok();
  if (auto* region = std::get_if<RegionParams>(&desc.params)) {
    region->extents.assign(step.param_dims.size(), 0);
  } else if (auto* copy = std::get_if<CopyParams>(&desc.params)) {
    copy->starts.assign(step.param_dims.size(), 0);
  } else {
    return corrupt_file("has parameter sizes, which a {} does not take",
                        family_name(desc.family()));
  }
  return Status::ok();
}

Status check_packed(const EngineContents& contents, const PlanProgram& program,
                    const PlanStep& step, const Desc& desc, const TacticLists& tactics) {
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (desc.inputs[i].packing == Packing::kNone) continue;
    const PlanTensor& tensor = program.tensors[static_cast<size_t>(step.inputs[i])];
    const PlanWeight& weight = contents.weights[static_cast<size_t>(tensor.weight)];
    const Result<int64_t> bytes = tactics.packed_bytes(desc, static_cast<int>(i), weight.packing);
    if (!bytes.is_ok()) return corrupt_file("weight {}: {}", weight.name, bytes.status().message());
    if (weight.bytes.defined() && *bytes != weight.bytes.bytes()) {
      return corrupt_file("weight {} has {} bytes packed as {}, expected {}", weight.name,
                          weight.bytes.bytes(), packing_name(weight.packing), *bytes);
    }
  }
  return Status::ok();
}

Status check_after(const PlanStep& step, size_t index) {
  for (const int32_t earlier : step.after) {
    if (earlier < 0 || static_cast<size_t>(earlier) >= index) {
      return corrupt_file("waits for step {}, expected an earlier one than {}", earlier, index);
    }
  }
  return Status::ok();
}

Status check_step(const EngineContents& contents, const PlanProgram& program, size_t index,
                  const TacticLists& tactics) {
  const PlanStep& step = program.steps[index];
  STOKER_TRY(check_operand_indices(program, step));
  STOKER_TRY(check_after(step, index));
  if (!step.subprograms.empty()) return corrupt_file("runs sub-programs in a static program");
  if (step.place.kind > Place::Kind::kNull || step.place.index < 0) {
    return corrupt_file("has the place {}", place_text(step.place));
  }
  Desc desc;
  desc.params = step.params;
  for (const int32_t input : step.inputs)
    desc.inputs.push_back(operand_desc(contents, program, input));
  for (const int32_t output : step.outputs)
    desc.outputs.push_back(operand_desc(contents, program, output));
  STOKER_TRY(fit_param_dims(step, desc));
  if (const Status status = check_desc_static(desc); !status.is_ok())
    return corrupt_file("{}", status.message());
  if (!step.tactic.empty() && !tactics.knows(step.tactic, desc.family())) {
    return corrupt_file(
        "uses the tactic '{}', which this library does not have for a {}: rebuild the engine or "
        "update "
        "Stoker",
        step.tactic, family_name(desc.family()));
  }
  return check_packed(contents, program, step, desc, tactics);
}

}  // namespace

Status verify_steps(const EngineContents& contents, const PlanProgram& program,
                    const TacticLists& tactics) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    STOKER_TRY(check_step(contents, program, i, tactics)
                   .at(fmt::format("step {} {}", i, program.steps[i].name)));
  }
  return Status::ok();
}

}  // namespace stoker::engine
