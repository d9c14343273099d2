// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <bit>

#include "base/hash.h"
#include "tests/engine/sample.h"

namespace stoker::test {
namespace {

// Doubles by their bits: -0.0 and NaN count.
std::string bits(double value) { return fmt::format("{:x}", std::bit_cast<uint64_t>(value)); }

std::string text(const RegionProgram& p) {
  std::string s = fmt::format("rank {} reduced {}", p.rank, p.reduced);
  for (const auto& input : p.inputs) s += fmt::format(" in {}", input.dim_of);
  for (const auto& i : p.instructions) {
    s += fmt::format(" op {} {} {} {}", int(i.op), int(i.dtype), i.args, bits(i.constant));
  }
  for (const auto& output : p.outputs)
    s += fmt::format(" out {} {}", output.value, output.map.dim_of);
  return s;
}

struct AttributeText {
  std::string operator()(int64_t v) const { return fmt::format("int {}", v); }
  std::string operator()(double v) const { return "float " + bits(v); }
  std::string operator()(const std::string& v) const { return "string " + v; }
  std::string operator()(DType v) const { return fmt::format("dtype {}", int(v)); }
  std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("ints {}", v); }
  std::string operator()(const std::vector<double>& v) const {
    std::string s = "floats";
    for (const double value : v) s += " " + bits(value);
    return s;
  }
  std::string operator()(const std::vector<std::string>& v) const {
    return fmt::format("strings {}", v);
  }
  std::string operator()(const Tensor& v) const {
    return fmt::format("tensor {} {} {}", int(v.dtype()), v.shape(), content_hash(v));
  }
};

std::string text(const Attributes& attributes) {
  std::string s;
  for (const auto& [name, value] : attributes.all())
    s += fmt::format("{}={};", name, std::visit(AttributeText{}, value));
  return s;
}

struct ParamsText {
  std::string operator()(const GemmParams& p) const {
    return fmt::format("gemm {} {} {} {} {} {}", p.transpose_a, p.transpose_b, p.a_zero, p.b_zero,
                       p.a_zero_input, text(p.epilogue));
  }
  std::string operator()(const ConvParams& p) const {
    return fmt::format("conv {} {} {} {} {} {} {} {} {} {}", p.strides, p.dilations, p.pads,
                       p.group, int(p.auto_pad), p.x_zero, p.w_zero, text(p.epilogue), p.transposed,
                       p.x_zero_input);
  }
  std::string operator()(const RegionParams& p) const {
    return fmt::format("region {} {}", p.extents, text(p.program));
  }
  std::string operator()(const PoolParams& p) const {
    return fmt::format("pool {} {} {} {} {} {} {} {} {}", int(p.kind), p.kernel, p.strides,
                       p.dilations, p.pads, int(p.auto_pad), p.ceil_mode, p.count_include_pad,
                       p.global);
  }
  std::string operator()(const CopyParams& p) const {
    return fmt::format("copy {} {} {} {}", p.perm, p.starts, p.steps, p.concat_axis);
  }
  std::string operator()(const GatherParams& p) const { return fmt::format("gather {}", p.axis); }
  std::string operator()(const FallbackParams& p) const {
    return fmt::format("fallback {} {}", p.op, text(p.attributes));
  }
  std::string operator()(const ResizeParams& p) const {
    std::string text =
        fmt::format("resize {} {} {} {} {} {}", static_cast<int>(p.rule.mode),
                    static_cast<int>(p.rule.coordinates), static_cast<int>(p.rule.nearest),
                    p.rule.antialias, p.rule.exclude_outside, bits(p.rule.cubic_a));
    for (const double scale : p.scales) text += fmt::format(" {}", bits(scale));
    return text;
  }
  std::string operator()(const RecurrentParams& p) const {
    std::string text = fmt::format("recurrent {} {} {} {} {} {}", int(p.cell), int(p.direction),
                                   bits(p.clip), p.batch_first, p.coupled, p.linear_first);
    for (const Activation& a : p.activations)
      text += fmt::format(" {}:{}:{}", int(a.kind), bits(a.alpha), bits(a.beta));
    return text;
  }
  std::string operator()(const AttentionParams& p) const {
    return fmt::format("attention {} {} {} {} {} {} {} {} {} {}", bits(p.scale), bits(p.softcap),
                       p.q_heads, p.kv_heads, p.window, p.causal, p.packed, p.mask_repeats,
                       p.nan_rows, bits(p.masked_score));
  }
};

std::string text(const PlanTensor& t) {
  return fmt::format("tensor {} {} {} {} {} {} {} {}:{} w{} a{} {}\n", t.name, int(t.kind),
                     int(t.holds), t.ranked, int(t.dtype), dims_text(t.dims), int(t.layout),
                     int(t.place.kind), t.place.index, t.weight, t.alias_of, dims_text(t.elements));
}

std::string text(const PlanStep& s) {
  return fmt::format("step {} [{}] {} {} {} {} {}:{} {} {} {} {} {}\n", s.name,
                     std::visit(ParamsText{}, s.params), dims_text(s.param_dims), s.inputs,
                     s.outputs, s.after, int(s.place.kind), s.place.index, s.tactic,
                     s.tactic_version, s.config, s.origins, s.subprograms);
}

std::string text(const PlanProgram& p) {
  std::string s = fmt::format("program {} {}\n", p.name, int(p.kind));
  for (const auto& t : p.tensors) s += text(t);
  for (const auto& step : p.steps) s += text(step);
  for (const auto& port : p.inputs) s += fmt::format("input {} {}\n", port.name, port.tensor);
  for (const auto& port : p.outputs) s += fmt::format("output {} {}\n", port.name, port.tensor);
  for (const auto& state : p.states)
    s += fmt::format("state {} {} {}\n", state.name, state.initial, state.final_value);
  return s;
}

std::string text(const PlanWeight& w) {
  std::string s = fmt::format("weight {} {} {} {} {} {} {}\n", w.name, int(w.dtype), w.shape,
                              int(w.packing), w.bytes.defined() ? content_hash(w.bytes) : "-",
                              w.recipe.sources, w.recipe.result);
  for (const auto& step : w.recipe.steps) {
    s += fmt::format("recipe {} {} {} {}\n", step.op, text(step.attributes), step.inputs,
                     step.output_count);
  }
  return s;
}

}  // namespace

std::string dump_plan(const EngineContents& c) {
  const Manifest& m = c.manifest;
  std::string s = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", m.library_version, m.model_name,
                              m.model_hash, m.device, m.options, m.route);
  s += fmt::format("{} {}\n", m.source_weight_bytes, m.structure);
  for (const auto& l : m.op_libraries)
    s += fmt::format("library {} {} {}\n", l.name, l.version, l.hash);
  for (const auto& symbol : c.symbols) {
    s += fmt::format("symbol {} {} {} {} {}\n", symbol.name, int(symbol.kind), symbol.min,
                     symbol.max, symbol.optimum);
  }
  for (const auto& program : c.programs) s += text(program);
  for (const auto& weight : c.weights) s += text(weight);
  for (const auto& source : c.sources) {
    s += fmt::format("source {} {} {} {} {} {} {}\n", source.name, int(source.dtype), source.shape,
                     source.hash, source.frozen, source.kept,
                     source.bytes.defined() ? content_hash(source.bytes) : "-");
  }
  return s + c.graph_text;
}

std::string dump_volatile(const Volatile& v) {
  std::string s = fmt::format("{} {}\n", v.fingerprint, bits(v.build_seconds));
  for (const auto& m : v.steps) {
    s += fmt::format("measured {} {} {} {}\n", m.step, bits(m.check_error), bits(m.check_bound),
                     m.check_elements);
    for (const auto& t : m.candidates) {
      s += fmt::format("timing {} {} {} {} {}\n", t.tactic, t.config, bits(t.median_ns), t.samples,
                       t.refusal);
    }
  }
  const Certificate& c = v.certificate;
  s += fmt::format("{} {} {} {}\n", c.checked_against, c.data, c.data_hash, c.demoted);
  for (const auto& loss : c.outputs) {
    s += fmt::format("loss {} {} {}\n", loss.output, bits(loss.max_abs_error),
                     bits(loss.max_rel_error));
  }
  return s + fmt::format("{}\n", v.notes);
}

}  // namespace stoker::test
