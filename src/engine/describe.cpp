// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/status.h"
#include "engine/engine_file.h"

namespace stoker {
namespace {

// Names come from files: what a terminal would obey is shown as \xNN.
std::string shown(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return result;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + shown(text);
  return result;
}

const char* kind_name(PlanTensor::Kind kind) {
  constexpr const char* kNames[] = {"input",  "output",      "temporary",
                                    "weight", "shape value", "state"};
  return static_cast<size_t>(kind) < std::size(kNames) ? kNames[static_cast<size_t>(kind)] : "?";
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

// Formulas of sizes grow with the depth of a network: a long one is called #1, #2, ... and told
// once at the end. JSON has them whole.
class SizeNames {
 public:
  std::string text(const Dims& dims) {
    std::string text;
    for (const Dim& dim : dims) text += (text.empty() ? "" : ",") + name(dim.text());
    return "[" + text + "]";
  }

  std::string list() const {
    std::string text;
    for (size_t i = 0; i < formulas_.size(); ++i) {
      const std::string& formula = formulas_[i];
      text += fmt::format("size           #{} = {}{}\n", i + 1, formula.substr(0, kShown),
                          formula.size() > kShown ? "..." : "");
    }
    return text;
  }

 private:
  static constexpr size_t kLongest = 16, kShown = 120;

  std::string name(std::string formula) {
    if (formula.size() <= kLongest) return formula;
    const auto [it, added] = numbers_.try_emplace(formula, formulas_.size() + 1);
    if (added) formulas_.push_back(std::move(formula));
    return fmt::format("#{}", it->second);
  }

  std::map<std::string, size_t> numbers_;
  std::vector<std::string> formulas_;
};

std::string tensor_text(const PlanProgram& program, int32_t index, SizeNames& sizes) {
  if (index < 0 || static_cast<size_t>(index) >= program.tensors.size()) return "-";
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  return fmt::format(
      "{}{}{}", dtype_name(tensor.dtype), tensor.ranked ? sizes.text(tensor.dims) : "[?]",
      tensor.layout == Layout::kPlain ? "" : std::string(" ") + layout_name(tensor.layout));
}

std::string tensors_text(const PlanProgram& program, const std::vector<int32_t>& list,
                         SizeNames& sizes) {
  std::string text;
  for (const int32_t index : list)
    text += (text.empty() ? "" : ", ") + tensor_text(program, index, sizes);
  return text;
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = fmt::format(
      "model          {}\nmodel hash     {}\ndevice         {}\nbuilt by       Stoker {}\n",
      shown(manifest.model_name), shown(manifest.model_hash), shown(manifest.device),
      shown(manifest.library_version));
  for (const auto& [key, value] : manifest.options)
    text += fmt::format("option         {}={}\n", shown(key), shown(value));
  for (const UsedLibrary& library : manifest.op_libraries) {
    text += fmt::format("op library     {} {} ({})\n", shown(library.name), shown(library.version),
                        shown(library.hash));
  }
  return text + fmt::format("route          {}\n", shown(manifest.route));
}

std::string symbols_text(const std::vector<PlanSymbol>& symbols) {
  std::string text;
  for (const PlanSymbol& symbol : symbols) {
    text += fmt::format("size           {} = {}..{}, tuned for {} ({})\n", shown(symbol.name),
                        symbol.min, symbol.max == INT64_MAX ? "any" : std::to_string(symbol.max),
                        symbol.optimum,
                        symbol.kind == PlanSymbol::Kind::kBind ? "bound" : "free in each step");
  }
  return text;
}

std::string step_text(const PlanProgram& program, size_t index, SizeNames& sizes) {
  const PlanStep& step = program.steps[index];
  const auto family = static_cast<Family>(step.params.index());
  const auto* fallback = std::get_if<FallbackParams>(&step.params);
  std::string text = fmt::format(
      "  {:>4} {}  {}{}  {}{}  ({}) -> {}\n", index, shown(step.name), family_name(family),
      fallback ? "(" + shown(fallback->op) + ")" : "", shown(step.tactic),
      step.config.empty() ? "" : "/" + shown(step.config),
      tensors_text(program, step.inputs, sizes), tensors_text(program, step.outputs, sizes));
  if (!step.origins.empty()) text += fmt::format("       from {}\n", joined(step.origins));
  return text;
}

std::string program_text(const PlanProgram& program, bool verbose, SizeNames& sizes) {
  std::string text = fmt::format("program {}: {} steps, {} tensors\n", shown(program.name),
                                 program.steps.size(), program.tensors.size());
  for (const PlanPort& port : program.inputs) {
    text += fmt::format("  input  {}: {}\n", shown(port.name),
                        tensor_text(program, port.tensor, sizes));
  }
  for (const PlanPort& port : program.outputs) {
    text += fmt::format("  output {}: {}\n", shown(port.name),
                        tensor_text(program, port.tensor, sizes));
  }
  for (const PlanState& state : program.states) {
    text += fmt::format("  state  {}: {}\n", shown(state.name),
                        tensor_text(program, state.initial, sizes));
  }
  for (size_t i = 0; i < program.steps.size(); ++i) text += step_text(program, i, sizes);
  for (size_t i = 0; verbose && i < program.tensors.size(); ++i) {
    const PlanTensor& tensor = program.tensors[i];
    text += fmt::format(
        "  tensor {:>4} {} {} {}{}\n", i, kind_name(tensor.kind), shown(tensor.name),
        tensor_text(program, static_cast<int32_t>(i), sizes),
        tensor.alias_of >= 0 ? fmt::format(" in the memory of {}", tensor.alias_of) : "");
  }
  return text;
}

std::string weights_text(const std::vector<PlanWeight>& weights, bool verbose) {
  int64_t bytes = 0;
  for (const PlanWeight& weight : weights) bytes += weight.bytes.bytes();
  std::string text = fmt::format("weights: {}, {}\n", weights.size(), bytes_text(bytes));
  for (size_t i = 0; verbose && i < weights.size(); ++i) {
    const PlanWeight& weight = weights[i];
    text += fmt::format(
        "  {:>4} {}: {}{} packed as {}, {}{}\n", i, shown(weight.name), dtype_name(weight.dtype),
        shape_text(weight.shape), packing_name(weight.packing), bytes_text(weight.bytes.bytes()),
        weight.recipe.sources.empty() ? "" : ", from " + joined(weight.recipe.sources));
  }
  return text;
}

std::string certificate_text(const Certificate& certificate) {
  if (certificate.checked_against.empty())
    return "certificate: none; nothing was compared while building\n";
  std::string text =
      fmt::format("certificate: checked against {}", shown(certificate.checked_against));
  if (!certificate.data.empty())
    text += fmt::format(" on {} {}", shown(certificate.data), shown(certificate.data_hash));
  text += '\n';
  for (const OutputLoss& loss : certificate.outputs) {
    text += fmt::format("  output {}: worst absolute error {:.3g}, relative {:.3g}\n",
                        shown(loss.output), loss.max_abs_error, loss.max_rel_error);
  }
  for (const std::string& line : certificate.demoted)
    text += fmt::format("  demoted {}\n", shown(line));
  return text;
}

std::string measurements_text(const Volatile& figures) {
  std::string text;
  for (const StepMeasurement& step : figures.steps) {
    text += fmt::format("  measured step {}: {} elements checked, error {:.3g} of {:.3g}\n",
                        step.step, step.check_elements, step.check_error, step.check_bound);
    for (const TacticTiming& timing : step.candidates) {
      text += fmt::format("    {}/{} {}\n", shown(timing.tactic), shown(timing.config),
                          timing.refusal.empty() ? fmt::format("{:.0f} ns, {} samples",
                                                               timing.median_ns, timing.samples)
                                                 : "refused: " + shown(timing.refusal));
    }
  }
  return text;
}

}  // namespace

std::string describe_engine(const EngineContents& contents, bool verbose) {
  std::string text = manifest_text(contents.manifest);
  const Result<std::string> digest = engine_digest(contents);
  text += fmt::format("digest         {}\n", digest.is_ok() ? *digest : digest.status().message());
  text += symbols_text(contents.symbols);
  SizeNames sizes;
  for (const PlanProgram& program : contents.programs)
    text += program_text(program, verbose, sizes);
  text += sizes.list();
  text += weights_text(contents.weights, verbose);
  text += contents.graph_text.empty()
              ? "graph: left out (lean engine)\n"
              : fmt::format("graph: {}\n",
                            bytes_text(static_cast<int64_t>(contents.graph_text.size())));
  const Volatile& figures = contents.volatile_section;
  text += certificate_text(figures.certificate);
  if (verbose) text += measurements_text(figures);
  for (const auto& [key, value] : figures.fingerprint)
    text += fmt::format("machine        {}={}\n", shown(key), shown(value));
  text += fmt::format("built in       {:.2f} s\n", figures.build_seconds);
  for (const std::string& note : figures.notes)
    text += fmt::format("note           {}\n", shown(note));
  return text;
}

}  // namespace stoker
