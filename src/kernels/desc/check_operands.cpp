// What every operand of a desc must be, whatever the family: the first part of check_desc_static.
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/status.h"
#include "kernels/desc/check.h"

namespace stoker {
namespace {

constexpr int kMaxRank = 8;
constexpr size_t kMaxOperands = 65536;

bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

Status check_packing(const Desc& desc, const TensorDesc& operand, bool is_input, size_t index) {
  const Packing packing = operand.packing;
  if (packing == Packing::kNone) return Status::ok();
  const bool for_gemm = packing == Packing::kGemmPanel || packing == Packing::kGemmPanelI8;
  const bool for_gates = packing == Packing::kGatePanel;
  const Family wanted = for_gemm ? Family::kGemm : for_gates ? Family::kRecurrent : Family::kConv;
  const bool is_weight = desc.family() == wanted && (index == 1 || (for_gates && index == 2));
  // The table of a gather may lie as a product packs it.
  const bool is_table = packing == Packing::kGemmPanel && desc.family() == Family::kGather &&
                        index == 0 && operand.rank() == 2;
  if (!is_input || !(is_weight || is_table)) {
    return invalid_argument("packing {} is for weights of a {} only", packing_name(packing),
                            family_name(wanted));
  }
  if (!operand.constant)
    return invalid_argument("packing {} on an operand that is not constant", packing_name(packing));
  if (operand.layout != Layout::kPlain)
    return invalid_argument("an operand is both packed and in layout c16");
  const bool bytes = packing == Packing::kGemmPanelI8 || packing == Packing::kConvC16I8 ||
                     packing == Packing::kConvStemI8;
  const bool dtype_fits =
      bytes ? is_byte(operand.dtype)
            : operand.dtype == DType::kF32 ||
                  ((packing == Packing::kGemmPanel || for_gates) && is_byte(operand.dtype)) ||
                  packing == Packing::kDepthwiseC16;
  if (!dtype_fits) {
    return invalid_argument("packing {} does not hold {}", packing_name(packing),
                            dtype_text(operand.dtype));
  }
  return Status::ok();
}

Status check_operand(const Desc& desc, const TensorDesc& operand, bool is_input, size_t index) {
  const bool fallback = desc.family() == Family::kFallback;
  // Which operands a recurrent layer may leave out is checked with the rest of it.
  const bool may_lack = fallback || (desc.family() == Family::kRecurrent && is_input && index >= 3);
  if (static_cast<int>(operand.dtype) >= kDTypeCount) {
    return invalid_argument("unknown dtype {}", dtype_text(operand.dtype));
  }
  if (!operand.present()) {
    return may_lack ? Status::ok()
                    : invalid_argument("is absent; {} needs it", family_name(desc.family()));
  }
  if (operand.dtype == DType::kString && !fallback) {
    return invalid_argument("strings are handled by fallback steps only");
  }
  if (operand.rank() > kMaxRank) {
    return invalid_argument("rank {}; at most {} is supported", operand.rank(), kMaxRank);
  }
  if (operand.layout > Layout::kC16)
    return invalid_argument("unknown layout {}", static_cast<int>(operand.layout));
  if (std::string_view(packing_name(operand.packing)) == "?") {
    return invalid_argument("unknown packing {}", static_cast<int>(operand.packing));
  }
  if (operand.layout == Layout::kC16) {
    if (fallback) return invalid_argument("fallback steps take plain operands, found layout c16");
    if (operand.rank() < 3 || operand.rank() > 5) {
      return invalid_argument("layout c16 needs [N, C, 1 to 3 spatial dims], found rank {}",
                              operand.rank());
    }
  }
  return check_packing(desc, operand, is_input, index);
}

}  // namespace

std::string dtype_text(DType dtype) {
  return static_cast<int>(dtype) < kDTypeCount ? std::string(dtype_name(dtype))
                                               : fmt::format("number {}", static_cast<int>(dtype));
}

Status check_operands(const Desc& desc) {
  if (desc.inputs.size() > kMaxOperands || desc.outputs.size() > kMaxOperands) {
    return invalid_argument("{} inputs and {} outputs; at most {} are supported",
                            desc.inputs.size(), desc.outputs.size(), kMaxOperands);
  }
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    STOKER_TRY(check_operand(desc, desc.inputs[i], true, i).at(fmt::format("input {}", i)));
  }
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    STOKER_TRY(check_operand(desc, desc.outputs[i], false, i).at(fmt::format("output {}", i)));
  }
  return Status::ok();
}

}  // namespace stoker
