// Direct convolutions with output channels in groups of 16: f32 and 8 bits, input in the same
// groups (c16) or plain with few channels (stem). 2 N O C KH KW OH OW flops; bound by the FMA
// ports.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/conv/conv_plan.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kMaxStemChannels = 8;

template <bool kBytes, bool kStem>
constexpr Packing packing_kind() {
  if (kStem) return kBytes ? Packing::kConvStemI8 : Packing::kConvStem;
  return kBytes ? Packing::kConvC16I8 : Packing::kConvC16;
}

template <bool kBytes>
TileKind kind_of(const Desc& desc) {
  if (!kBytes) return TileKind::kF32;
  return desc.inputs[0].dtype == DType::kI8 ? TileKind::kI8 : TileKind::kU8;
}

template <bool kBytes, bool kStem>
Status supports(const Desc& desc) {
  for (int i = 0; i < 2; ++i) {
    const DType dtype = desc.inputs[static_cast<size_t>(i)].dtype;
    const bool fine = kBytes ? dtype == DType::kU8 || dtype == DType::kI8 : dtype == DType::kF32;
    if (!fine)
      return unsupported("operand {} is {}, expected {}", i, dtype_name(dtype),
                         kBytes ? "u8 or i8" : "f32");
  }
  STOKER_ASSIGN(const ConvShape shape, conv_shape(desc));
  STOKER_TRY(check_blocked_conv(desc, shape, packing_kind<kBytes, kStem>(), !kStem));
  if (kStem && shape.c > kMaxStemChannels) {
    return unsupported("{} input channels, at most {}", shape.c, kMaxStemChannels);
  }
  return plan_conv(desc, kind_of<kBytes>(desc), kStem).status();
}

template <bool kBytes, bool kStem>
Packing packing(const Desc&, int index) {
  return index == 1 ? packing_kind<kBytes, kStem>() : Packing::kNone;
}

template <bool kStem>
std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  return blocked_layouts(desc, kStem ? Layout::kPlain : Layout::kC16);
}

template <bool kBytes, bool kStem>
Workspace workspace(const Desc& desc, const Config&) {
  const auto plan = plan_conv(desc, kind_of<kBytes>(desc), kStem);
  if (!plan) return {};
  return {plan->copy ? plan->shape.n * plan->image_bytes : 0, conv_worker_bytes(*plan)};
}

template <bool kBytes, bool kStem>
std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  auto plan = plan_conv(desc, kind_of<kBytes>(desc), kStem);
  if (!plan) return nullptr;
  return std::shared_ptr<const void>(std::make_unique<const ConvPlan>(std::move(*plan)));
}

template <bool kBytes, bool kStem>
int phases(const Desc& desc, const Config&) {
  const auto plan = plan_conv(desc, kind_of<kBytes>(desc), kStem);
  return plan && plan->copy ? 2 : 1;
}

int64_t units(const Desc&, const Config&, const void* prepared, int phase) {
  return static_cast<const ConvPlan*>(prepared)->units(phase);
}

Status launch(const Launch& launch) {
  const auto& plan = *static_cast<const ConvPlan*>(launch.prepared);
  const auto* x =
      static_cast<const std::byte*>(plan.copy ? launch.shared_workspace : launch.inputs[0]);
  for (int64_t unit = launch.unit_begin; unit < launch.unit_end; ++unit) {
    if (plan.copy && launch.phase == 0) {
      conv_copy_unit(plan, launch, launch.shared_workspace, unit);
    } else {
      conv_unit(plan, launch, x, unit);
    }
  }
  return Status::ok();
}

template <bool kBytes, bool kStem>
constexpr Tactic tactic(const char* name) {
  Tactic t;
  t.name = name;
  t.family = Family::kConv;
  t.supports = supports<kBytes, kStem>;
  t.packing = packing<kBytes, kStem>;
  t.layouts = layouts<kStem>;
  t.workspace = workspace<kBytes, kStem>;
  t.prepare = prepare<kBytes, kStem>;
  t.phases = phases<kBytes, kStem>;
  t.units = units;
  t.launch = launch;
  return t;
}

}  // namespace

extern const Tactic conv_f32_c16;
const Tactic conv_f32_c16 = tactic<false, false>("conv_f32_c16");
extern const Tactic conv_f32_stem;
const Tactic conv_f32_stem = tactic<false, true>("conv_f32_stem");
extern const Tactic conv_i8_c16;
const Tactic conv_i8_c16 = tactic<true, false>("conv_i8_c16");
extern const Tactic conv_i8_stem;
const Tactic conv_i8_stem = tactic<true, true>("conv_i8_stem");

}  // namespace stoker::cpu
