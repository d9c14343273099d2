// SPDX-License-Identifier: Apache-2.0
#include "api/explain.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "base/status.h"
#include "runtime/loaded_engine.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(separator)) + part;
  return text;
}

// "conv_0:out f32 [N,64,56,56] c16"
std::string tensor_text(const PlanProgram& program, int32_t index) {
  if (index < 0) return "-";
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  return fmt::format("{} {} {} {}", tensor.name, dtype_name(tensor.dtype), dims_text(tensor.dims),
                     layout_name(tensor.layout));
}

Json tensor_json(const PlanProgram& program, int32_t index) {
  if (index < 0) return nullptr;
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  Json dims = Json::array();
  for (const Dim& dim : tensor.dims) dims.push_back(dim.text());
  return {{"name", tensor.name},
          {"dtype", dtype_name(tensor.dtype)},
          {"dims", dims},
          {"layout", layout_name(tensor.layout)}};
}

const StepMeasurement* measurement_of(const EngineContents& contents, size_t step) {
  for (const StepMeasurement& measurement : contents.volatile_section.steps) {
    if (measurement.step == static_cast<int32_t>(step)) return &measurement;
  }
  return nullptr;
}

bool is_reference(const LoadedEngine& engine, const PlanStep& step) {
  const Tactic* tactic = engine.registry().find(step.tactic);
  return tactic && tactic->reference;
}

std::string candidate_text(const TacticTiming& candidate, const PlanStep& step) {
  const std::string name = candidate.config.empty()
                               ? candidate.tactic
                               : fmt::format("{} ({})", candidate.tactic, candidate.config);
  std::string text = fmt::format("      {:40} ", name);
  if (!candidate.refusal.empty()) return text + "refused: " + candidate.refusal;
  text += candidate.samples > 0
              ? fmt::format("{:12.2f} us, {} samples", candidate.median_ns / 1e3, candidate.samples)
              : "not timed";
  const bool chosen = candidate.tactic == step.tactic && candidate.config == step.config;
  return text + (chosen ? "  <- chosen" : "");
}

void add_step(const LoadedEngine& engine, size_t index, std::string& text) {
  const PlanProgram& program = engine.main();
  const PlanStep& step = program.steps[index];
  const Family family = static_cast<Family>(step.params.index());
  text += fmt::format("\nstep {} {}: {} by {} ({}) on {}{}\n", index, step.name,
                      family_name(family), step.tactic, step.config, place_text(step.place),
                      is_reference(engine, step) ? "  [slow: reference]" : "");
  if (!step.origins.empty()) {
    text += fmt::format("    from     {}\n", joined(step.origins, ", "));
  }
  for (const int32_t tensor : step.inputs) {
    text += fmt::format("    input    {}\n", tensor_text(program, tensor));
  }
  for (const int32_t tensor : step.outputs) {
    text += fmt::format("    output   {}\n", tensor_text(program, tensor));
  }
  const StepMeasurement* measured = measurement_of(engine.contents(), index);
  if (!measured) return;
  if (!measured->candidates.empty()) text += "    candidates\n";
  for (const TacticTiming& candidate : measured->candidates) {
    text += candidate_text(candidate, step) + "\n";
  }
  if (measured->check_error >= 0) {
    text += fmt::format("    self-check  worst error {:.3g}, bound {:.3g}, {} elements\n",
                        measured->check_error, measured->check_bound, measured->check_elements);
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

Json step_json(const LoadedEngine& engine, size_t index) {
  const PlanProgram& program = engine.main();
  const PlanStep& step = program.steps[index];
  Json json = {{"name", step.name},
               {"family", family_name(static_cast<Family>(step.params.index()))},
               {"place", place_text(step.place)},
               {"tactic", step.tactic},
               {"config", step.config},
               {"reference", is_reference(engine, step)},
               {"origins", step.origins}};
  json["inputs"] = Json::array();
  for (const int32_t tensor : step.inputs) json["inputs"].push_back(tensor_json(program, tensor));
  json["outputs"] = Json::array();
  for (const int32_t tensor : step.outputs) json["outputs"].push_back(tensor_json(program, tensor));
  json["candidates"] = Json::array();
  const StepMeasurement* measured = measurement_of(engine.contents(), index);
  if (!measured) return json;
  for (const TacticTiming& candidate : measured->candidates) {
    json["candidates"].push_back({{"tactic", candidate.tactic},
                                  {"config", candidate.config},
                                  {"median_us", candidate.median_ns / 1e3},
                                  {"samples", candidate.samples},
                                  {"refusal", candidate.refusal}});
  }
  if (measured->check_error >= 0) {
    json["self_check"] = {{"error", measured->check_error},
                          {"bound", measured->check_bound},
                          {"elements", measured->check_elements}};
  }
  return json;
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

// Occurrences of each op, sub-graphs included.
void count_ops(const Graph& graph, std::map<std::string, int64_t>& counts) {
  for (const auto& node : graph.nodes()) {
    ++counts[std::string(node->op->name)];
    for (const auto& subgraph : node->subgraphs) count_ops(*subgraph, counts);
  }
}

std::string ports_text(const char* title, const std::vector<TensorInfo>& infos) {
  std::string text;
  for (const TensorInfo& info : infos) {
    text += fmt::format("{:8} {}: {}[{}]\n", title, info.name, dtype_name(info.dtype),
                        joined(info.dims, ","));
  }
  return text;
}

Json ports_json(const std::vector<TensorInfo>& infos) {
  Json json = Json::array();
  for (const TensorInfo& info : infos) {
    json.push_back({{"name", info.name}, {"dtype", dtype_name(info.dtype)}, {"dims", info.dims}});
  }
  return json;
}

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace

std::string explain_text(const Engine& engine) {
  const LoadedEngine& loaded = engine.impl();
  const EngineContents& contents = loaded.contents();
  std::string text =
      fmt::format("model    {}\ndevice   {}\nroute    {}\nsteps    {}\nbuild    {:.2f} s\n",
                  contents.manifest.model_name, contents.manifest.device, contents.manifest.route,
                  loaded.main().steps.size(), contents.volatile_section.build_seconds);
  std::vector<std::string> slow;
  for (size_t i = 0; i < loaded.main().steps.size(); ++i) {
    add_step(loaded, i, text);
    if (is_reference(loaded, loaded.main().steps[i])) slow.push_back(loaded.main().steps[i].name);
  }
  if (!slow.empty()) {
    text += fmt::format("\n{} of {} steps run by the slow reference tactic: {}\n", slow.size(),
                        loaded.main().steps.size(), joined(slow, ", "));
  }
  const auto& notes = contents.volatile_section.notes;
  if (!notes.empty()) text += "\nnotes\n";
  for (const std::string& note : notes) text += "  " + note + "\n";
  add_certificate(contents.volatile_section.certificate, text);
  return text;
}

std::string explain_json(const Engine& engine) {
  const LoadedEngine& loaded = engine.impl();
  const EngineContents& contents = loaded.contents();
  Json json = {{"model", contents.manifest.model_name},
               {"device", contents.manifest.device},
               {"route", contents.manifest.route},
               {"build_s", contents.volatile_section.build_seconds},
               {"fingerprint", contents.volatile_section.fingerprint}};
  json["steps"] = Json::array();
  for (size_t i = 0; i < loaded.main().steps.size(); ++i) {
    json["steps"].push_back(step_json(loaded, i));
  }
  json["notes"] = contents.volatile_section.notes;
  json["certificate"] = certificate_json(contents.volatile_section.certificate);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string model_text(const Model& model) {
  const ImportedModel& imported = model.impl().imported;
  std::string text = fmt::format("model    {}\n", imported.graph->name);
  if (!imported.producer.empty()) text += fmt::format("producer {}\n", imported.producer);
  for (const auto& [domain, version] : imported.opsets) {
    text += fmt::format("opset    {} {}\n", domain_name(domain), version);
  }
  text += ports_text("input", model.inputs()) + ports_text("output", model.outputs());
  std::map<std::string, int64_t> counts;
  count_ops(*imported.graph, counts);
  std::vector<std::pair<int64_t, std::string>> ordered;
  int64_t total = 0;
  for (const auto& [op, count] : counts) {
    ordered.emplace_back(-count, op);
    total += count;
  }
  std::sort(ordered.begin(), ordered.end());
  text += fmt::format("nodes    {}\n", total);
  for (const auto& [negative, op] : ordered) text += fmt::format("  {:6} {}\n", -negative, op);
  for (const std::string& warning : imported.warnings) text += "warning  " + warning + "\n";
  return text;
}

std::string model_json(const Model& model) {
  const ImportedModel& imported = model.impl().imported;
  Json opsets = Json::object();
  for (const auto& [domain, version] : imported.opsets) opsets[domain_name(domain)] = version;
  std::map<std::string, int64_t> counts;
  count_ops(*imported.graph, counts);
  const Json json = {{"model", imported.graph->name},
                     {"producer", imported.producer},
                     {"opsets", opsets},
                     {"inputs", ports_json(model.inputs())},
                     {"outputs", ports_json(model.outputs())},
                     {"ops", counts},
                     {"warnings", imported.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stoker
