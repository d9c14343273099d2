// The reference tactics: every family in double precision (integers exactly), through the ops'
// reference evaluations and the region interpreter. Slow, complete, the oracle of all other
// tactics.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/numeric.h"
#include "kernels/desc/attention.h"
#include "kernels/desc/recurrent.h"
#include "kernels/reference_move.h"
#include "kernels/reference_parts.h"
#include "kernels/reference_resize.h"
#include "kernels/region_interpreter.h"
#include "kernels/tactic.h"
#include "ops/op.h"

namespace stoker {
namespace {

// ---- supports.

Status check_numbers(const Desc& desc) {
  const auto check = [](const TensorDesc& operand, const char* what, size_t k) {
    if (!operand.present() || load_double(operand.dtype)) return Status::ok();
    return unsupported("{} {} of dtype {} has no numbers", what, k, dtype_name(operand.dtype));
  };
  for (size_t k = 0; k < desc.inputs.size(); ++k) STOKER_TRY(check(desc.inputs[k], "input", k));
  for (size_t k = 0; k < desc.outputs.size(); ++k) STOKER_TRY(check(desc.outputs[k], "output", k));
  return Status::ok();
}

Status supports_numbers(const Desc& desc) {
  if (desc.outputs.empty() || desc.inputs.empty()) return unsupported("operands are missing");
  return check_numbers(desc);
}

Status supports_region(const Desc& desc) {
  const auto& program = desc.as<RegionParams>().program;
  std::vector<int> ranks;
  for (const TensorDesc& input : desc.inputs) ranks.push_back(input.rank());
  for (const TensorDesc& output : desc.outputs) ranks.push_back(output.rank());
  const std::string text = check_region(program, ranks);
  if (!text.empty()) return unsupported("region: {}", text);
  return check_numbers(desc);
}

Status supports_moves(const Desc& desc) {
  if (desc.outputs.empty() || desc.inputs.empty()) return unsupported("operands are missing");
  if (dtype_bits(desc.outputs[0].dtype) == 0)
    return unsupported("strings are not moved by kernels");
  return Status::ok();
}

// The op's own inference at the bound shapes must give the operands that the plan claims:
// evaluation trusts its outputs' shapes. Sizes that depend on data stay open here.
Status check_fallback_types(const Op& op, const Desc& desc) {
  STOKER_TRY(check_attributes(op, desc.as<FallbackParams>().attributes));
  std::vector<ValueType> types;
  for (const TensorDesc& d : desc.inputs) {
    types.push_back(ValueType::tensor(d.dtype, Dims(d.dims.begin(), d.dims.end())));
  }
  std::vector<InferContext::Input> inputs(desc.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (desc.inputs[i].present()) inputs[i].type = &types[i];
  }
  int symbols = 0;
  InferContext context{.attributes = desc.as<FallbackParams>().attributes, .inputs = inputs};
  context.outputs.resize(desc.outputs.size());
  context.shape_values.resize(desc.outputs.size());
  context.graph = &symbols;
  context.fresh_symbol = [](void* counter) {
    return Dim::symbol("d" + std::to_string(++*static_cast<int*>(counter)));
  };
  // Ops whose output shape needs an operand's value (axes of a reduction) cannot be judged from
  // shapes; their evaluation checks what it is given.
  const Status inferred_status = op.infer(context);
  if (inferred_status.code() == StatusCode::kUnsupported) return Status::ok();
  STOKER_TRY(inferred_status);
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    const TensorDesc& claimed = desc.outputs[i];
    const ValueType& inferred = context.outputs[i];
    if (!claimed.present()) continue;
    bool fits = claimed.dtype == inferred.dtype;
    if (inferred.ranked) fits = fits && inferred.dims.size() == claimed.dims.size();
    for (size_t d = 0; fits && inferred.ranked && d < claimed.dims.size(); ++d) {
      fits = !inferred.dims[d].is_const() || inferred.dims[d].value() == claimed.dims[d];
    }
    if (!fits) {
      return unsupported("op '{}' gives {} for output {}, the plan says {}{}", op.name,
                         type_text(inferred), i, dtype_name(claimed.dtype),
                         shape_text(claimed.dims));
    }
  }
  return Status::ok();
}

Status supports_fallback(const Desc& desc) {
  const auto& p = desc.as<FallbackParams>();
  const Op* op = find_op(p.op);
  if (!op) return unsupported("there is no op '{}'", p.op);
  if (!op->evaluate)
    return unsupported("op '{}' has no reference evaluation; the runtime executes it", p.op);
  const auto plain = [](const TensorDesc& d) {
    return d.layout == Layout::kPlain && d.packing == Packing::kNone;
  };
  if (!std::all_of(desc.inputs.begin(), desc.inputs.end(), plain) ||
      !std::all_of(desc.outputs.begin(), desc.outputs.end(), plain)) {
    return unsupported("op '{}' takes plain operands only", p.op);
  }
  const auto inputs = static_cast<int>(desc.inputs.size());
  if (inputs < op->min_inputs || (op->max_inputs >= 0 && inputs > op->max_inputs)) {
    return unsupported("op '{}' does not take {} inputs", p.op, inputs);
  }
  return check_fallback_types(*op, desc);
}

// ---- launch.

Status launch_computed(const Launch& l) {
  const Desc& desc = *l.desc;
  if (l.unit_begin >= l.unit_end) return Status::ok();
  STOKER_ASSIGN(const Tensor accumulator, reference_accumulate(desc, l.inputs, {}));
  STOKER_ASSIGN(const ReferenceEpilogue e, reference_epilogue(desc, l.inputs, accumulator));
  RegionInterpreter(e.program, desc.outputs[0].dims, e.inputs, desc.outputs)
      .run(e.data.data(), l.outputs);
  return Status::ok();
}

Status launch_region(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  const auto& p = l.desc->as<RegionParams>();
  RegionInterpreter(p.program, p.extents, l.desc->inputs, l.desc->outputs).run(l.inputs, l.outputs);
  return Status::ok();
}

Status launch_copy(const Launch& l) {
  return l.unit_begin >= l.unit_end ? Status::ok()
                                    : reference_copy(*l.desc, l.inputs, l.outputs[0]);
}

Status launch_gather(const Launch& l) {
  return l.unit_begin >= l.unit_end ? Status::ok()
                                    : reference_gather(*l.desc, l.inputs, l.outputs[0]);
}

Status launch_op(const Desc& desc, const FallbackParams& p, const void* const* in,
                 void* const* out) {
  std::vector<TensorView> inputs, outputs;
  for (size_t k = 0; k < desc.inputs.size(); ++k)
    inputs.push_back(buffer_view(desc.inputs[k], in[k]));
  for (size_t k = 0; k < desc.outputs.size(); ++k)
    outputs.push_back(buffer_view(desc.outputs[k], out[k]));
  return evaluate_reference(p.op, p.attributes, inputs, outputs, {});
}

Status launch_fallback(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  return launch_op(*l.desc, l.desc->as<FallbackParams>(), l.inputs, l.outputs);
}
Status launch_attention(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  return launch_op(*l.desc, attention_call(l.desc->as<AttentionParams>()), l.inputs, l.outputs);
}
Status launch_recurrent(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  STOKER_ASSIGN(const PlainRecurrent plain, plain_recurrent(*l.desc, l.inputs));
  return launch_op(plain.desc, recurrent_call(l.desc->as<RecurrentParams>()), plain.inputs.data(),
                   l.outputs);
}

Status launch_resize(const Launch& l) {
  return l.unit_begin >= l.unit_end ? Status::ok()
                                    : reference_resize(*l.desc, l.inputs[0], l.outputs[0]);
}

Tactic reference(const char* name, Family family, Status (*supports)(const Desc&),
                 Status (*launch)(const Launch&)) {
  Tactic tactic;
  tactic.name = name;
  tactic.family = family;
  tactic.reference = true;
  tactic.supports = supports;
  tactic.launch = launch;
  return tactic;
}

}  // namespace

std::span<const Tactic> reference_tactics() {
  static const std::array<Tactic, kFamilyCount> tactics = {
      reference("gemm_reference", Family::kGemm, supports_numbers, launch_computed),
      reference("conv_reference", Family::kConv, supports_numbers, launch_computed),
      reference("region_reference", Family::kRegion, supports_region, launch_region),
      reference("pool_reference", Family::kPool, supports_numbers, launch_computed),
      reference("copy_reference", Family::kCopy, supports_moves, launch_copy),
      reference("gather_reference", Family::kGather, supports_moves, launch_gather),
      reference("fallback_reference", Family::kFallback, supports_fallback, launch_fallback),
      reference("attention_reference", Family::kAttention, supports_numbers, launch_attention),
      reference("recurrent_reference", Family::kRecurrent, supports_numbers, launch_recurrent),
      reference("resize_reference", Family::kResize, supports_moves, launch_resize),
  };
  return tactics;
}

}  // namespace stoker
