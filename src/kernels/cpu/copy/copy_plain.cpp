// Tactic copy_plain: transpose, slice, concatenation and changes between the plain and the c16
// layout.
//   form     a desc becomes a list of strided segments; each is cut into blocks of about 64 KiB
//   inner    contiguous on both sides: memcpy; contiguous along different dims: blocked
//   transposition bound    memory: every element is read and written once limits   elements of 1,
//   2, 4, 8 or 16 bytes; when both sides are c16, channels stay channels
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/cpu/copy/transpose.h"
#include "kernels/tactic.h"

namespace stoker::cpu {
namespace {

constexpr int kMaxDims = 10;
constexpr int64_t kUnitBytes = 64 << 10;
constexpr int64_t kTransposeRows = 64;

struct Dim {
  int64_t extent = 1, in = 0, out = 0;  // strides in elements
};

struct Segment {
  int input = -1;           // -1: zeros
  int64_t in = 0, out = 0;  // offsets of the first element
  std::vector<Dim> dims;
  int across = -1;  // dim along which the input is contiguous, when it is not the last one
  int64_t blocks[kMaxDims] = {};  // block extents
  int64_t first_unit = 0, units = 0;
};

struct Prepared {
  std::vector<Segment> segments;
  int64_t units = 0;
};

struct Wide {  // 16 bytes, for c128
  uint64_t words[2];
};

bool is_c16(const TensorDesc& desc) { return desc.layout == Layout::kC16 && desc.rank() >= 2; }

// Element strides per logical dim; of c16 at dim 1 the stride between channel groups.
std::vector<int64_t> strides_of(const TensorDesc& desc) {
  std::vector<int64_t> strides(desc.dims.size());
  int64_t next = is_c16(desc) ? kLaneCount : 1;
  for (size_t d = desc.dims.size(); d-- > 0;) {
    strides[d] = next;
    next *= is_c16(desc) && d == 1 ? (desc.dims[1] + kLaneCount - 1) / kLaneCount : desc.dims[d];
  }
  return strides;
}

int64_t channel_offset(const TensorDesc& desc, int64_t stride, int64_t channel) {
  return is_c16(desc) ? channel / kLaneCount * stride + channel % kLaneCount : channel * stride;
}

// Channels that lie in one group on both sides.
struct ChannelRun {
  int64_t in, out, length, in_step;
};

Status check(const Desc& desc) {
  const auto& p = desc.as<CopyParams>();
  if (desc.inputs.empty() || desc.outputs.size() != 1)
    return unsupported("a copy has one output and some inputs");
  const TensorDesc& y = desc.outputs[0];
  const int bits = dtype_bits(y.dtype);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) {
    return unsupported("elements of dtype {} have no whole bytes", dtype_name(y.dtype));
  }
  if (y.rank() > kMaxDims - 1) return unsupported("rank {} is above {}", y.rank(), kMaxDims - 1);
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    const TensorDesc& x = desc.inputs[k];
    if (x.packing != Packing::kNone)
      return unsupported("input {} is packed as {}", k, packing_name(x.packing));
    if (x.dtype != y.dtype)
      return unsupported("input {} is {}, the output {}", k, dtype_name(x.dtype),
                         dtype_name(y.dtype));
    if (x.rank() != y.rank())
      return unsupported("input {} has rank {}, the output {}", k, x.rank(), y.rank());
    if (is_c16(x) && is_c16(y) && !p.perm.empty() && p.perm[1] != 1) {
      return unsupported("the channels of layout c16 would move to another dim");
    }
  }
  return Status::ok();
}

void add_segment(Prepared& prepared, Segment segment) {
  std::vector<Dim> dims;
  for (const Dim& dim : segment.dims) {
    if (dim.extent == 0) return;
    if (dim.extent == 1) continue;
    if (!dims.empty() && dims.back().in == dim.in * dim.extent &&
        dims.back().out == dim.out * dim.extent) {
      dims.back() = {dims.back().extent * dim.extent, dim.in, dim.out};
    } else {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) dims.push_back({1, 1, 1});
  segment.dims = std::move(dims);
  prepared.segments.push_back(std::move(segment));
}

std::vector<ChannelRun> channel_runs(const TensorDesc& x, const TensorDesc& y, int64_t count,
                                     int64_t in_stride, int64_t in_start, int64_t step,
                                     int64_t out_stride, int64_t out_start) {
  std::vector<ChannelRun> runs;
  for (int64_t c = 0; c < count;) {
    const int64_t from = in_start + c * step, to = out_start + c;
    int64_t length = count - c;
    if (is_c16(y)) length = std::min(length, kLaneCount - to % kLaneCount);
    if (is_c16(x)) length = std::min(length, step == 1 ? kLaneCount - from % kLaneCount : 1);
    runs.push_back({channel_offset(x, in_stride, from), channel_offset(y, out_stride, to), length,
                    is_c16(x) ? 1 : in_stride * step});
    c += length;
  }
  return runs;
}

void add_input(Prepared& prepared, const Desc& desc, size_t k, int64_t concat_start) {
  const auto& p = desc.as<CopyParams>();
  const TensorDesc &x = desc.inputs[k], &y = desc.outputs[0];
  const bool concat = p.concat_axis >= 0;
  const std::vector<int64_t> xs = strides_of(x), ys = strides_of(y);
  Segment base;
  base.input = static_cast<int>(k);
  int channel = is_c16(y) ? 1 : -1;
  std::vector<Dim> dims;
  Dim along;  // the channel dim: start and step in `in`, unused elsewhere
  int64_t channel_in_stride = 0, channel_start = 0, channel_step = 1;
  for (int i = 0; i < y.rank(); ++i) {
    const size_t d = static_cast<size_t>(i);
    const size_t from = concat || p.perm.empty() ? d : static_cast<size_t>(p.perm[d]);
    const int64_t start = concat || p.starts.empty() ? 0 : p.starts[d],
                  step = concat || p.steps.empty() ? 1 : p.steps[d];
    const int64_t extent = concat ? x.dims[d] : y.dims[d];
    if (is_c16(x) && from == 1) channel = i;
    if (i == channel || (is_c16(y) && i == 1)) {
      channel_in_stride = xs[from], channel_start = start, channel_step = step;
      along = {extent, 0, 0};
      continue;
    }
    base.in += start * xs[from];
    base.out += concat && i == p.concat_axis ? concat_start * ys[d] : 0;
    dims.push_back({extent, step * xs[from], ys[d]});
  }
  base.dims = dims;
  if (channel < 0) return add_segment(prepared, base);
  const size_t c = static_cast<size_t>(channel);
  const int64_t out_start = concat && p.concat_axis == channel ? concat_start : 0;
  const auto runs = channel_runs(x, y, along.extent, channel_in_stride, channel_start, channel_step,
                                 ys[c], out_start);
  const int64_t out_step = is_c16(y) ? 1 : ys[c];
  const size_t outer = std::min<size_t>(c, dims.size());
  for (size_t r = 0; r < runs.size();) {
    // Equal runs at equal distances form one more dim.
    size_t last = r + 1;
    const int64_t in_step = last < runs.size() ? runs[last].in - runs[r].in : 0;
    const int64_t group_step = last < runs.size() ? runs[last].out - runs[r].out : 0;
    while (last < runs.size() && runs[last].length == runs[r].length &&
           runs[last].in - runs[last - 1].in == in_step &&
           runs[last].out - runs[last - 1].out == group_step) {
      ++last;
    }
    Segment segment = base;
    segment.in += runs[r].in;
    segment.out += runs[r].out;
    segment.dims.insert(segment.dims.begin() + static_cast<int64_t>(outer),
                        {static_cast<int64_t>(last - r), in_step, group_step});
    const Dim lane{runs[r].length, runs[r].in_step, out_step};
    if (is_c16(y))
      segment.dims.push_back(lane);
    else
      segment.dims.insert(segment.dims.begin() + static_cast<int64_t>(outer) + 1, lane);
    add_segment(prepared, segment);
    r = last;
  }
}

// The lanes past the last channel.
void add_zeros(Prepared& prepared, const TensorDesc& y) {
  if (!is_c16(y) || y.dims[1] % kLaneCount == 0) return;
  const std::vector<int64_t> ys = strides_of(y);
  Segment segment;
  segment.out = channel_offset(y, ys[1], y.dims[1]);
  for (size_t d = 0; d < y.dims.size(); ++d) {
    if (d != 1) segment.dims.push_back({y.dims[d], 0, ys[d]});
  }
  segment.dims.push_back({kLaneCount - y.dims[1] % kLaneCount, 0, 1});
  add_segment(prepared, segment);
}

// Block extents: both contiguous dims get enough for whole cache lines, then the others grow from
// the inside.
void cut_segment(Segment& s, int64_t element_bytes) {
  const int last = static_cast<int>(s.dims.size()) - 1;
  const Dim& inner = s.dims[static_cast<size_t>(last)];
  if (s.input >= 0 && inner.in != 1 && inner.out == 1) {
    for (int d = 0; d < last; ++d) {
      if (s.dims[static_cast<size_t>(d)].in == 1) s.across = d;
    }
  }
  int64_t room = std::max<int64_t>(kUnitBytes / element_bytes, 1);
  if (s.across >= 0) {
    s.blocks[s.across] = std::min(s.dims[static_cast<size_t>(s.across)].extent, kTransposeRows);
    room = std::max<int64_t>(room / s.blocks[s.across], 1);
  }
  for (int d = last; d >= 0; --d) {
    if (d == s.across) continue;
    s.blocks[d] = std::min(s.dims[static_cast<size_t>(d)].extent, room);
    room = std::max<int64_t>(
        s.blocks[d] < s.dims[static_cast<size_t>(d)].extent ? 1 : room / s.blocks[d], 1);
  }
  if (s.across >= 0) {
    int64_t& rows = s.blocks[s.across];
    rows = std::min(s.dims[static_cast<size_t>(s.across)].extent, rows * room);
  }
  s.units = 1;
  for (int d = 0; d <= last; ++d) {
    s.units *= (s.dims[static_cast<size_t>(d)].extent + s.blocks[d] - 1) / s.blocks[d];
  }
}

Prepared build(const Desc& desc) {
  Prepared prepared;
  int64_t at = 0;
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    add_input(prepared, desc, k, at);
    const int64_t axis = desc.as<CopyParams>().concat_axis;
    if (axis >= 0) at += desc.inputs[k].dims[static_cast<size_t>(axis)];
  }
  add_zeros(prepared, desc.outputs[0]);
  for (Segment& segment : prepared.segments) {
    cut_segment(segment, dtype_bits(desc.outputs[0].dtype) / 8);
    segment.first_unit = prepared.units;
    prepared.units += segment.units;
  }
  return prepared;
}

// One row of the inner dim, or one block of (across, inner).
template <class T>
void copy_inner(const Segment& s, const int64_t* extents, const T* src, T* dst) {
  const size_t last = s.dims.size() - 1;
  const Dim& inner = s.dims[last];
  const int64_t count = extents[last];
  if (!src) {
    if (inner.out == 1) {
      std::memset(static_cast<void*>(dst), 0, static_cast<size_t>(count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) dst[i * inner.out] = T{};
    }
  } else if (s.across >= 0) {
    const Dim& rows = s.dims[static_cast<size_t>(s.across)];
    transpose_block<T>(extents[s.across], count, src, inner.in, dst, rows.out);
  } else if (inner.in == 1 && inner.out == 1) {
    std::memcpy(static_cast<void*>(dst), src, static_cast<size_t>(count) * sizeof(T));
  } else if (inner.out == 1) {
    for (int64_t i = 0; i < count; ++i) dst[i] = src[i * inner.in];
  } else {
    for (int64_t i = 0; i < count; ++i) dst[i * inner.out] = src[i * inner.in];
  }
}

template <class T>
void copy_unit(const Segment& s, int64_t unit, const void* const* inputs, void* output) {
  const int rank = static_cast<int>(s.dims.size());
  const T* src = s.input >= 0 ? static_cast<const T*>(inputs[s.input]) + s.in : nullptr;
  T* dst = static_cast<T*>(output) + s.out;
  int64_t extents[kMaxDims], at[kMaxDims] = {};
  for (int d = rank; d-- > 0;) {
    const Dim& dim = s.dims[static_cast<size_t>(d)];
    const int64_t blocks = (dim.extent + s.blocks[d] - 1) / s.blocks[d];
    const int64_t begin = unit % blocks * s.blocks[d];
    unit /= blocks;
    extents[d] = std::min(s.blocks[d], dim.extent - begin);
    if (src) src += begin * dim.in;
    dst += begin * dim.out;
  }
  while (true) {
    copy_inner<T>(s, extents, src, dst);
    int d = rank - 2;
    for (; d >= 0; --d) {
      if (d == s.across) continue;
      const Dim& dim = s.dims[static_cast<size_t>(d)];
      if (src) src += dim.in;
      dst += dim.out;
      if (++at[d] < extents[d]) break;
      if (src) src -= dim.in * extents[d];
      dst -= dim.out * extents[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

using CopyUnit = void (*)(const Segment&, int64_t, const void* const*, void*);

CopyUnit copy_function(int bits) {
  switch (bits) {
    case 8: return copy_unit<uint8_t>;
    case 16: return copy_unit<uint16_t>;
    case 32: return copy_unit<uint32_t>;
    case 64: return copy_unit<uint64_t>;
    default: return copy_unit<Wide>;
  }
}

std::vector<std::vector<Layout>> layouts(const Desc& desc) {
  const auto& p = desc.as<CopyParams>();
  const size_t operands = desc.inputs.size() + 1;
  std::vector<std::vector<Layout>> result{std::vector<Layout>(operands, Layout::kPlain)};
  const int rank = desc.outputs[0].rank();
  const bool channels_stay = p.perm.empty() || p.concat_axis >= 0 || (rank > 1 && p.perm[1] == 1);
  if (rank < 3 || !channels_stay) return result;
  result.emplace_back(operands, Layout::kC16);
  if (desc.inputs.size() == 1) {
    result.push_back({Layout::kPlain, Layout::kC16});
    result.push_back({Layout::kC16, Layout::kPlain});
  }
  return result;
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config&) {
  return std::shared_ptr<const Prepared>(new Prepared(build(desc)));
}

int64_t units(const Desc&, const Config&, const void* prepared, int) {
  return static_cast<const Prepared*>(prepared)->units;
}

Status launch(const Launch& l) {
  const auto& prepared = *static_cast<const Prepared*>(l.prepared);
  const CopyUnit copy = copy_function(dtype_bits(l.desc->outputs[0].dtype));
  for (const Segment& s : prepared.segments) {
    const int64_t begin = std::max(l.unit_begin, s.first_unit),
                  end = std::min(l.unit_end, s.first_unit + s.units);
    for (int64_t unit = begin; unit < end; ++unit)
      copy(s, unit - s.first_unit, l.inputs, l.outputs[0]);
  }
  return Status::ok();
}

}  // namespace

extern const Tactic copy_plain;
const Tactic copy_plain = {
    .name = "copy_plain",
    .version = 1,
    .family = Family::kCopy,
    .supports = check,
    .layouts = layouts,
    .prepare = prepare,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu
