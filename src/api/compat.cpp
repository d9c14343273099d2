// SPDX-License-Identifier: Apache-2.0
#include "api/compat.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "device/cpu_info.h"
#include "lower/lower_graph.h"
#include "plan/bind.h"
#include "runtime/loaded_engine.h"

namespace stoker {
namespace {

constexpr size_t kShownChanges = 12;

std::string configured(const std::string& tactic, const std::string& config) {
  return config.empty() || tactic.empty() ? tactic : tactic + "/" + config;
}

// The described target, or the machine of the build.
std::string built_for(const EngineContents& contents) {
  const std::string& device = contents.manifest.device;
  for (const std::string prefix : {"cpu:x86-64-", "cpu:"}) {
    if (!device.starts_with(prefix)) continue;
    if (const auto isa = isa_from_name(device.substr(prefix.size())))
      return "cpu " + std::string(isa_name(*isa));
  }
  if (device != "cpu") return device;
  const auto& facts = contents.volatile_section.fingerprint;
  const auto isa = facts.find("isa");
  return isa == facts.end() ? device : device + " " + isa->second;
}

class Judge {
 public:
  explicit Judge(const LoadedEngine& engine) : engine_(engine), contents_(engine.contents()) {}

  Compatibility run() {
    report_.built_by = contents_.manifest.library_version;
    report_.library = kLibraryVersion;
    report_.built_for = built_for(contents_);
    report_.machine = "cpu " + std::string(isa_name(engine_.options().isa));
    if (const Status complete = engine_.check_complete(); !complete)
      report_.blocked = complete.message();
    const SymbolValues optimum = optimum_of(contents_);
    for (const PlanProgram& program : contents_.programs) {
      if (program.kind == PlanProgram::Kind::kDynamic) {
        report_.interpreted += program.steps.size();
      } else {
        judge(program, optimum);
      }
    }
    return std::move(report_);
  }

 private:
  void judge(const PlanProgram& program, const SymbolValues& optimum) {
    const auto weight = [&](int32_t index, Packing packing, const Desc& spec, int operand) {
      return weight_of(index, packing, spec, operand);
    };
    const auto bound = bind_program(contents_, program, optimum, engine_.registry(), weight,
                                    {.workers = engine_.pool().workers()});
    if (!bound) {
      report_.unknown += program.steps.size();
      return;
    }
    report_.steps += program.steps.size();
    for (const BoundStep& step : (*bound)->steps) compare(step);
  }

  void compare(const BoundStep& bound) {
    const PlanStep& step = *bound.step;
    if (step.tactic.empty()) return;  // sizes that nobody knew: chosen at the first run, as ever
    const std::string from = configured(step.tactic, step.config);
    const std::string to = configured(bound.tactic->name, bound.config.name);
    const bool same_config = step.config.empty() || step.config == bound.config.name;
    if (bound.substituted.empty() && same_config) return;
    const std::string reason =
        !bound.substituted.empty() ? bound.substituted : "the kernel has no such config here";
    report_.changes.push_back({step.name, from, to, reason, bound.tactic->reference});
  }

  // Bytes of the right number; what they say has no part in the choice.
  Result<Tensor> weight_of(int32_t index, Packing packing, const Desc& spec, int operand) {
    const PlanWeight& weight = contents_.weights[static_cast<size_t>(index)];
    if (weight.packing == packing && weight.bytes.defined()) return weight.bytes;
    STOKER_ASSIGN(const int64_t bytes, packed_bytes(spec, operand, packing));
    if (weight.packing != packing) report_.repacked_bytes += bytes;
    return Tensor::wrap(DType::kU8, {0}, nullptr, nullptr);
  }

  const LoadedEngine& engine_;
  const EngineContents& contents_;
  Compatibility report_;
};

std::string verdict(const Compatibility& report) {
  if (!report.blocked.empty()) return "does not run: " + report.blocked;
  if (report.as_built()) return "runs as it was built";
  const auto slow = std::count_if(report.changes.begin(), report.changes.end(),
                                  [](const auto& change) { return change.reference; });
  std::string text = "runs";
  if (!report.changes.empty())
    text +=
        fmt::format(", {} step(s) by other kernels than it was tuned with", report.changes.size());
  if (slow > 0) text += fmt::format(", {} of them by the slow reference", slow);
  if (report.built_for != report.machine) text += ", tuned for another machine";
  if (report.unknown > 0) text += ", in part to be seen at the first run";
  return text;
}

}  // namespace

Compatibility compatibility(const Engine& engine) { return Judge(engine.impl()).run(); }

std::string compatibility_text(const Compatibility& r) {
  std::string text =
      fmt::format("library        built by Stoker {}, this is {}\n", r.built_by, r.library);
  text += fmt::format("machine        built for {}, this is {}\n", r.built_for, r.machine);
  text += fmt::format("steps          {} of {} by the kernel and config of the build",
                      r.steps - r.changes.size(), r.steps);
  if (r.interpreted > 0) text += fmt::format("; {} more run value by value", r.interpreted);
  text += '\n';
  for (size_t i = 0; i < std::min(r.changes.size(), kShownChanges); ++i) {
    const auto& change = r.changes[i];
    text += fmt::format("  {}: {} in place of {} ({})\n", change.step, change.to, change.from,
                        change.reason);
  }
  if (r.changes.size() > kShownChanges)
    text += fmt::format("  and {} more\n", r.changes.size() - kShownChanges);
  if (r.unknown > 0)
    text +=
        fmt::format("  {} steps have sizes that depend on data: judged when they run\n", r.unknown);
  text += r.repacked_bytes == 0
              ? "weights        packed as they will be read\n"
              : fmt::format("weights        {:.1f} MB packed again at the first run\n",
                            static_cast<double>(r.repacked_bytes) / 1e6);
  return text + "verdict        " + verdict(r) + "\n";
}

std::string compatibility_json(const Compatibility& r) {
  nlohmann::json changes = nlohmann::json::array();
  for (const auto& change : r.changes) {
    changes.push_back({{"step", change.step},
                       {"from", change.from},
                       {"to", change.to},
                       {"reason", change.reason},
                       {"reference", change.reference}});
  }
  const nlohmann::json json = {{"built_by", r.built_by},    {"library", r.library},
                               {"built_for", r.built_for},  {"machine", r.machine},
                               {"steps", r.steps},          {"interpreted", r.interpreted},
                               {"changes", changes},        {"repacked_bytes", r.repacked_bytes},
                               {"unknown", r.unknown},      {"blocked", r.blocked},
                               {"runs", r.blocked.empty()}, {"as_built", r.as_built()}};
  return json.dump();
}

}  // namespace stoker
