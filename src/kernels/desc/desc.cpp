// Descs: canonical keys, work estimates and padding rules.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/desc.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "base/status.h"
#include "kernels/desc/attention.h"
#include "kernels/desc/recurrent.h"
#include "kernels/desc/resize.h"

namespace stoker {
namespace {

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += fmt::format("{}{}", i ? "," : "", values[i]);
  return text + "]";
}

const char* auto_pad_name(ConvParams::AutoPad pad) {
  switch (pad) {
    case ConvParams::AutoPad::kExplicit: return "explicit";
    case ConvParams::AutoPad::kSameUpper: return "same_upper";
    case ConvParams::AutoPad::kSameLower: return "same_lower";
    case ConvParams::AutoPad::kValid: return "valid";
  }
  return "?";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

struct AttributeText {
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}f", v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(DType v) const { return std::string(dtype_name(v)); }
  std::string operator()(const std::vector<int64_t>& v) const { return list_text(v); }
  std::string operator()(const std::vector<double>& v) const { return list_text(v) + "f"; }
  std::string operator()(const std::vector<std::string>& v) const {
    std::string text = "[";
    for (const std::string& s : v) text += quoted(s) + ",";
    return text + "]";
  }
  std::string operator()(const Tensor& v) const { return "tensor:" + content_hash(v); }
};

std::string zero_input_text(int32_t input) { return input < 0 ? "" : fmt::format("@{}", input); }

struct ParamsText {
  std::string operator()(const GemmParams& p) const {
    return fmt::format("ta={} tb={} za={}{} zb={} epilogue=({})", p.transpose_a, p.transpose_b,
                       p.a_zero, zero_input_text(p.a_zero_input), p.b_zero,
                       region_text(p.epilogue));
  }
  std::string operator()(const ConvParams& p) const {
    return fmt::format("{}s={} d={} p={} g={} auto={} zx={}{} zw={} epilogue=({})",
                       p.transposed ? "transposed " : "", list_text(p.strides),
                       list_text(p.dilations), list_text(p.pads), p.group,
                       auto_pad_name(p.auto_pad), p.x_zero, zero_input_text(p.x_zero_input),
                       p.w_zero, region_text(p.epilogue));
  }
  std::string operator()(const RegionParams& p) const {
    return fmt::format("extents={} ({})", list_text(p.extents), region_text(p.program));
  }
  std::string operator()(const PoolParams& p) const {
    return fmt::format("{} k={} s={} d={} p={} auto={} ceil={} pad={} global={}",
                       p.kind == PoolParams::Kind::kMax ? "max" : "average", list_text(p.kernel),
                       list_text(p.strides), list_text(p.dilations), list_text(p.pads),
                       auto_pad_name(p.auto_pad), p.ceil_mode, p.count_include_pad, p.global);
  }
  std::string operator()(const CopyParams& p) const {
    return fmt::format("perm={} starts={} steps={} concat={}", list_text(p.perm),
                       list_text(p.starts), list_text(p.steps), p.concat_axis);
  }
  std::string operator()(const GatherParams& p) const { return fmt::format("axis={}", p.axis); }
  std::string operator()(const AttentionParams& p) const {
    return fmt::format(
        "scale={} cap={} heads={}/{} window={} causal={} packed={} repeats={} nan={} masked={}",
        p.scale, p.softcap, p.q_heads, p.kv_heads, p.window, p.causal, p.packed, p.mask_repeats,
        p.nan_rows, p.masked_score);
  }
  std::string operator()(const ResizeParams& p) const {
    const ResampleRule& r = p.rule;
    std::string scales;
    for (const double scale : p.scales) scales += fmt::format("{},", scale);
    return fmt::format("{} {} {} antialias={} exclude={} a={} scales={}",
                       kResampleModes[static_cast<size_t>(r.mode)],
                       kResampleCoordinates[static_cast<size_t>(r.coordinates)],
                       kResampleNearest[static_cast<size_t>(r.nearest)], r.antialias,
                       r.exclude_outside, r.cubic_a, scales);
  }
  std::string operator()(const RecurrentParams& p) const {
    std::string functions;
    for (const Activation& a : p.activations) {
      functions += fmt::format("{}:{}:{},", activation_entries()[static_cast<size_t>(a.kind)].name,
                               a.alpha, a.beta);
    }
    return fmt::format("{} {} {} clip={} batch_first={} coupled={} linear_first={}",
                       kRecurrentCells[static_cast<size_t>(p.cell)],
                       kRecurrentDirections[static_cast<size_t>(p.direction)], functions, p.clip,
                       p.batch_first, p.coupled, p.linear_first);
  }
  std::string operator()(const FallbackParams& p) const {
    std::string text = p.op + "{";
    for (const auto& [name, value] : p.attributes.all()) {
      text += fmt::format("{}={};", name, std::visit(AttributeText{}, value));
    }
    return text + "}";
  }
};

std::string operand_text(const TensorDesc& desc) {
  if (!desc.present()) return "-";
  return fmt::format("{}{}:{}:{}{}", dtype_name(desc.dtype), list_text(desc.dims),
                     layout_name(desc.layout), packing_name(desc.packing),
                     desc.constant ? ":const" : "");
}

double region_flops(const RegionProgram& program, double points) {
  double count = 0;
  for (const RegionInstruction& instruction : program.instructions)
    count += region_op_arity(instruction.op) > 0;
  return count * points;
}

double product_of(const std::vector<int64_t>& values, size_t from = 0) {
  double product = 1;
  for (size_t i = from; i < values.size(); ++i) product *= static_cast<double>(values[i]);
  return product;
}

double desc_flops(const Desc& desc) {
  const double points = desc.outputs.empty() ? 0 : product_of(desc.outputs[0].dims);
  switch (desc.family()) {
    case Family::kGemm: {
      const auto& p = desc.as<GemmParams>();
      const auto& a = desc.inputs[0].dims;
      const double k =
          a.size() < 2 ? product_of(a) : static_cast<double>(a[a.size() - (p.transpose_a ? 2 : 1)]);
      return 2 * points * k + region_flops(p.epilogue, points);
    }
    case Family::kConv: {
      const auto& p = desc.as<ConvParams>();
      const double windows = p.transposed ? product_of(desc.inputs[0].dims) : points;
      return 2 * windows * product_of(desc.inputs[1].dims, 1) + region_flops(p.epilogue, points);
    }
    case Family::kRegion: {
      const auto& p = desc.as<RegionParams>();
      return region_flops(p.program, product_of(p.extents));
    }
    case Family::kPool: {
      const auto& p = desc.as<PoolParams>();
      return p.global ? product_of(desc.inputs[0].dims) : points * product_of(p.kernel);
    }
    case Family::kCopy:
    case Family::kGather: return 0;
    case Family::kFallback: return points;
    case Family::kResize: {
      const ResampleRule& rule = desc.as<ResizeParams>().rule;
      double flops = 0;
      if (rule.mode == ResampleRule::Mode::kNearest) return 0;
      for (const ResizeAxis& axis : resize_axes_of(desc)) {
        if (!axis.kept()) flops += 2 * points * static_cast<double>(tap_count(rule, axis));
      }
      return flops;
    }
    case Family::kAttention: {
      const AttentionExtents e = attention_extents(desc);
      const double scores = static_cast<double>(e.batch) * static_cast<double>(e.q_heads) *
                            static_cast<double>(e.q_length) * static_cast<double>(e.kv_length);
      return 2 * scores * static_cast<double>(e.head + e.v_head);
    }
    case Family::kRecurrent: {
      const RecurrentExtents e = recurrent_extents(desc);
      const double rows = static_cast<double>(e.steps) * static_cast<double>(e.batch) *
                          static_cast<double>(e.directions);
      return 2 * rows * static_cast<double>(e.gates * e.hidden) *
             static_cast<double>(e.input + e.hidden);
    }
  }
  return 0;
}

double operand_bytes(const TensorDesc& desc) {
  return desc.present() ? static_cast<double>(stored_count(desc)) * dtype_bits(desc.dtype) / 8 : 0;
}

}  // namespace

const char* family_name(Family family) {
  switch (family) {
    case Family::kGemm: return "gemm";
    case Family::kConv: return "conv";
    case Family::kRegion: return "region";
    case Family::kPool: return "pool";
    case Family::kCopy: return "copy";
    case Family::kGather: return "gather";
    case Family::kFallback: return "fallback";
    case Family::kAttention: return "attention";
    case Family::kResize: return "resize";
    case Family::kRecurrent: return "recurrent";
  }
  return "?";
}

std::string desc_key(const Desc& desc) {
  std::string text =
      fmt::format("{} {}", family_name(desc.family()), std::visit(ParamsText{}, desc.params));
  text += " in=";
  for (const TensorDesc& input : desc.inputs) text += operand_text(input) + " ";
  text += "out=";
  for (const TensorDesc& output : desc.outputs) text += operand_text(output) + " ";
  text.pop_back();
  return text;
}

Work desc_work(const Desc& desc) {
  Work work;
  work.flops = desc_flops(desc);
  for (const TensorDesc& output : desc.outputs) work.bytes += operand_bytes(output);
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    // A gather reads as many table elements as it writes, not the whole table.
    const bool table = k == 0 && desc.family() == Family::kGather && !desc.outputs.empty();
    work.bytes += table ? operand_bytes(desc.outputs[0]) : operand_bytes(desc.inputs[k]);
  }
  return work;
}

std::vector<int64_t> resolve_pads(Family family, ConvParams::AutoPad auto_pad,
                                  const std::vector<int64_t>& pads,
                                  const std::vector<int64_t>& spatial,
                                  const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& dilations) {
  const size_t rank = spatial.size();
  std::vector<int64_t> resolved(2 * rank, 0);
  if (auto_pad == ConvParams::AutoPad::kValid) return resolved;
  if (auto_pad == ConvParams::AutoPad::kExplicit) return pads.size() == 2 * rank ? pads : resolved;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t stride = d < strides.size() ? std::max<int64_t>(strides[d], 1) : 1;
    const int64_t dilation = d < dilations.size() ? dilations[d] : 1;
    const int64_t window = (d < kernel.size() ? kernel[d] - 1 : 0) * dilation + 1;
    const int64_t outputs = (spatial[d] + stride - 1) / stride;
    const int64_t total = (outputs - 1) * stride + window - spatial[d];
    const int64_t lower = auto_pad == ConvParams::AutoPad::kSameLower ? 1 : 0;
    const int64_t skipped = total < 0 && family == Family::kConv ? 1 : 0;
    resolved[d] = (total + lower + skipped) / 2;
    // Behind the last window nothing is read, so what is left over there needs no number.
    resolved[rank + d] = std::max<int64_t>(total - resolved[d], 0);
  }
  return resolved;
}

CopyParams identity_copy(int64_t rank) {
  CopyParams params;
  params.perm.resize(static_cast<size_t>(rank));
  std::iota(params.perm.begin(), params.perm.end(), 0);
  return params;
}

void set_param_values(Params& params, std::vector<int64_t> values) {
  if (values.empty()) return;
  if (auto* region = std::get_if<RegionParams>(&params)) region->extents = std::move(values);
  if (auto* copy = std::get_if<CopyParams>(&params)) copy->starts = std::move(values);
}

}  // namespace stoker
