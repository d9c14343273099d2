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
constexpr int64_t kTransposeBlock = 32;
constexpr int64_t kSmallestSplit = 8 << 10;  // below this a second worker costs more than it helps

struct Prepared {
  std::shared_ptr<const BoundRegion> region;
  int64_t blocks[kMaxRegionRank] = {};  // extents of a unit; those of reduced dims are whole
  int64_t units = 0;
};

Result<std::shared_ptr<const BoundRegion>> bind(const Desc& desc) {
  const auto& params = desc.as<RegionParams>();
  return BoundRegion::bind(params.program, params.extents, desc.inputs, desc.outputs);
}

int64_t point_bytes(const Desc& desc) {
  int64_t bits = 0;
  for (const TensorDesc& input : desc.inputs)
    bits = std::max<int64_t>(bits, dtype_bits(input.dtype));
  for (const TensorDesc& output : desc.outputs)
    bits = std::max<int64_t>(bits, dtype_bits(output.dtype));
  return std::max<int64_t>(bits / 8, 1);
}

// A dim other than the innermost one along which a plain input is contiguous: tiles transpose
// there.
int transposed_dim(const Desc& desc, int rank) {
  const auto& program = desc.as<RegionParams>().program;
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    const TensorDesc& input = desc.inputs[k];
    if (input.layout != Layout::kPlain || input.rank() == 0 || input.dims.back() == 1) continue;
    const auto& map = program.inputs[k].dim_of;
    const int d =
        static_cast<int>(std::find(map.begin(), map.end(), input.rank() - 1) - map.begin());
    if (d < rank - 1 && d < program.rank && input.rank() > 1) return d;
  }
  return -1;
}

Prepared cut_units(const Desc& desc, const Config& config,
                   std::shared_ptr<const BoundRegion> region) {
  Prepared p;
  const auto& program = desc.as<RegionParams>().program;
  const auto extents = region->extents();
  const int rank = region->rank();
  const auto extent = [&](int d) { return extents[static_cast<size_t>(d)]; };
  const auto reduced = [&](int d) {
    return program.has_reduction() && d < program.rank &&
           program.reduced[static_cast<size_t>(d)] != 0;
  };
  const int64_t target = config.values[0] > 0 ? int64_t{config.values[0]} << 10 : kDefaultUnitBytes;
  int64_t room = target / point_bytes(desc);
  int64_t points = 1;
  for (int d = 0; d < rank; ++d) {
    p.blocks[d] = reduced(d) ? extent(d) : 1;
    room /= std::max<int64_t>(p.blocks[d], 1);
    if (!reduced(d) && extent(d) == 0) return p;
    points *= std::max<int64_t>(extent(d), 1);
  }
  const int across = program.has_reduction() ? -1 : transposed_dim(desc, rank);
  if (across >= 0) p.blocks[across] = std::min(extent(across), kTransposeBlock);
  if (across >= 0) room /= p.blocks[across];
  // The other dims grow from the inside out, each one whole before the next.
  bool grows = true;
  for (int d = rank; d-- > 0;) {
    if (reduced(d) || d == across || !grows) continue;
    p.blocks[d] = std::clamp<int64_t>(room, 1, extent(d));
    if (d == rank - 1 && p.blocks[d] < extent(d))
      p.blocks[d] = std::min(round_up(p.blocks[d], kLaneCount), extent(d));
    grows = p.blocks[d] == extent(d);
    room /= p.blocks[d];
  }
  p.units = 1;
  for (int d = 0; d < rank; ++d)
    p.units *= reduced(d) ? 1 : (extent(d) + p.blocks[d] - 1) / p.blocks[d];
  for (int d = 0; d < rank && p.units == 1 && points * point_bytes(desc) >= kSmallestSplit; ++d) {
    if (reduced(d) || extent(d) < 2) continue;
    p.blocks[d] = (extent(d) + 1) / 2;  // two workers can share it
    p.units = 2;
  }
  p.region = std::move(region);
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
    if (dim >= 0 && static_cast<int>(d) != channel && desc.dims[static_cast<size_t>(dim)] != 1)
      return false;
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
  if (!p->region) return Status::ok();  // nothing to compute
  const auto extents = p->region->extents();
  for (int64_t unit = l.unit_begin; unit < l.unit_end; ++unit) {
    int64_t begin[kMaxRegionRank] = {}, extent[kMaxRegionRank] = {};
    int64_t index = unit;
    for (int d = p->region->rank(); d-- > 0;) {
      const int64_t whole = extents[static_cast<size_t>(d)], block = p->blocks[d];
      const int64_t count = block == 0 ? 1 : (whole + block - 1) / block;
      begin[d] = index % count * block;
      index /= count;
      extent[d] = std::min(block, whole - begin[d]);
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
