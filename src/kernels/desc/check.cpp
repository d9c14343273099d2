// The shape-dependent half of check_desc: every extent, window, slice and index map at the bound
// shape.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/check.h"

#include <algorithm>

#include "base/status.h"
#include "kernels/desc/attention.h"
#include "kernels/desc/recurrent.h"
#include "kernels/desc/resize.h"
#include "stoker/tensor.h"

namespace stoker {
namespace {

using Extents = std::vector<int64_t>;

constexpr int64_t kMaxExtent = int64_t{1} << 40;
constexpr int64_t kMaxElements = int64_t{1} << 46;
constexpr int64_t kMaxKernel = INT32_MAX;

// Empty dims count as 1, so that strides cannot overflow either.
Status check_extents(const Extents& dims, bool c16) {
  int64_t count = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t extent = dims[d];
    if (extent < 0 || extent > kMaxExtent) {
      return invalid_argument("extent {} of dim {} is outside of 0..2^40", extent, d);
    }
    if (c16 && d == 1) extent = (extent + kLaneCount - 1) / kLaneCount * kLaneCount;
    if (extent == 0) extent = 1;
    if (__builtin_mul_overflow(count, extent, &count) || count > kMaxElements) {
      return invalid_argument("shape {} has more than 2^46 elements", shape_text(dims));
    }
  }
  return Status::ok();
}

Status check_sizes(const Desc& desc) {
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    const TensorDesc& operand = desc.inputs[i];
    STOKER_TRY(
        check_extents(operand.dims, operand.layout == Layout::kC16).at(fmt::format("input {}", i)));
  }
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    const TensorDesc& operand = desc.outputs[i];
    STOKER_TRY(check_extents(operand.dims, operand.layout == Layout::kC16)
                   .at(fmt::format("output {}", i)));
  }
  return Status::ok();
}

Status expect_dims(const char* what, const Extents& found, const Extents& expected) {
  if (found == expected) return Status::ok();
  return invalid_argument("{} is {}, expected {}", what, shape_text(found), shape_text(expected));
}

// One operand of a region over `extents`. An output dim may be 1 under a reduced dim only, since
// else several points would write one element.
Status check_map(const RegionProgram& program, const RegionOperand& map, const Extents& dims,
                 const Extents& extents, bool is_output) {
  std::vector<bool> mapped(dims.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    const bool reduced = program.reduced[d] != 0;
    if (map.dim_of[d] < 0) {
      if (is_output && !reduced && extents[d] > 1) {
        return invalid_argument("iteration dim {} of extent {} is missing from an output", d,
                                extents[d]);
      }
      continue;
    }
    const size_t k = static_cast<size_t>(map.dim_of[d]);
    mapped[k] = true;
    const bool broadcast = dims[k] == 1 && (!is_output || reduced);
    if (dims[k] != extents[d] && !broadcast) {
      return invalid_argument("dim {} has extent {}, iteration dim {} has {}", k, dims[k], d,
                              extents[d]);
    }
  }
  for (size_t k = 0; k < dims.size(); ++k) {
    if (!mapped[k] && dims[k] != 1) {
      return invalid_argument("dim {} of extent {} has no iteration dim", k, dims[k]);
    }
  }
  return Status::ok();
}

Status check_maps(const Desc& desc, const RegionProgram& program, const Extents& extents,
                  size_t first_input) {
  STOKER_TRY(check_extents(extents, false).at("iteration space"));
  const size_t skipped = first_input == 0 ? 0 : 1;  // the accumulator
  for (size_t k = skipped; k < program.inputs.size(); ++k) {
    const Extents& dims = desc.inputs[first_input + k].dims;
    STOKER_TRY(check_map(program, program.inputs[k], dims, extents, false)
                   .at(fmt::format("region input {}", k)));
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    STOKER_TRY(check_map(program, program.outputs[k].map, desc.outputs[k].dims, extents, true)
                   .at(fmt::format("region output {}", k)));
  }
  return Status::ok();
}

Status check_result(const Desc& desc, const RegionProgram& epilogue, const Extents& y) {
  STOKER_TRY(check_extents(y, false).at("result"));
  if (epilogue.empty()) return expect_dims("the output", desc.outputs[0].dims, y);
  return check_maps(desc, epilogue, y, 1).at("epilogue");
}

// numpy's rule for the batch dims of two operands, whose last two dims are left out.
Result<Extents> broadcast_batch(const Extents& a, const Extents& b) {
  const size_t longest = std::max(a.size(), b.size());
  const size_t rank = longest < 2 ? 0 : longest - 2;
  Extents batch(rank);
  for (size_t i = 0; i < rank; ++i) {  // from the last batch dim outwards
    const int64_t x = i + 2 < a.size() ? a[a.size() - 3 - i] : 1;
    const int64_t y = i + 2 < b.size() ? b[b.size() - 3 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return invalid_argument("batch extents {} and {} of {} and {} do not broadcast", x, y,
                              shape_text(a), shape_text(b));
    }
    batch[rank - 1 - i] = x == 1 ? y : x;
  }
  return batch;
}

Status check_zero_input(const Desc& desc, int32_t input) {
  if (input < 0) return Status::ok();
  const Extents& dims = desc.inputs[static_cast<size_t>(input)].dims;
  for (const int64_t extent : dims) {
    if (extent != 1)
      return invalid_argument("a zero point {}, expected one element", shape_text(dims));
  }
  return Status::ok();
}

Status check_family(const Desc& desc, const GemmParams& params) {
  STOKER_TRY(check_zero_input(desc, params.a_zero_input));
  const Extents& a = desc.inputs[0].dims;
  const Extents& b = desc.inputs[1].dims;
  const int64_t m = a[a.size() - (params.transpose_a ? 1 : 2)];
  const int64_t k = a[a.size() - (params.transpose_a ? 2 : 1)];
  const int64_t k_of_b = b[b.size() - (params.transpose_b ? 1 : 2)];
  const int64_t n = b[b.size() - (params.transpose_b ? 2 : 1)];
  if (k != k_of_b) {
    return invalid_argument("inner extents {} and {} of {} and {} differ", k, k_of_b, shape_text(a),
                            shape_text(b));
  }
  STOKER_ASSIGN(Extents y, broadcast_batch(a, b));
  y.push_back(m);
  y.push_back(n);
  return check_result(desc, params.epilogue, y);
}

struct Window {
  int64_t input, kernel, stride, dilation, pad_begin, pad_end;
};

// Number of window positions; 0 when none fits. A pool's window may reach beyond the padded input
// by less than a stride. All values are at most 2^40, so nothing overflows
// except the product.
Result<int64_t> window_count(const Window& w, bool round_up, bool pool) {
  int64_t reach = 0;
  if (w.kernel < 1 || w.kernel > kMaxKernel) {
    return invalid_argument("kernel extent {} is outside of 1..{}", w.kernel, kMaxKernel);
  }
  if (__builtin_mul_overflow(w.dilation, w.kernel - 1, &reach)) {
    return invalid_argument("kernel extent {} with dilation {} overflows", w.kernel, w.dilation);
  }
  const int64_t room = w.input + w.pad_begin + w.pad_end - reach - 1;
  if (room < 0) return pool && room > -w.stride ? int64_t{1} : int64_t{0};
  return (room + (round_up ? w.stride - 1 : 0)) / w.stride + 1;
}

std::vector<Window> windows_of(Family family, const Extents& x, const Extents& kernel,
                               const Extents& strides, const Extents& dilations,
                               const Extents& pads, ConvParams::AutoPad auto_pad) {
  const Extents spatial(x.begin() + 2, x.end());
  const Extents resolved =
      resolve_pads(family, auto_pad, pads, spatial, kernel, strides, dilations);
  std::vector<Window> windows;
  for (size_t d = 0; d < spatial.size(); ++d) {
    windows.push_back({spatial[d], kernel[d], strides[d], dilations[d], resolved[d],
                       resolved[spatial.size() + d]});
  }
  return windows;
}

Status check_kernel(const Extents& kernel) {
  for (const int64_t extent : kernel) {
    if (extent < 1 || extent > kMaxKernel) {
      return invalid_argument("kernel extent {} is outside of 1..{}", extent, kMaxKernel);
    }
  }
  return Status::ok();
}

// All numbers are below 2^41, so that only the products can overflow.
Status check_transposed(const Desc& desc, const ConvParams& params) {
  const Extents& x = desc.inputs[0].dims;
  const Extents& w = desc.inputs[1].dims;
  if (x[1] != w[0] || x[1] % params.group != 0) {
    return invalid_argument("{} input channels, a weight {} and group {} do not agree", x[1],
                            shape_text(w), params.group);
  }
  STOKER_TRY(check_kernel(Extents(w.begin() + 2, w.end())));
  Extents y{x[0], 0};
  bool overflows = __builtin_mul_overflow(w[1], params.group, &y[1]);
  for (size_t d = 2; d < x.size(); ++d) {
    if (params.pads[d - 2] < 0) return invalid_argument("a negative pad {}", params.pads[d - 2]);
    int64_t steps = 0, reach = 0;
    overflows = overflows || __builtin_mul_overflow(x[d] - 1, params.strides[d - 2], &steps) ||
                __builtin_mul_overflow(w[d] - 1, params.dilations[d - 2], &reach) ||
                __builtin_add_overflow(steps, reach, &steps);
    y.push_back(steps + 1 - params.pads[d - 2] - params.pads[d - 4 + x.size()]);
  }
  if (overflows) return invalid_argument("the output of {} overflows", shape_text(x));
  return check_result(desc, params.epilogue, y);
}

Status check_family(const Desc& desc, const ConvParams& params) {
  STOKER_TRY(check_zero_input(desc, params.x_zero_input));
  const Extents& x = desc.inputs[0].dims;
  const Extents& w = desc.inputs[1].dims;
  if (params.transposed) return check_transposed(desc, params);
  const int64_t channels = x[1], filters = w[0], group = params.group;
  if (channels % group != 0 || filters % group != 0 || w[1] != channels / group) {
    return invalid_argument(
        "{} input channels, {} filters over {} channels and group {} do not agree", channels,
        filters, w[1], group);
  }
  const Extents kernel(w.begin() + 2, w.end());
  STOKER_TRY(check_kernel(kernel));
  Extents y{x[0], filters};
  for (const Window& window : windows_of(Family::kConv, x, kernel, params.strides, params.dilations,
                                         params.pads, params.auto_pad)) {
    STOKER_ASSIGN(const int64_t extent, window_count(window, false, false));
    y.push_back(extent);
  }
  return check_result(desc, params.epilogue, y);
}

Status check_family(const Desc& desc, const RegionParams& params) {
  return check_maps(desc, params.program, params.extents, 0);
}

Status check_family(const Desc& desc, const PoolParams& params) {
  const Extents& x = desc.inputs[0].dims;
  const Extents& y = desc.outputs[0].dims;
  if (params.global) {
    Extents expected{x[0], x[1]};
    expected.resize(x.size(), 1);
    return expect_dims("the output", y, expected);
  }
  if (y[0] != x[0] || y[1] != x[1]) {
    return invalid_argument("the output is {}, its first dims must be those of {}", shape_text(y),
                            shape_text(x));
  }
  const auto windows = windows_of(Family::kPool, x, params.kernel, params.strides, params.dilations,
                                  params.pads, params.auto_pad);
  for (size_t d = 0; d < windows.size(); ++d) {
    const Window& window = windows[d];
    STOKER_ASSIGN(const int64_t most, window_count(window, params.ceil_mode, true));
    // Opsets disagree on whether a last window may begin in the padding behind the input.
    const bool begins_behind =
        most > 0 && (most - 1) * window.stride >= window.input + window.pad_begin;
    const int64_t least = params.ceil_mode && begins_behind ? most - 1 : most;
    if (y[d + 2] != most && y[d + 2] != least) {
      return invalid_argument("spatial extent {} of dim {}, expected {}", y[d + 2], d + 2, least);
    }
  }
  return Status::ok();
}

Status check_concat(const Desc& desc, size_t axis) {
  const Extents& y = desc.outputs[0].dims;
  int64_t sum = 0;
  for (const TensorDesc& input : desc.inputs) {
    for (size_t d = 0; d < y.size(); ++d) {
      if (d == axis || input.dims[d] == y[d]) continue;
      return invalid_argument("input {} does not fit into {} along dim {}", shape_text(input.dims),
                              shape_text(y), d);
    }
    sum += input.dims[axis];  // at most 2^16 inputs of 2^40
  }
  if (sum == y[axis]) return Status::ok();
  return invalid_argument("the inputs add up to {} along dim {}, the output has {}", sum, axis,
                          y[axis]);
}

Status check_family(const Desc& desc, const CopyParams& params) {
  if (params.concat_axis >= 0) return check_concat(desc, static_cast<size_t>(params.concat_axis));
  const Extents& x = desc.inputs[0].dims;
  const Extents& y = desc.outputs[0].dims;
  for (size_t d = 0; d < y.size(); ++d) {
    const int64_t extent = x[static_cast<size_t>(params.perm[d])];
    const bool sliced = !params.starts.empty() || !params.steps.empty();
    if (!sliced && y[d] != extent) {
      return invalid_argument("output dim {} has extent {}, input dim {} has {}", d, y[d],
                              params.perm[d], extent);
    }
    if (y[d] == 0) continue;
    const int64_t start = params.starts.empty() ? 0 : params.starts[d];
    const int64_t step = params.steps.empty() ? 1 : params.steps[d];
    int64_t last = 0;
    const bool overflows =
        __builtin_mul_overflow(y[d] - 1, step, &last) || __builtin_add_overflow(last, start, &last);
    if (overflows || start < 0 || start >= extent || last < 0 || last >= extent) {
      return invalid_argument(
          "the slice of {} elements from {} by {} leaves input dim {} of extent {}", y[d], start,
          step, params.perm[d], extent);
    }
  }
  return Status::ok();
}

Status check_family(const Desc& desc, const GatherParams& params) {
  const Extents& data = desc.inputs[0].dims;
  const Extents& indices = desc.inputs[1].dims;
  Extents expected(data.begin(), data.begin() + params.axis);
  expected.insert(expected.end(), indices.begin(), indices.end());
  expected.insert(expected.end(), data.begin() + params.axis + 1, data.end());
  return expect_dims("the output", desc.outputs[0].dims, expected);
}

Status check_family(const Desc& desc, const AttentionParams&) {
  STOKER_TRY(check_attention(desc));
  const AttentionExtents e = attention_extents(desc);
  return check_extents({e.batch, e.q_heads, e.q_length, e.kv_length}, false).at("the scores");
}

Status check_family(const Desc& desc, const ResizeParams&) { return check_resize(desc); }

Status check_family(const Desc& desc, const RecurrentParams&) {
  STOKER_TRY(check_recurrent(desc));
  const RecurrentExtents e = recurrent_extents(desc);
  const int64_t padded = (e.hidden + kLaneCount - 1) / kLaneCount * kLaneCount;
  return check_extents({e.steps, e.batch, e.directions, e.gates, padded}, false).at("the gates");
}

Status check_family(const Desc&, const FallbackParams&) { return Status::ok(); }

}  // namespace

Status check_desc(const Desc& desc) {
  STOKER_TRY(check_desc_static(desc));
  const char* family = family_name(desc.family());
  STOKER_TRY(check_sizes(desc).at(family));
  return std::visit([&](const auto& params) { return check_family(desc, params); }, desc.params)
      .at(family);
}

}  // namespace stoker
