// SPDX-License-Identifier: Apache-2.0
#include "api/explain_parts.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/status.h"
#include "lower/lowered.h"
#include "ops/op.h"

namespace stoker {
namespace {

using StepKey = std::pair<int32_t, int32_t>;  // program, step

// Of the dtype in which the step multiplies.
double compute_peak(const ExplainedStep& step, const MachinePeaks& peaks) {
  for (const int32_t input : step.step->inputs) {
    if (input < 0) continue;
    const DType dtype = step.plan->tensors[static_cast<size_t>(input)].dtype;
    if (dtype == DType::kU8 || dtype == DType::kI8) return peaks.int8_gops;
    if (dtype == DType::kBF16) return peaks.bf16_gflops;
    break;
  }
  return peaks.f32_gflops;
}

}  // namespace

std::string ExplainedStep::family() const {
  if (plan->kind == PlanProgram::Kind::kDynamic) return std::get<FallbackParams>(step->params).op;
  return family_name(static_cast<Family>(step->params.index()));
}

std::string ExplainedStep::op() const {
  const auto* call = std::get_if<FallbackParams>(&step->params);
  return call && !calls ? call->op : "";
}

std::string ExplainedStep::how() const {
  if (calls) return "runs other programs";
  if (plan->kind == PlanProgram::Kind::kDynamic) return "evaluated";
  if (tactic().empty()) return "by a kernel that is chosen when its sizes are known";
  return config().empty() ? "by " + tactic() : fmt::format("by {} ({})", tactic(), config());
}

namespace {

// Why a step runs by the reference; notes of the build say why its usual family refused.
std::string slow_reason(const ExplainedStep& step, const std::vector<std::string>& notes) {
  if (!step.reference) return "";
  if (step.op().empty()) return "no kernel of its family takes it; the candidates say why";
  if (step.plan->kind == PlanProgram::Kind::kDynamic)
    return fmt::format(
        "op '{}' is evaluated value by value: sizes, a rank or a branch are known only while "
        "running",
        step.op());
  const Op* op = find_op(step.op());
  const std::string family(op ? usual_family(*op) : "reference");
  if (family == "reference") return fmt::format("no kernel computes op '{}'", step.op());
  const std::string start = step.step->name + " is slow: ";
  for (const std::string& note : notes) {
    if (note.starts_with(start))
      return fmt::format("the {} kernels do not take this '{}': {}", family, step.op(),
                         note.substr(start.size()));
  }
  return fmt::format("the {} kernels do not take this '{}'", family, step.op());
}

}  // namespace

std::vector<ExplainedStep> explained_steps(const LoadedEngine& engine, const RunRecord* record) {
  const EngineContents& contents = engine.contents();
  std::map<StepKey, const StepMeasurement*> measured;
  for (const StepMeasurement& entry : contents.volatile_section.steps)
    measured[{entry.program, entry.step}] = &entry;
  std::map<StepKey, const StepProfile*> profiled;
  if (record) {
    for (const StepProfile& entry : record->steps) profiled[{entry.program, entry.index}] = &entry;
  }
  std::vector<ExplainedStep> steps;
  for (size_t p = 0; p < contents.programs.size(); ++p) {
    const PlanProgram& program = contents.programs[p];
    for (size_t s = 0; s < program.steps.size(); ++s) {
      ExplainedStep step;
      step.program = static_cast<int32_t>(p);
      step.index = static_cast<int32_t>(s);
      step.plan = &program;
      step.step = &program.steps[s];
      const StepKey key{step.program, step.index};
      if (const auto it = measured.find(key); it != measured.end()) step.measured = it->second;
      if (const auto it = profiled.find(key); it != profiled.end()) step.profile = it->second;
      step.calls = !step.step->subprograms.empty();
      const Tactic* tactic = engine.registry().find(step.tactic());
      const bool evaluated = program.kind == PlanProgram::Kind::kDynamic && !step.calls;
      step.reference = evaluated || (tactic && tactic->reference);
      step.slow = slow_reason(step, contents.volatile_section.notes);
      steps.push_back(step);
    }
  }
  return steps;
}

PeakShare peak_share(const ExplainedStep& step, const MachinePeaks& peaks) {
  PeakShare share;
  if (!step.profile) return share;
  const double peak = compute_peak(step, peaks), time = step.profile->time_us;
  if (peak > 0) share.compute = giga_rate(step.profile->flops, time) / peak;
  if (peaks.dram_gb_s > 0) share.memory = giga_rate(step.profile->bytes, time) / peaks.dram_gb_s;
  return share;
}

bool is_call(const PlanStep& step) {
  const auto* fallback = std::get_if<FallbackParams>(&step.params);
  return fallback && fallback->op == kCallOp && !step.subprograms.empty();
}

std::string page_with_data(std::string page, std::string json) {
  // Inside a script element only this sequence could end it.
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3)
    json.replace(at, 2, "<\\/");
  for (size_t at = 0; (at = json.find("<!--", at)) != std::string::npos; at += 9)
    json.replace(at, 4, "\\u003c!--");
  const std::string mark = "/*DATA*/null";
  page.replace(page.find(mark), mark.size(), json);
  return page;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

Result<RunRecord> record_run(const Engine& engine, Session& session, double seconds) {
  using Clock = std::chrono::steady_clock;
  STOKER_TRY(session.run_bound());
  session.enable_profile(true);
  const auto start = Clock::now();
  do {
    STOKER_TRY(session.run_bound());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  RunRecord record;
  record.steps = session.profile();
  record.trace = session.trace();
  session.enable_profile(false);
  for (const StepProfile& step : record.steps) record.total_us += step.time_us;
  record.peaks = measure_peaks(engine.impl().options().pool.workers);
  return record;
}

}  // namespace stoker
