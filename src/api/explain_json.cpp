// The explanation as JSON, as a page, and the trace of a run.
// SPDX-License-Identifier: Apache-2.0
#include <explain_page.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/explain.h"
#include "api/explain_parts.h"
#include "base/status.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json tensor_json(const PlanProgram& program, int32_t index) {
  if (index < 0) return nullptr;
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  Json dims = Json::array();
  for (const Dim& dim : tensor.dims) dims.push_back(dim.text());
  // A view is written by whoever writes the tensor that it lies in.
  const PlanTensor& root =
      tensor.alias_of < 0 ? tensor : program.tensors[static_cast<size_t>(tensor.alias_of)];
  return {{"name", tensor.name},
          {"memory_of", root.name},
          {"dtype", dtype_name(tensor.dtype)},
          {"dims", tensor.ranked ? dims : Json(nullptr)},
          {"layout", layout_name(tensor.layout)},
          {"weight", tensor.kind == PlanTensor::Kind::kWeight}};
}

Json run_json(const ExplainedStep& step, const RunRecord& run) {
  const StepProfile& profile = *step.profile;
  const PeakShare share = peak_share(step, run.peaks);
  return {{"time_us", profile.time_us},
          {"share", run.total_us > 0 ? profile.time_us / run.total_us : 0},
          {"flops", profile.flops},
          {"bytes", profile.bytes},
          {"gflop_per_s", giga_rate(profile.flops, profile.time_us)},
          {"gb_per_s", giga_rate(profile.bytes, profile.time_us)},
          {"compute_peak_share", share.compute},
          {"memory_peak_share", share.memory},
          {"substituted", profile.substituted}};
}

Json step_json(const ExplainedStep& step, const RunRecord* run) {
  Json json = {{"name", step.step->name},
               {"program", step.plan->name},
               {"family", step.family()},
               {"place", place_text(step.step->place)},
               {"tactic", step.tactic()},
               {"config", step.config()},
               {"reference", step.reference},
               {"origins", step.step->origins},
               {"op", step.op()},
               {"slow", step.slow}};
  json["inputs"] = Json::array();
  for (const int32_t tensor : step.step->inputs)
    json["inputs"].push_back(tensor_json(*step.plan, tensor));
  json["outputs"] = Json::array();
  for (const int32_t tensor : step.step->outputs)
    json["outputs"].push_back(tensor_json(*step.plan, tensor));
  json["candidates"] = Json::array();
  if (run && step.profile) json["run"] = run_json(step, *run);
  if (!step.measured) return json;
  for (const TacticTiming& candidate : step.measured->candidates) {
    json["candidates"].push_back({{"tactic", candidate.tactic},
                                  {"config", candidate.config},
                                  {"median_us", candidate.median_ns / 1e3},
                                  {"samples", candidate.samples},
                                  {"refusal", candidate.refusal}});
  }
  if (step.measured->check_error >= 0) {
    json["self_check"] = {{"error", step.measured->check_error},
                          {"bound", step.measured->check_bound},
                          {"elements", step.measured->check_elements}};
  }
  return json;
}

// The nodes of the model file, each with the step that runs it.
Json nodes_json(const std::vector<ExplainedStep>& steps) {
  Json nodes = Json::array();
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const std::string& origin : steps[s].step->origins) {
      Json node = {{"name", origin}, {"step", s}, {"nodes_of_step", steps[s].step->origins.size()}};
      if (steps[s].profile) node["time_us"] = steps[s].profile->time_us;
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

Json peaks_json(const MachinePeaks& peaks) {
  return {{"threads", peaks.threads},         {"f32_gflops", peaks.f32_gflops},
          {"bf16_gflops", peaks.bf16_gflops}, {"int8_gops", peaks.int8_gops},
          {"l2_gb_s", peaks.l2_gb_s},         {"l3_gb_s", peaks.l3_gb_s},
          {"dram_gb_s", peaks.dram_gb_s}};
}

Json certificate_json(const Certificate& certificate) {
  Json outputs = Json::array();
  for (const OutputLoss& loss : certificate.outputs) {
    outputs.push_back({{"output", loss.output},
                       {"max_abs_error", loss.max_abs_error},
                       {"max_rel_error", loss.max_rel_error}});
  }
  return {{"checked_against", certificate.checked_against},
          {"data", certificate.data},
          {"outputs", outputs},
          {"demoted", certificate.demoted}};
}

Json engine_json(const Engine& engine, const RunRecord* run) {
  const EngineContents& contents = engine.impl().contents();
  Json json = {{"model", contents.manifest.model_name},
               {"device", contents.manifest.device},
               {"route", contents.manifest.route},
               {"build_s", contents.volatile_section.build_seconds},
               {"fingerprint", contents.volatile_section.fingerprint}};
  const std::vector<ExplainedStep> steps = explained_steps(engine.impl(), run);
  json["steps"] = Json::array();
  for (const ExplainedStep& step : steps) json["steps"].push_back(step_json(step, run));
  json["nodes"] = nodes_json(steps);
  if (run) {
    json["total_us"] = run->total_us;
    json["peaks"] = peaks_json(run->peaks);
  }
  json["notes"] = contents.volatile_section.notes;
  json["certificate"] = certificate_json(contents.volatile_section.certificate);
  return json;
}

}  // namespace

std::string explain_json(const Engine& engine, const RunRecord* run) {
  return dump(engine_json(engine, run), 2);
}

std::string explain_html(const Engine& engine, const RunRecord* run) {
  return page_with_data(kExplainPage, dump(engine_json(engine, run), -1));
}

std::string chrome_trace(const RunRecord& run) {
  Json events = Json::array();
  int workers = 0;
  for (const TraceEvent& event : run.trace) {
    workers = std::max(workers, event.worker + 1);
    events.push_back({{"name", event.step},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", event.worker},
                      {"ts", event.start_us},
                      {"dur", event.duration_us},
                      {"args", {{"program", event.program}, {"phase", event.phase}}}});
  }
  for (int worker = 0; worker < workers; ++worker) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", worker},
                      {"args", {{"name", fmt::format("worker {}", worker)}}}});
  }
  return dump({{"displayTimeUnit", "ns"}, {"traceEvents", events}}, -1);
}

std::string checked_against(const Engine& engine) {
  return engine.impl().contents().volatile_section.certificate.checked_against;
}

}  // namespace stoker
