// The explanation in words.
// SPDX-License-Identifier: Apache-2.0
#include "api/explain.h"

#include <algorithm>

#include "api/explain_parts.h"
#include "base/status.h"

namespace stoker {
namespace {

// "conv_0:out f32 [N,64,56,56] c16"
std::string tensor_text(const PlanProgram& program, int32_t index) {
  if (index < 0) return "-";
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  return fmt::format("{} {} {} {}", tensor.name, dtype_name(tensor.dtype),
                     tensor.ranked ? dims_text(tensor.dims) : "[?]", layout_name(tensor.layout));
}

std::string candidate_text(const TacticTiming& candidate, const ExplainedStep& step) {
  const std::string name = candidate.config.empty()
                               ? candidate.tactic
                               : fmt::format("{} ({})", candidate.tactic, candidate.config);
  std::string text = fmt::format("      {:40} ", name);
  if (!candidate.refusal.empty()) return text + "refused: " + candidate.refusal;
  text += candidate.samples > 0
              ? fmt::format("{:12.2f} us, {} samples", candidate.median_ns / 1e3, candidate.samples)
              : "not timed";
  const bool chosen =
      candidate.tactic == step.step->tactic && candidate.config == step.step->config;
  return text + (chosen ? "  <- chosen" : "");
}

std::string run_text(const ExplainedStep& step, const RunRecord& run) {
  const StepProfile& profile = *step.profile;
  const PeakShare share = peak_share(step, run.peaks);
  std::string text = fmt::format("    time     {:.2f} us, {:.1f} % of the run", profile.time_us,
                                 100 * profile.time_us / std::max(run.total_us, 1e-9));
  if (profile.flops > 0) {
    text += fmt::format("; {:.1f} GFLOP/s, {:.0f} % of peak",
                        giga_rate(profile.flops, profile.time_us), 100 * share.compute);
  }
  if (profile.bytes > 0) {
    text += fmt::format("; {:.1f} GB/s, {:.0f} % of memory",
                        giga_rate(profile.bytes, profile.time_us), 100 * share.memory);
  }
  if (!profile.substituted.empty()) text += "; " + profile.substituted;
  return text + "\n";
}

void add_step(const ExplainedStep& step, const RunRecord* run, std::string& text) {
  text += fmt::format("\nstep {}{} {}: {} {} on {}{}\n",
                      step.program ? fmt::format("{}.", step.program) : "", step.index,
                      step.step->name, step.family(), step.how(), place_text(step.step->place),
                      step.reference ? "  [slow: reference]" : "");
  if (!step.step->origins.empty()) {
    text += fmt::format("    from     {}\n", joined(step.step->origins, ", "));
  }
  for (const int32_t tensor : step.step->inputs) {
    text += fmt::format("    input    {}\n", tensor_text(*step.plan, tensor));
  }
  for (const int32_t tensor : step.step->outputs) {
    text += fmt::format("    output   {}\n", tensor_text(*step.plan, tensor));
  }
  if (!step.slow.empty()) text += fmt::format("    slow     {}\n", step.slow);
  if (run && step.profile) text += run_text(step, *run);
  if (!step.measured) return;
  if (!step.measured->candidates.empty()) text += "    candidates\n";
  for (const TacticTiming& candidate : step.measured->candidates) {
    text += candidate_text(candidate, step) + "\n";
  }
  if (step.measured->check_error >= 0) {
    text += fmt::format("    self-check  worst error {:.3g}, bound {:.3g}, {} elements\n",
                        step.measured->check_error, step.measured->check_bound,
                        step.measured->check_elements);
  }
}

void add_certificate(const Certificate& certificate, std::string& text) {
  if (!certificate.checked_against.empty()) {
    text +=
        fmt::format("\nchecked against {} on {}\n", certificate.checked_against, certificate.data);
  }
  for (const OutputLoss& loss : certificate.outputs) {
    text += fmt::format("  {}: max abs error {:.3g}, max rel error {:.3g}\n", loss.output,
                        loss.max_abs_error, loss.max_rel_error);
  }
  for (const std::string& line : certificate.demoted) text += "  demoted: " + line + "\n";
}

// Where the time goes, slowest first.
void add_table(const std::vector<ExplainedStep>& steps, const RunRecord& run, std::string& text) {
  std::vector<const ExplainedStep*> order;
  for (const ExplainedStep& step : steps) {
    if (step.profile) order.push_back(&step);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->profile->time_us > b->profile->time_us;
  });
  text += fmt::format("\n{:>10} {:>6} {:>7} {:>7}  {:32} {}\n", "us", "share", "%peak", "%memory",
                      "tactic", "step (origins)");
  for (const ExplainedStep* step : order) {
    const PeakShare share = peak_share(*step, run.peaks);
    const std::string by =
        step->reference ? "reference " + step->op() : step->tactic() + "/" + step->config();
    text += fmt::format(
        "{:10.2f} {:5.1f}% {:7.0f} {:7.0f}  {:32} {} ({})\n", step->profile->time_us,
        100 * step->profile->time_us / std::max(run.total_us, 1e-9), 100 * share.compute,
        100 * share.memory, by, step->step->name, joined(step->step->origins, "+"));
  }
}

}  // namespace

std::string explain_text(const Engine& engine, const RunRecord* run) {
  const LoadedEngine& loaded = engine.impl();
  const EngineContents& contents = loaded.contents();
  const std::vector<ExplainedStep> steps = explained_steps(loaded, run);
  std::string text =
      fmt::format("model    {}\ndevice   {}\nroute    {}\nsteps    {}\nbuild    {:.2f} s\n",
                  contents.manifest.model_name, contents.manifest.device, contents.manifest.route,
                  steps.size(), contents.volatile_section.build_seconds);
  std::string slow;
  size_t slow_count = 0;
  for (const ExplainedStep& step : steps) {
    add_step(step, run, text);
    if (!step.reference) continue;
    ++slow_count;
    slow += fmt::format("  {}{}{}: {}\n", step.step->name, step.step->origins.empty() ? "" : " of ",
                        joined(step.step->origins, ", "), step.slow);
  }
  if (run) add_table(steps, *run, text);
  if (!slow.empty()) {
    text += fmt::format("\n{} of {} steps run by the slow reference evaluation\n{}", slow_count,
                        steps.size(), slow);
  }
  const auto& notes = contents.volatile_section.notes;
  if (!notes.empty()) text += "\nnotes\n";
  for (const std::string& note : notes) text += "  " + note + "\n";
  add_certificate(contents.volatile_section.certificate, text);
  return text;
}

}  // namespace stoker
