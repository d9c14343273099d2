// Tactic: one way to run a desc. `supports` stands beside `launch` in the tactic's file; a list per
// backend names every tactic once. No global registration.
//
// Work is cut into units that do not depend on the number of threads: unit u of a phase computes
// the same bits whoever runs it. All units of a phase finish before the next phase starts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"
#include "device/isa.h"
#include "kernels/desc/desc.h"

namespace stoker {

// A zero point of a gemm or conv: `fixed`, or the operand `input` where that is one (u8 or i8).
inline int32_t zero_point(const Desc& desc, const void* const* inputs, int32_t input,
                          int32_t fixed) {
  if (input < 0) return fixed;
  const auto at = static_cast<size_t>(input);
  const void* data = inputs[at];
  return desc.inputs[at].dtype == DType::kU8 ? int32_t{*static_cast<const uint8_t*>(data)}
                                             : int32_t{*static_cast<const int8_t*>(data)};
}

// One of a tactic's own configurations; the plan stores its name. `values` mean what the tactic
// says.
struct Config {
  std::string name = "default";
  std::array<int32_t, 6> values{};
};

struct Workspace {
  int64_t shared_bytes = 0;      // one buffer, seen by all units of all phases
  int64_t per_worker_bytes = 0;  // scratch, one per worker, contents not kept between units
};

struct Launch {
  const Desc* desc = nullptr;
  const Config* config = nullptr;
  const void* prepared = nullptr;       // what prepare() made for this bound desc
  const void* const* inputs = nullptr;  // one per desc input; null where absent
  void* const* outputs = nullptr;
  std::byte* shared_workspace = nullptr;  // 64-byte aligned
  std::byte* worker_workspace = nullptr;
  int phase = 0;
  int64_t unit_begin = 0, unit_end = 0;  // this call's share
};

struct Tactic {
  const char* name = nullptr;  // "gemm_f32_panel"; the same on every ISA level
  int32_t version = 1;         // raised whenever its numbers or packing change
  Family family = Family::kFallback;
  bool reference = false;  // in double precision, slow; the last resort and the oracle
  bool shares = false;     // no contestant: reads a weight as a step of another family packs it

  // Ok, or why not: "input channels 3 are not a multiple of 16". Sees layouts, packings and
  // constants.
  Status (*supports)(const Desc& desc) = nullptr;
  // Never empty for a supported desc; the first one is the default. Null: only the default Config.
  std::vector<Config> (*configs)(const Desc& desc) = nullptr;
  // Packing wanted for constant input `index`; null function: kNone for all.
  Packing (*packing)(const Desc& desc, int index) = nullptr;
  // Layouts that the tactic can take, best first: for operands inputs..., outputs... Null: all
  // plain.
  std::vector<std::vector<Layout>> (*layouts)(const Desc& desc) = nullptr;
  Workspace (*workspace)(const Desc& desc, const Config& config) = nullptr;  // null: none
  // Work done once per bound shape. Null: none.
  std::shared_ptr<const void> (*prepare)(const Desc& desc, const Config& config) = nullptr;
  int (*phases)(const Desc& desc, const Config& config) = nullptr;  // null: 1
  // Null: 1 unit.
  int64_t (*units)(const Desc& desc, const Config& config, const void* prepared,
                   int phase) = nullptr;
  // An error for data-dependent faults only (an index outside its table).
  Status (*launch)(const Launch& launch) = nullptr;
};

// The configs of a tactic for a desc that it supports; never empty.
std::vector<Config> configs_of(const Tactic& tactic, const Desc& desc);

// The CPU lists, one per ISA level, and the reference tactics, which exist once.
std::span<const Tactic> cpu_tactics_baseline();
std::span<const Tactic> cpu_tactics_v3();
std::span<const Tactic> cpu_tactics_v4();
std::span<const Tactic> cpu_tactics_v4x();
std::span<const Tactic> reference_tactics();

// The tactics that a machine (or a knob) lets run: per name the one of the highest level not above
// `isa`. Built once, passed by argument. Thread-safe to read.
class TacticRegistry {
 public:
  explicit TacticRegistry(IsaLevel isa);
  IsaLevel isa() const { return isa_; }
  const Tactic* find(const std::string& name) const;  // null: unknown
  // All of a family, fast ones first, the reference tactic last.
  const std::vector<const Tactic*>& family(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

 private:
  IsaLevel isa_;
  std::array<std::vector<const Tactic*>, kFamilyCount> families_;
};

// Packs a canonical (plain, constant) weight. `spec` is the desc whose operand `index` is meant:
// transposition and groups come from there. Unpacking gives the canonical bytes back exactly.
Result<Tensor> pack_weight(const Desc& spec, int index, Packing packing, const Tensor& weight);
Result<Tensor> unpack_weight(const Desc& spec, int index, Packing packing, const Tensor& packed);
// Weights packed under equal keys have equal bytes if their canonical bytes are equal: how a
// packing looks depends on the operand's role (transposition, groups).
std::string packing_key(const Desc& spec, int index, Packing packing);
// Bytes of the packed form. Packed tensors are u8[bytes].
Result<int64_t> packed_bytes(const Desc& spec, int index, Packing packing);

}  // namespace stoker
