// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "engine/engine_file.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

Json symbol_json(const PlanSymbol& symbol) {
  return {{"name", symbol.name},
          {"kind", symbol.kind == PlanSymbol::Kind::kBind ? "bind" : "step"},
          {"min", symbol.min},
          {"max", symbol.max == INT64_MAX ? Json(nullptr) : Json(symbol.max)},
          {"optimum", symbol.optimum}};
}

Json dims_json(const Dims& dims) {
  Json list = Json::array();
  for (const Dim& dim : dims) list.push_back(dim.is_const() ? Json(dim.value()) : Json(dim.text()));
  return list;
}

// Indices may be wrong here: an engine is described before it is verified when verification fails.
const PlanTensor* tensor_at(const PlanProgram& program, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < program.tensors.size()
             ? &program.tensors[static_cast<size_t>(index)]
             : nullptr;
}

Json operand_json(const PlanProgram& program, int32_t index) {
  const PlanTensor* tensor = tensor_at(program, index);
  if (!tensor) return nullptr;
  return {{"tensor", index},
          {"name", tensor->name},
          {"dtype", dtype_name(tensor->dtype)},
          {"shape", dims_json(tensor->dims)},
          {"layout", layout_name(tensor->layout)}};
}

Json ports_json(const PlanProgram& program, const std::vector<PlanPort>& ports) {
  Json list = Json::array();
  for (const PlanPort& port : ports) {
    const PlanTensor* tensor = tensor_at(program, port.tensor);
    list.push_back({{"name", port.name},
                    {"dtype", tensor ? Json(dtype_name(tensor->dtype)) : Json(nullptr)},
                    {"shape", tensor ? dims_json(tensor->dims) : Json(nullptr)}});
  }
  return list;
}

Json step_json(const PlanProgram& program, const PlanStep& step) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const int32_t input : step.inputs) inputs.push_back(operand_json(program, input));
  for (const int32_t output : step.outputs) outputs.push_back(operand_json(program, output));
  const auto* fallback = std::get_if<FallbackParams>(&step.params);
  Json json = {
      {"name", step.name},       {"family", family_name(static_cast<Family>(step.params.index()))},
      {"tactic", step.tactic},   {"tactic_version", step.tactic_version},
      {"config", step.config},   {"place", place_text(step.place)},
      {"origins", step.origins}, {"inputs", inputs},
      {"outputs", outputs},      {"after", step.after}};
  if (fallback) json["op"] = fallback->op;
  if (!step.subprograms.empty()) json["subprograms"] = step.subprograms;
  return json;
}

Json program_json(const PlanProgram& program) {
  Json steps = Json::array(), states = Json::array();
  for (const PlanStep& step : program.steps) steps.push_back(step_json(program, step));
  for (const PlanState& state : program.states) {
    states.push_back({{"name", state.name}, {"value", operand_json(program, state.initial)}});
  }
  return {{"name", program.name},
          {"inputs", ports_json(program, program.inputs)},
          {"outputs", ports_json(program, program.outputs)},
          {"states", states},
          {"steps", steps}};
}

Json weight_json(const PlanWeight& weight) {
  return {{"name", weight.name},           {"dtype", dtype_name(weight.dtype)},
          {"shape", weight.shape},         {"packing", packing_name(weight.packing)},
          {"bytes", weight.bytes.bytes()}, {"sources", weight.recipe.sources}};
}

Json measurement_json(const StepMeasurement& measurement) {
  Json candidates = Json::array();
  for (const TacticTiming& timing : measurement.candidates) {
    candidates.push_back({{"tactic", timing.tactic},
                          {"config", timing.config},
                          {"median_ns", timing.median_ns},
                          {"samples", timing.samples},
                          {"refusal", timing.refusal}});
  }
  return {{"step", measurement.step},
          {"candidates", candidates},
          {"check_error", measurement.check_error},
          {"check_bound", measurement.check_bound},
          {"check_elements", measurement.check_elements}};
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
          {"data_hash", certificate.data_hash},
          {"outputs", outputs},
          {"demoted", certificate.demoted}};
}

}  // namespace

std::string describe_engine_json(const EngineContents& contents) {
  const Manifest& manifest = contents.manifest;
  Json json = {{"format_version", kEngineFormatVersion},
               {"manifest",
                {{"library_version", manifest.library_version},
                 {"model_name", manifest.model_name},
                 {"model_hash", manifest.model_hash},
                 {"device", manifest.device},
                 {"options", manifest.options},
                 {"source_weight_bytes", manifest.source_weight_bytes},
                 {"route", manifest.route}}}};
  json["op_libraries"] = Json::array();
  for (const UsedLibrary& library : manifest.op_libraries) {
    json["op_libraries"].push_back(
        {{"name", library.name}, {"version", library.version}, {"hash", library.hash}});
  }
  const Result<std::string> digest = engine_digest(contents);
  json["digest"] = digest.is_ok() ? Json(*digest) : Json(nullptr);
  json["symbols"] = Json::array();
  for (const PlanSymbol& symbol : contents.symbols) json["symbols"].push_back(symbol_json(symbol));
  json["programs"] = Json::array();
  for (const PlanProgram& program : contents.programs)
    json["programs"].push_back(program_json(program));
  json["weights"] = Json::array();
  int64_t bytes = 0;
  for (const PlanWeight& weight : contents.weights) {
    json["weights"].push_back(weight_json(weight));
    bytes += weight.bytes.bytes();
  }
  json["weights_bytes"] = bytes;
  json["graph_bytes"] = contents.graph_text.size();
  const Volatile& figures = contents.volatile_section;
  json["certificate"] = certificate_json(figures.certificate);
  json["fingerprint"] = figures.fingerprint;
  json["build_seconds"] = figures.build_seconds;
  json["measurements"] = Json::array();
  for (const StepMeasurement& step : figures.steps)
    json["measurements"].push_back(measurement_json(step));
  json["notes"] = figures.notes;
  // Names come from model files and need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stoker
