// Panel-packed gemm: f32, 8 bits, and f32 by 8-bit weights. Y = epilogue(A * B): A is read in
// place, B in panels of 16 columns, packed at build when constant, otherwise in phase 0. 2 M N K
// flops over 4 (M K + K N + M N) bytes; bound by the FMA ports for M > 16 or so, by the bandwidth
// of B below.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gemm/gemm_plan.h"

namespace stoker::cpu {
namespace {

Status check_common(const Desc& desc, Packing packed) {
  const TensorDesc &a = desc.inputs[0], &b = desc.inputs[1];
  if (a.rank() < 2 || b.rank() < 2)
    return unsupported("operands of rank {} and {}, expected 2 or more", a.rank(), b.rank());
  if (a.layout != Layout::kPlain || a.packing != Packing::kNone)
    return unsupported("A is not plain");
  if (b.layout != Layout::kPlain) return unsupported("B is not plain");
  if (b.packing != Packing::kNone && b.packing != packed) {
    return unsupported("B is packed as {}, expected {}", packing_name(b.packing),
                       packing_name(packed));
  }
  if (desc.outputs[0].rank() > kMaxRegionRank) {
    return unsupported("output of rank {}, at most {}", desc.outputs[0].rank(), kMaxRegionRank);
  }
  for (const TensorDesc& y : desc.outputs) {
    if (y.layout != Layout::kPlain) return unsupported("the output is not plain");
  }
  return Status::ok();
}

Status supports_f32(const Desc& desc) {
  for (int i = 0; i < 2; ++i) {
    const DType dtype = desc.inputs[static_cast<size_t>(i)].dtype;
    if (dtype != DType::kF32)
      return unsupported("operand {} is {}, expected f32", i, dtype_name(dtype));
  }
  STOKER_TRY(check_common(desc, Packing::kGemmPanel));
  return plan_gemm(desc, TileKind::kF32).status();
}

TileKind integer_kind(const Desc& desc) {
  return desc.inputs[0].dtype == DType::kI8 ? TileKind::kI8 : TileKind::kU8;
}

Status supports_i8(const Desc& desc) {
  for (int i = 0; i < 2; ++i) {
    const DType dtype = desc.inputs[static_cast<size_t>(i)].dtype;
    if (dtype != DType::kU8 && dtype != DType::kI8) {
      return unsupported("operand {} is {}, expected u8 or i8", i, dtype_name(dtype));
    }
  }
  STOKER_TRY(check_common(desc, Packing::kGemmPanelI8));
  return plan_gemm(desc, integer_kind(desc)).status();
}

// Weights as they are stored, widened while they are read: their traffic is a quarter of f32's. The
// packed form holds w - zero, which must fit into i8.
Status supports_w8(const Desc& desc) {
  const TensorDesc &a = desc.inputs[0], &b = desc.inputs[1];
  if (a.dtype != DType::kF32 || (b.dtype != DType::kU8 && b.dtype != DType::kI8))
    return unsupported("{} x {}, expected f32 x u8 or i8", dtype_name(a.dtype),
                       dtype_name(b.dtype));
  if (!b.constant) return unsupported("8-bit weights that are computed");
  const int32_t zero = b.dtype == DType::kU8 ? 128 : 0;
  if (desc.as<GemmParams>().b_zero != zero)
    return unsupported("zero point {}, expected {}", desc.as<GemmParams>().b_zero, zero);
  STOKER_TRY(check_common(desc, Packing::kGemmPanel));
  return plan_gemm(desc, TileKind::kF32I8).status();
}

TileKind kind_of(const Desc& desc) {
  if (desc.inputs[0].dtype != DType::kF32) return integer_kind(desc);
  return desc.inputs[1].dtype == DType::kF32 ? TileKind::kF32 : TileKind::kF32I8;
}

Packing packing(const Desc& desc, int index) {
  if (index != 1 || !desc.inputs[1].constant) return Packing::kNone;
  return sums_floats(kind_of(desc)) ? Packing::kGemmPanel : Packing::kGemmPanelI8;
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_gemm(desc, kind_of(desc));
  if (!plan) return {};
  return {plan->pack_b ? plan->b_bytes() : 0, gemm_worker_bytes(*plan)};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_gemm(desc, kind_of(desc));
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const GemmPlan>(std::move(*plan)));
}

int phases(const Desc& desc, const Config&) {
  return desc.inputs[1].packing == Packing::kNone ? 2 : 1;
}

int64_t units(const Desc&, const Config&, const void* prepared, int phase) {
  return static_cast<const GemmPlan*>(prepared)->units(phase);
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const GemmPlan*>(launch.prepared);
  const auto* b =
      static_cast<const std::byte*>(plan.pack_b ? launch.shared_workspace : launch.inputs[1]);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit) {
    if (plan.pack_b && launch.phase == 0) {
      gemm_pack_unit(plan, launch.inputs[1], launch.shared_workspace, unit);
    } else {
      gemm_unit(plan, launch, b, unit);
    }
  }
  return Status::ok();
}

}  // namespace

extern const Tactic gemm_f32_panel;
const Tactic gemm_f32_panel = {
    .name = "gemm_f32_panel",
    .family = Family::kGemm,
    .supports = supports_f32,
    .packing = packing,
    .workspace = workspace,
    .prepare = prepare,
    .phases = phases,
    .units = units,
    .launch = launch,
};

extern const Tactic gemm_i8_panel;
const Tactic gemm_i8_panel = {
    .name = "gemm_i8_panel",
    .family = Family::kGemm,
    .supports = supports_i8,
    .packing = packing,
    .workspace = workspace,
    .prepare = prepare,
    .phases = phases,
    .units = units,
    .launch = launch,
};

extern const Tactic gemm_w8_panel;
const Tactic gemm_w8_panel = {
    .name = "gemm_w8_panel",
    .family = Family::kGemm,
    .supports = supports_w8,
    .packing = packing,
    .workspace = workspace,
    .prepare = prepare,
    .phases = phases,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
