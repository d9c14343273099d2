// Tactic region_tile: any region program on the tile executor.
//   units    boxes of whole rows, cut along the outermost dims, about 32 KiB of work each
//   bound    memory for short chains (every operand is touched once), exp/erf/tanh polynomials else
//   limits   no reduction over the channels in layout c16
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/memory.h"
#include "kernels/cpu/region/executor.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kDefaultUnitBytes = 32 << 10;
constexpr int64_t kSmallestSplit = 8 << 10;  // below this a second worker costs more than it helps

struct Prepared {
  std::shared_ptr<const BoundRegion> region;
  int cut = -1;                // dims before it are enumerated, it is cut into blocks, later ones are whole
  int64_t block = 1;           // extent of a unit along `cut`
  int64_t blocks = 1;          // units along `cut`
  int64_t units = 0;
  bool whole[kMaxRegionRank] = {};  // reduced dims and those after the cut
};

Result<std::shared_ptr<const BoundRegion>> bind(const Desc& desc) {
  const auto& params = desc.as<RegionParams>();
  return BoundRegion::bind(params.program, params.extents, desc.inputs, desc.outputs);
}

int64_t point_bytes(const Desc& desc) {
  int64_t bits = 0;
  for (const TensorDesc& input : desc.inputs) bits = std::max<int64_t>(bits, dtype_bits(input.dtype));
  for (const TensorDesc& output : desc.outputs) bits = std::max<int64_t>(bits, dtype_bits(output.dtype));
  return std::max<int64_t>(bits / 8, 1);
}

Prepared cut_units(const Desc& desc, const Config& config, std::shared_ptr<const BoundRegion> region) {
  Prepared p;
  const auto& program = desc.as<RegionParams>().program;
  const auto extents = region->extents();
  const int rank = region->rank();
  const bool reducing = program.has_reduction();
  int64_t inner = point_bytes(desc);  // bytes of work of one index along the dim looked at
  for (int d = 0; d < rank; ++d) {
    const bool reduced = reducing && d < program.rank && program.reduced[static_cast<size_t>(d)] != 0;
    p.whole[d] = reduced;
    if (reduced) inner *= std::max<int64_t>(extents[static_cast<size_t>(d)], 1);
  }
  p.region = std::move(region);
  const int64_t target = config.values[0] > 0 ? int64_t{config.values[0]} << 10 : kDefaultUnitBytes;
  // From the inside out, as long as a whole dim fits a unit.
  for (int d = rank; d-- > 0;) {
    if (p.whole[d]) continue;
    const int64_t extent = extents[static_cast<size_t>(d)];
    if (extent == 0) return p;
    p.cut = d;
    if (inner * extent > target) break;
    inner *= extent;
    p.whole[d] = true;
  }
  if (p.cut < 0) {
    p.units = 1;  // every dim is reduced, or there is none
    return p;
  }
  if (p.whole[p.cut]) {  // all of it fits one unit: halves along the outermost dim with a choice
    p.block = extents[static_cast<size_t>(p.cut)];
    for (int d = 0; d < rank && inner >= kSmallestSplit; ++d) {
      const bool reduced = reducing && d < program.rank && program.reduced[static_cast<size_t>(d)] != 0;
      if (reduced || extents[static_cast<size_t>(d)] < 2) continue;
      p.cut = d;
      p.block = (extents[static_cast<size_t>(d)] + 1) / 2;
      break;
    }
    for (int d = 0; d < p.cut; ++d) p.whole[d] = true;  // extents of 1 or reduced
    p.whole[p.cut] = false;
  } else {
    p.block = std::max<int64_t>(target / inner, 1);
    if (p.cut == rank - 1) p.block = round_up(p.block, kLaneCount);
  }
  const int64_t extent = extents[static_cast<size_t>(p.cut)];
  p.block = std::min(p.block, extent);
  p.blocks = (extent + p.block - 1) / p.block;
  p.units = p.blocks;
  for (int d = 0; d < p.cut; ++d) p.units *= p.whole[d] ? 1 : extents[static_cast<size_t>(d)];
  return p;
}

Status supports(const Desc& desc) {
  if (desc.family() != Family::kRegion) return unsupported("not a region");
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    if (desc.inputs[k].packing != Packing::kNone) {
      return unsupported("input {} is packed as {}", k, packing_name(desc.inputs[k].packing));
    }
  }
  const auto bound = bind(desc);
  return bound.is_ok() ? Status::ok() : bound.status();
}

std::vector<Config> configs(const Desc&) {
  Config coarse;
  coarse.name = "coarse";
  coarse.values[0] = 128;
  return {Config{}, coarse};
}

// An input that stays plain beside c16 operands: constant, or the same for all but the channels.
bool stays_plain(const TensorDesc& desc, const RegionOperand& map, int channel) {
  if (desc.constant || desc.rank() < 3) return true;
  for (size_t d = 0; d < map.dim_of.size(); ++d) {
    const int dim = map.dim_of[d];
    if (dim >= 0 && static_cast<int>(d) != channel && desc.dims[static_cast<size_t>(dim)] != 1) return false;
  }
  return true;
}

std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  const auto& program = desc.as<RegionParams>().program;
  std::vector<std::vector<Layout>> result;
  result.emplace_back(desc.inputs.size() + desc.outputs.size(), Layout::kPlain);
  Desc blocked = desc;
  int channel = -1;
  for (size_t k = 0; k < desc.outputs.size(); ++k) {
    if (desc.outputs[k].rank() < 3) return result;
    blocked.outputs[k].layout = Layout::kC16;
    const auto& map = program.outputs[k].map.dim_of;
    for (size_t d = 0; d < map.size(); ++d) channel = map[d] == 1 ? static_cast<int>(d) : channel;
  }
  std::vector<Layout> list;
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    const bool plain = stays_plain(desc.inputs[k], program.inputs[k], channel);
    blocked.inputs[k].layout = plain ? Layout::kPlain : Layout::kC16;
    list.push_back(blocked.inputs[k].layout);
  }
  list.insert(list.end(), desc.outputs.size(), Layout::kC16);
  if (bind(blocked).is_ok()) result.push_back(list);
  return result;
}

Workspace workspace(const Desc& desc, const Config&) {
  const auto bound = bind(desc);
  return {0, bound.is_ok() ? (*bound)->scratch_bytes() : 0};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config& config) {
  auto bound = bind(desc);
  if (!bound.is_ok()) return nullptr;
  // Not make_shared: its tag is a unique symbol, which the ISA levels would share.
  return std::shared_ptr<const Prepared>(new Prepared(cut_units(desc, config, *bound)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  return prepared ? static_cast<const Prepared*>(prepared)->units : 0;
}

Status launch(const Launch& l) {
  const auto* p = static_cast<const Prepared*>(l.prepared);
  if (!p) return internal_error("region_tile: launched without its prepared state");
  const auto extents = p->region->extents();
  for (int64_t unit = l.unit_begin; unit < l.unit_end; ++unit) {
    int64_t begin[kMaxRegionRank] = {}, extent[kMaxRegionRank];
    std::copy(extents.begin(), extents.end(), extent);
    if (p->cut >= 0) {
      int64_t index = unit;
      const int64_t at = index % p->blocks * p->block;
      index /= p->blocks;
      begin[p->cut] = at;
      extent[p->cut] = std::min(p->block, extents[static_cast<size_t>(p->cut)] - at);
      for (int d = p->cut; d-- > 0;) {
        if (p->whole[d]) continue;
        begin[d] = index % extents[static_cast<size_t>(d)];
        extent[d] = 1;
        index /= extents[static_cast<size_t>(d)];
      }
    }
    p->region->run(begin, extent, l.inputs, l.outputs, nullptr, nullptr, l.worker_workspace);
  }
  return Status::ok();
}

}  // namespace

extern const Tactic region_tile;
const Tactic region_tile = {
    .name = "region_tile",
    .version = 1,
    .family = Family::kRegion,
    .supports = supports,
    .configs = configs,
    .layouts = layouts,
    .workspace = workspace,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
