// Fused epilogues: recognition of chains, and the passes over a tile that is still in L1.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/gemm/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/simd.h"

namespace stoker::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool commutes(RegionOp op) {
  return op == RegionOp::kAdd || op == RegionOp::kMul || op == RegionOp::kMax ||
         op == RegionOp::kMin;
}

STOKER_INLINE VecF compute(RegionOp op, VecF value, VecF operand) {
  switch (op) {
    case RegionOp::kAdd: return value + operand;
    case RegionOp::kSub: return value - operand;
    case RegionOp::kMul: return value * operand;
    case RegionOp::kDiv: return value / operand;
    case RegionOp::kMax: return max_second(operand, value);
    case RegionOp::kMin: return min_second(operand, value);
    default: return round_even(value);
  }
}

}  // namespace

// One call of finish(): the tile, its place and the operands.
struct Epilogue::Context {
  const TileValues& tile;
  const TilePlace& place;
  const void* const* inputs;
  void* output;

  float* at(int row, int panel) const {
    return static_cast<float*>(tile.data) + row * tile.row + panel * tile.panel;
  }
  int lanes(int panel) const {
    return static_cast<int>(std::clamp<int64_t>(place.lanes - panel * kLanes, 0, kLanes));
  }
  // Element of the output, and of tensors shaped like it.
  int64_t element(int row, int panel) const {
    return place.offset + row * place.row_stride + panel * place.panel_stride;
  }
  VecF tensor(const Step& step, int row, int panel, int lane_count) const {
    const float* p = static_cast<const float*>(inputs[step.input]) + element(row, panel);
    return lane_count == kLanes || place.zero_tail ? load(p) : load_first(p, lane_count);
  }
  // A constant, scalar or channel operand for one panel (of one row, when channels run along rows).
  VecF vector(const Step& step, int row, int panel, int lane_count, bool in_rows) const {
    if (step.operand == Operand::kConstant) return broadcast(step.value);
    const float* p = static_cast<const float*>(inputs[step.input]);
    if (step.operand == Operand::kScalar) return broadcast(p[0]);
    if (in_rows) return broadcast(p[place.channel + row]);
    p += place.channel + panel * kLanes;
    return lane_count == kLanes ? load(p) : load_first(p, lane_count);
  }
};

Result<Epilogue> Epilogue::make(const EpilogueSite& site) {
  Epilogue e;
  e.accumulator_ = site.accumulator;
  e.channels_in_rows_ = site.channels_in_rows;
  e.low_ = -kInfinity;
  e.high_ = kInfinity;
  const Desc& desc = *site.desc;
  if (logical_count(desc.outputs[0]) == 0) return e;  // nothing will ever be stored
  if (site.program->empty()) {
    e.output_ = desc.outputs[0].dtype;
    if (e.output_ != e.accumulator_) {
      return unsupported("output dtype {} differs from the accumulator's {} without an epilogue",
                         dtype_name(e.output_), dtype_name(e.accumulator_));
    }
    return e;
  }
  if (site.program->has_reduction())
    return unsupported("the epilogue reduces; a tile sees no whole row");
  if (e.parse(site)) return e;
  const TensorDesc& y = desc.outputs[0];
  STOKER_ASSIGN(e.region_,
                BoundRegion::bind(*site.program, y.dims, std::span(desc.inputs).subspan(1),
                                  desc.outputs, site.accumulator));
  return e;
}

bool Epilogue::leaf(const EpilogueSite& site, int value, Step& step) const {
  const auto& instructions = site.program->instructions;
  const RegionInstruction& in = instructions[static_cast<size_t>(value)];
  const RegionInstruction& source =
      in.op == RegionOp::kCast ? instructions[static_cast<size_t>(in.args[0])] : in;
  if (source.op == RegionOp::kConstant) {
    step.operand = Operand::kConstant;
    step.value = static_cast<float>(source.constant);
    // Integer constants: small ones are the same number in every dtype; in integer steps only 0 is
    // met.
    if (in.dtype != DType::kF32) return &in == &source && source.constant == 0;
    return is_float(source.dtype) ? &in == &source
                                  : source.constant >= -128 && source.constant <= 127;
  }
  if (in.op != RegionOp::kInput || in.args[0] <= 0) return false;
  step.input = in.args[0];
  const std::vector<int8_t>& map = site.program->inputs[static_cast<size_t>(step.input)].dim_of;
  const TensorDesc& operand = site.desc->inputs[static_cast<size_t>(step.input) + 1];
  const TensorDesc& y = site.desc->outputs[0];
  if (operand.dtype != step.dtype || operand.packing != Packing::kNone) return false;
  bool scalar = true, channel = operand.layout == Layout::kPlain || y.layout == Layout::kC16;
  bool tensor = operand.dims == y.dims && operand.layout == y.layout;
  for (size_t d = 0; d < map.size(); ++d) {
    tensor = tensor && map[d] == static_cast<int8_t>(d);
    if (map[d] < 0) continue;
    const int64_t extent = operand.dims[static_cast<size_t>(map[d])];
    if (extent == 1) continue;
    scalar = false;
    channel = channel && static_cast<int>(d) == site.channel_dim && extent == y.dims[d];
  }
  step.operand = scalar    ? Operand::kScalar
                 : channel ? Operand::kChannel
                 : tensor  ? Operand::kTensor
                           : Operand::kNone;
  return step.operand != Operand::kNone;
}

// Walks from the result back to the accumulator; every instruction has one operand on the way.
bool Epilogue::parse_chain(const EpilogueSite& site, int value, std::vector<Step>& steps) const {
  while (true) {
    const RegionInstruction& in = site.program->instructions[static_cast<size_t>(value)];
    if (in.op == RegionOp::kInput && in.args[0] == 0) break;
    Step step;
    step.op = in.op;
    step.dtype = in.dtype;
    switch (in.op) {
      case RegionOp::kCast:
      case RegionOp::kRoundEven: value = in.args[0]; break;
      case RegionOp::kAdd:
      case RegionOp::kSub:
      case RegionOp::kMul:
      case RegionOp::kDiv:
      case RegionOp::kMax:
      case RegionOp::kMin:
        if (leaf(site, in.args[1], step)) {
          value = in.args[0];
        } else if (commutes(in.op) && leaf(site, in.args[0], step)) {
          value = in.args[1];
        } else {
          return false;
        }
        break;
      default: return false;
    }
    steps.push_back(step);
  }
  std::reverse(steps.begin(), steps.end());
  return true;
}

bool Epilogue::parse(const EpilogueSite& site) {
  const RegionProgram& program = *site.program;
  const TensorDesc& y = site.desc->outputs[0];
  if (program.outputs.size() != 1 || program.rank != y.rank()) return false;
  for (int d = 0; d < program.rank; ++d) {
    if (program.outputs[0].map.dim_of[static_cast<size_t>(d)] != d) return false;
  }
  std::vector<Step> steps;
  if (!parse_chain(site, program.outputs[0].value, steps)) return false;
  const size_t last = static_cast<size_t>(program.outputs[0].value);
  if (program.instructions[last].dtype != y.dtype) return false;
  return arrange(std::move(steps), y.dtype);
}

// Sorts the steps of a chain into the passes; false when the chain is not of the fused form.
bool Epilogue::arrange(std::vector<Step> steps, DType output) {
  output_ = output;
  size_t begin = 0, end = steps.size();
  if (accumulator_ == DType::kI32) {
    for (; begin < end && steps[begin].dtype == DType::kI32 && steps[begin].op != RegionOp::kCast;
         ++begin) {
      const Step& step = steps[begin];
      const bool add = step.op == RegionOp::kAdd;
      if (step.operand == Operand::kConstant && (add || step.op == RegionOp::kSub))
        continue;  // + 0
      if (!add || step.operand == Operand::kTensor || channels_in_rows_) return false;
      if (integer_bias_.operand != Operand::kNone) return false;
      integer_bias_ = step;
    }
    if (begin == end) return output == DType::kI32;
    if (steps[begin].op != RegionOp::kCast || steps[begin].dtype != DType::kF32) return false;
    ++begin;
  }
  const bool eight_bits = output == DType::kU8 || output == DType::kI8;
  if (!eight_bits && output != DType::kF32) return false;
  if (eight_bits && (begin == end || steps[--end].op != RegionOp::kCast)) return false;
  for (size_t i = begin; i < end; ++i) {
    if (steps[i].dtype != DType::kF32 || steps[i].op == RegionOp::kCast) return false;
  }
  const auto constant_at_end = [&](RegionOp op) {
    return begin < end && steps[end - 1].op == op && steps[end - 1].operand == Operand::kConstant;
  };
  const bool max_last = constant_at_end(RegionOp::kMax);
  if (max_last) low_ = steps[--end].value;
  if (constant_at_end(RegionOp::kMin)) high_ = steps[--end].value;
  if (!max_last && constant_at_end(RegionOp::kMax)) low_ = steps[--end].value;
  if (!(low_ <= high_)) return false;
  if (eight_bits) {
    const float least = output == DType::kU8 ? 0.0f : -128.0f;
    if (low_ < least || high_ > least + 255) return false;
    if (constant_at_end(RegionOp::kAdd)) zero_ = steps[--end].value;
    if (begin == end || steps[--end].op != RegionOp::kRoundEven) return false;
    if (zero_ != std::nearbyint(zero_) || low_ != std::nearbyint(low_) ||
        high_ != std::nearbyint(high_)) {
      return false;
    }
  } else {
    const auto add_at_end = [&](Operand operand) {
      return begin < end && steps[end - 1].op == RegionOp::kAdd &&
             steps[end - 1].operand == operand;
    };
    if (add_at_end(Operand::kTensor)) residual_ = steps[--end];
    if (add_at_end(Operand::kChannel)) bias_ = steps[--end];
  }
  if (accumulator_ == DType::kI32 && begin < end && steps[begin].op == RegionOp::kMul &&
      steps[begin].operand != Operand::kTensor) {
    first_scale_ = steps[begin++];
  }
  middle_.assign(steps.begin() + static_cast<int64_t>(begin),
                 steps.begin() + static_cast<int64_t>(end));
  return true;
}

// What is added to the i32 accumulators of a panel: the terms of the zero points and the bias.
STOKER_INLINE VecI Epilogue::integer_terms(const Context& c, int panel, int lanes) const {
  const VecI terms = c.tile.add ? load(c.tile.add + panel * kLanes) : broadcast(int32_t{0});
  if (integer_bias_.operand == Operand::kNone) return terms;
  const int32_t* bias = static_cast<const int32_t*>(c.inputs[integer_bias_.input]);
  if (integer_bias_.operand == Operand::kScalar) return terms + broadcast(bias[0]);
  return terms + load_first(bias + c.place.channel + panel * kLanes, lanes);
}

// i32 accumulators -> f32 in place, with the integer additions and the first scale.
void Epilogue::convert(const Context& c) const {
  const bool scaled = first_scale_.operand != Operand::kNone;
  for (int p = 0; p < c.tile.panels; ++p) {
    const int lanes = c.lanes(p);
    const VecI add = integer_terms(c, p, lanes);
    for (int r = 0; r < c.tile.rows; ++r) {
      float* at = c.at(r, p);
      const VecI sum = load(reinterpret_cast<int32_t*>(at)) + add;
      if (output_ == DType::kI32) {
        store(reinterpret_cast<int32_t*>(at), sum);
        continue;
      }
      VecF value = to_f32(sum);
      if (scaled) value = value * c.vector(first_scale_, r, p, lanes, channels_in_rows_);
      store(at, value);
    }
  }
}

void Epilogue::apply(const Context& c, const Step& step) const {
  for (int p = 0; p < c.tile.panels; ++p) {
    const int lanes = c.lanes(p);
    VecF operand = broadcast(0.0f);
    const bool per_row = step.operand == Operand::kTensor || channels_in_rows_;
    if (!per_row && step.operand != Operand::kNone) operand = c.vector(step, 0, p, lanes, false);
    for (int r = 0; r < c.tile.rows; ++r) {
      if (step.operand == Operand::kTensor)
        operand = c.tensor(step, r, p, lanes);
      else if (per_row && step.operand != Operand::kNone)
        operand = c.vector(step, r, p, lanes, true);
      store(c.at(r, p), compute(step.op, load(c.at(r, p)), operand));
    }
  }
}

void Epilogue::store_f32(const Context& c) const {
  const VecF low = broadcast(low_), high = broadcast(high_);
  const bool bias = bias_.operand != Operand::kNone, residual = residual_.operand != Operand::kNone;
  float* output = static_cast<float*>(c.output);
  for (int p = 0; p < c.tile.panels; ++p) {
    const int lanes = c.lanes(p);
    if (lanes == 0 && !c.place.zero_tail) continue;
    VecF add = broadcast(0.0f);
    if (bias && !channels_in_rows_) add = c.vector(bias_, 0, p, lanes, false);
    for (int r = 0; r < c.tile.rows; ++r) {
      VecF value = load(c.at(r, p));
      if (bias) value = value + (channels_in_rows_ ? c.vector(bias_, r, p, lanes, true) : add);
      if (residual) value = value + c.tensor(residual_, r, p, lanes);
      value = min_second(high, max_second(low, value));
      float* to = output + c.element(r, p);
      if (lanes == kLanes)
        store(to, value);
      else if (c.place.zero_tail)
        store(to, keep_first(value, lanes));
      else
        store_first(to, value, lanes);
    }
  }
}

void Epilogue::store_i32(const Context& c) const {
  int32_t* output = static_cast<int32_t*>(c.output);
  for (int p = 0; p < c.tile.panels; ++p) {
    const int lanes = c.lanes(p);
    for (int r = 0; r < c.tile.rows; ++r) {
      const int32_t* from = reinterpret_cast<const int32_t*>(c.at(r, p));
      int32_t* to = output + c.element(r, p);
      if (lanes == kLanes) {
        store(to, load(from));
        continue;
      }
      if (c.place.zero_tail) store(to, broadcast(int32_t{0}));
      std::memcpy(to, from, static_cast<size_t>(lanes) * 4);
    }
  }
}

// Stores the low bytes of the first `lanes` lanes.
STOKER_INLINE void store_lanes(uint8_t* to, VecI value, int lanes, bool zero_tail) {
  const __m128i bytes = low_bytes(value);
  if (lanes == kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), bytes);
    return;
  }
  alignas(16) uint8_t kept[kLanes];
  _mm_store_si128(reinterpret_cast<__m128i*>(kept), bytes);
  if (zero_tail) std::memset(to, 0, kLanes);
  std::memcpy(to, kept, static_cast<size_t>(lanes));
}

// The last pass of an 8-bit epilogue: round, add the zero point, clamp. Clamping first gives the
// same, since the bounds are integers. When nothing stands between, the i32 sums are scaled in the
// same pass.
template <bool kFromSums>
void Epilogue::store_8bit(const Context& c) const {
  const VecF low = broadcast(low_ - zero_), high = broadcast(high_ - zero_);
  const VecI zero = broadcast(static_cast<int32_t>(zero_));
  const int64_t from_stride = c.tile.row, to_stride = c.place.row_stride;
  const int rows = c.tile.rows;
  const bool zero_tail = c.place.zero_tail;
  for (int p = 0; p < c.tile.panels; ++p) {
    const int lanes = c.lanes(p);
    VecI add = broadcast(int32_t{0});
    VecF scale = broadcast(1.0f);
    if (kFromSums) {
      add = integer_terms(c, p, lanes);
      if (first_scale_.operand != Operand::kNone)
        scale = c.vector(first_scale_, 0, p, lanes, false);
    }
    const float* from = c.at(0, p);
    uint8_t* to = static_cast<uint8_t*>(c.output) + c.element(0, p);
    for (int r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
      VecF x;
      if (kFromSums)
        x = to_f32(load(reinterpret_cast<const int32_t*>(from)) + add) * scale;
      else
        x = load(from);
      store_lanes(to, to_i32(min_second(high, max_second(low, x))) + zero, lanes, zero_tail);
    }
  }
}

void Epilogue::finish(const TileValues& tile, const TilePlace& place, const void* const* inputs,
                      void* output) const {
  const Context c{tile, place, inputs, output};
  const bool bytes = output_ == DType::kU8 || output_ == DType::kI8;
  if (bytes && accumulator_ == DType::kI32 && middle_.empty() && !channels_in_rows_) {
    return store_8bit<true>(c);
  }
  if (accumulator_ == DType::kI32) convert(c);
  for (const Step& step : middle_) apply(c, step);
  if (output_ == DType::kF32)
    store_f32(c);
  else if (output_ == DType::kI32)
    store_i32(c);
  else
    store_8bit<false>(c);
}

}  // namespace stoker::cpu
