// SPDX-License-Identifier: Apache-2.0
#include "api/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/compare.h"
#include "api/data.h"
#include "api/diff_parts.h"
#include "api/explain_parts.h"
#include "base/knobs.h"
#include "base/status.h"

namespace stoker {
namespace {

// Below this part of common nodes two files are of two networks.
constexpr double kSameNetwork = 0.5;

std::string bytes_text(int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} bytes", bytes)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// "a=1 b=\"x y\"" as names and values; quotes stay.
std::map<std::string, std::string> route_parts(const std::string& route) {
  std::map<std::string, std::string> parts;
  size_t start = 0;
  bool quoted = false;
  for (size_t i = 0; i <= route.size(); ++i) {
    if (i < route.size() && quoted) {
      if (route[i] == '\\')
        ++i;
      else
        quoted = route[i] != '"';
      continue;
    }
    if (i < route.size() && route[i] != ' ') {
      quoted = route[i] == '"';
      continue;
    }
    const std::string part = route.substr(start, i - start);
    const size_t equals = part.find('=');
    if (equals != std::string::npos) parts[part.substr(0, equals)] = part.substr(equals + 1);
    start = i + 1;
  }
  return parts;
}

class EngineDiffer {
 public:
  EngineDiffer(const DiffSide& a, const DiffSide& b)
      : a_(a), b_(b), left_(a.engine->impl().contents()), right_(b.engine->impl().contents()) {}

  Result<EngineDiff> run() {
    STOKER_ASSIGN(result_.digest_a, a_.engine->digest());
    STOKER_ASSIGN(result_.digest_b, b_.engine->digest());
    network();
    if (!result_.same_network) return std::move(result_);
    build();
    shapes();
    STOKER_TRY(diff_weights(left_, right_, result_.differences));
    diff_steps(left_, right_, result_.differences);
    certificates();
    sizes();
    return std::move(result_);
  }

 private:
  void add(const char* part, std::string subject, std::string a, std::string b, DiffEffect effect,
           std::string reason) {
    if (a == b) return;
    result_.differences.push_back(
        {part, std::move(subject), std::move(a), std::move(b), effect, std::move(reason)});
  }

  void network() {
    const Manifest &a = left_.manifest, &b = right_.manifest;
    const std::string ports = interface_difference(*a_.engine, *b_.engine);
    const double common = a.model_hash == b.model_hash ? 1 : common_nodes(left_, right_);
    result_.same_network = ports.empty() && common >= kSameNetwork;
    if (!result_.same_network) {
      add("network", "model", a.model_name + " " + a.model_hash, b.model_name + " " + b.model_hash,
          DiffEffect::kBoth,
          ports.empty() ? fmt::format("{:.0f} % of their nodes have the same names: two networks",
                                      100 * common)
                        : "inputs or outputs differ: two networks");
      port_lines("input", a_.engine->inputs(), b_.engine->inputs());
      port_lines("output", a_.engine->outputs(), b_.engine->outputs());
      return;
    }
    add("network", "name", a.model_name, b.model_name, DiffEffect::kNeither, "a name only");
    add("network", "hash of the model file", a.model_hash, b.model_hash, DiffEffect::kNumbers,
        "the files differ: what that changed stands at the weights and steps");
  }

  static std::string port_text(const TensorInfo* info) {
    if (!info) return "none";
    return fmt::format("{} {} [{}]", info->kind, dtype_name(info->dtype),
                       info->ranked ? joined(info->dims, ",") : "?");
  }

  void port_lines(const char* kind, const std::vector<TensorInfo>& a,
                  const std::vector<TensorInfo>& b) {
    std::map<std::string, std::pair<const TensorInfo*, const TensorInfo*>> ports;
    for (const TensorInfo& info : a) ports[info.name].first = &info;
    for (const TensorInfo& info : b) ports[info.name].second = &info;
    for (const auto& [name, both] : ports) {
      add("shapes", fmt::format("{} {}", kind, name), port_text(both.first), port_text(both.second),
          DiffEffect::kNeither, "what it takes or gives");
    }
  }

  void build() {
    const Manifest &a = left_.manifest, &b = right_.manifest;
    add("build", "library version", a.library_version, b.library_version, DiffEffect::kNeither,
        "an engine holds no kernels: those of the library that loads it run; what the builders "
        "chose differently stands at the steps");
    add("build", "device", a.device, b.device, DiffEffect::kBoth,
        "tactics were chosen among those of another target; on another instruction level even the "
        "same kernel may round otherwise");
    std::set<std::string> names;
    for (const auto* options : {&a.options, &b.options}) {
      for (const auto& entry : *options) names.insert(entry.first);
    }
    for (const std::string& name : names) {
      const bool shape = name == "shapes";
      add("build", "option " + name, value_of(a.options, name), value_of(b.options, name),
          shape ? DiffEffect::kSpeed : DiffEffect::kNeither,
          shape
              ? "tactics were chosen for other sizes"
              : "it keeps what a refit needs; what it kept from being folded stands at the steps");
    }
    knobs();
    const auto libraries = [](const Manifest& manifest) {
      std::string text;
      for (const UsedLibrary& library : manifest.op_libraries)
        text += fmt::format("{} {} {} ", library.name, library.version, library.hash);
      return text.empty() ? "none" : text;
    };
    add("build", "custom operators", libraries(a), libraries(b), DiffEffect::kBoth,
        "other code runs them");
    const auto graph = [](const EngineContents& contents) {
      return contents.graph_text.empty() ? "left out" : "kept";
    };
    add("build", "graph", graph(left_), graph(right_), DiffEffect::kNeither,
        "running does not read it; building anew from the engine does");
    machine();
  }

  static std::string value_of(const std::map<std::string, std::string>& values,
                              const std::string& name) {
    const auto it = values.find(name);
    return it == values.end() ? "not set" : it->second;
  }

  void knobs() {
    const auto a = route_parts(left_.manifest.route), b = route_parts(right_.manifest.route);
    std::set<std::string> names;
    for (const auto* parts : {&a, &b}) {
      for (const auto& entry : *parts) names.insert(entry.first);
    }
    for (const std::string& name : names) {
      const KnobInfo* knob = find_knob(name);
      add("build", "knob " + name, value_of(a, name), value_of(b, name), DiffEffect::kBoth,
          fmt::format("{}; what it changed stands at the steps",
                      knob ? knob->help : "a knob that this version does not have"));
    }
  }

  // Kernels of another level or machine may have been timed: the steps show what came of it.
  void machine() {
    const auto &a = left_.volatile_section.fingerprint, &b = right_.volatile_section.fingerprint;
    std::set<std::string> names;
    for (const auto* facts : {&a, &b}) {
      for (const auto& entry : *facts) names.insert(entry.first);
    }
    names.erase("library");  // stands in the manifest
    for (const std::string& name : names) {
      add("machine", name, value_of(a, name), value_of(b, name), DiffEffect::kSpeed,
          "tactics were timed on another machine: others may have won; how the engine runs depends "
          "on the machine that loads it");
    }
  }

  void shapes() {
    port_lines("input", a_.engine->inputs(), b_.engine->inputs());
    port_lines("output", a_.engine->outputs(), b_.engine->outputs());
    std::map<std::string, std::pair<const PlanSymbol*, const PlanSymbol*>> symbols;
    for (const PlanSymbol& symbol : left_.symbols) symbols[symbol.name].first = &symbol;
    for (const PlanSymbol& symbol : right_.symbols) symbols[symbol.name].second = &symbol;
    const auto range = [](const PlanSymbol* symbol) {
      if (!symbol) return std::string("not open");
      return fmt::format("{}..{}", symbol->min,
                         symbol->max == INT64_MAX ? "any" : std::to_string(symbol->max));
    };
    const auto optimum = [](const PlanSymbol* symbol) {
      return symbol ? std::to_string(symbol->optimum) : "not open";
    };
    for (const auto& [name, both] : symbols) {
      const bool data = (both.first ? both.first : both.second)->kind == PlanSymbol::Kind::kData;
      if (data) continue;  // sizes inside, which data decides
      add("shapes", "range of " + name, range(both.first), range(both.second), DiffEffect::kNeither,
          "which sizes are accepted");
      if (both.first && both.second) {
        add("shapes", "tuned size of " + name, optimum(both.first), optimum(both.second),
            DiffEffect::kSpeed, "tactics were chosen for this size");
      }
    }
  }

  void certificates() {
    const Certificate& a = left_.volatile_section.certificate;
    const Certificate& b = right_.volatile_section.certificate;
    const char* kReason = "what was checked when building; it changes nothing that runs";
    const auto against = [](const Certificate& certificate) {
      return certificate.checked_against.empty() ? "nothing" : certificate.checked_against;
    };
    add("certificate", "checked against", against(a), against(b), DiffEffect::kNeither, kReason);
    add("certificate", "on", a.data + " " + a.data_hash, b.data + " " + b.data_hash,
        DiffEffect::kNeither, kReason);
    std::map<std::string, std::pair<std::string, std::string>> losses;
    const auto text = [](const OutputLoss& loss) {
      return fmt::format("max abs {:.3g}, max rel {:.3g}", loss.max_abs_error, loss.max_rel_error);
    };
    for (const OutputLoss& loss : a.outputs) losses[loss.output].first = text(loss);
    for (const OutputLoss& loss : b.outputs) losses[loss.output].second = text(loss);
    for (const auto& [name, both] : losses) {
      add("certificate", "loss of " + name, both.first, both.second, DiffEffect::kNeither,
          "the loss that was measured; the differences behind it stand above");
    }
    add("certificate", "demoted tactics", joined(a.demoted, "; "), joined(b.demoted, "; "),
        DiffEffect::kNeither, "what failed its check and was replaced: the steps show by what");
  }

  void sizes() {
    const auto weights = [](const EngineContents& contents) {
      int64_t bytes = 0;
      for (const PlanWeight& weight : contents.weights) bytes += weight.bytes.bytes();
      return bytes_text(bytes);
    };
    add("size", "weights", weights(left_), weights(right_), DiffEffect::kSpeed,
        "a run reads them; small networks find them in a cache");
    const auto arena = [](const Engine& engine) -> std::string {
      const auto shapes = input_shapes(engine, {});
      if (!shapes) return "not known";
      const auto memory = engine.memory(*shapes);
      return memory ? bytes_text(memory->arena_bytes) : "not known before a run";
    };
    add("size", "activations at the tuned shape", arena(*a_.engine), arena(*b_.engine),
        DiffEffect::kSpeed, "the memory that a run writes and reads between its steps");
    add("size", "file", bytes_text(a_.file_bytes), bytes_text(b_.file_bytes), DiffEffect::kNeither,
        "it is read once");
  }

  const DiffSide &a_, &b_;
  const EngineContents &left_, &right_;
  EngineDiff result_;
};

}  // namespace

const char* effect_name(DiffEffect effect) {
  constexpr const char* kNames[] = {"neither", "speed", "numbers", "both"};
  return kNames[static_cast<size_t>(effect)];
}

int EngineDiff::count(DiffEffect effect) const {
  return static_cast<int>(
      std::count_if(differences.begin(), differences.end(),
                    [effect](const Difference& d) { return d.effect == effect; }));
}

Result<EngineDiff> diff_engines(const DiffSide& a, const DiffSide& b) {
  return EngineDiffer(a, b).run();
}

}  // namespace stoker
