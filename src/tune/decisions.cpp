// SPDX-License-Identifier: Apache-2.0
#include "tune/decisions.h"

#include <nlohmann/json.hpp>

namespace stoker {

using nlohmann::json;

Decisions decisions_of(const EngineContents& contents) {
  Decisions decisions;
  decisions.library_version = contents.manifest.library_version;
  decisions.route = contents.manifest.route;
  for (const PlanProgram& program : contents.programs) {
    if (program.kind == PlanProgram::Kind::kDynamic) continue;
    for (const PlanStep& step : program.steps) {
      StepDecision decision{step.tactic, step.config, step.tactic_version, {}};
      for (const auto* ids : {&step.inputs, &step.outputs}) {
        for (const int32_t id : *ids) {
          decision.layouts.push_back(id < 0 ? Layout::kPlain
                                            : program.tensors[static_cast<size_t>(id)].layout);
        }
      }
      decisions.steps[step.name] = std::move(decision);
    }
  }
  return decisions;
}

std::string decisions_text(const Decisions& decisions) {
  json steps = json::object();
  for (const auto& [name, decision] : decisions.steps) {
    json layouts = json::array();
    for (const Layout layout : decision.layouts) layouts.push_back(layout_name(layout));
    steps[name] = {{"tactic", decision.tactic},
                   {"version", decision.version},
                   {"config", decision.config},
                   {"layouts", layouts}};
  }
  const json root = {
      {"library", decisions.library_version}, {"route", decisions.route}, {"steps", steps}};
  return root.dump(1) + "\n";
}

namespace {

Result<Layout> layout_from(const std::string& name) {
  for (const Layout layout : {Layout::kPlain, Layout::kC16}) {
    if (name == layout_name(layout)) return layout;
  }
  return invalid_model("decisions: unknown layout '{}'", name);
}

Result<StepDecision> step_from(const json& row) {
  StepDecision decision;
  if (!row.is_object()) return invalid_model("decisions: a step is not an object");
  decision.tactic = row.value("tactic", "");
  decision.version = row.value("version", 0);
  decision.config = row.value("config", "");
  const json layouts = row.value("layouts", json::array());
  for (const json& layout : layouts) {
    if (!layout.is_string()) return invalid_model("decisions: a layout is not a string");
    STOKER_ASSIGN(const Layout value, layout_from(layout.get<std::string>()));
    decision.layouts.push_back(value);
  }
  return decision;
}

}  // namespace

Result<Decisions> parse_decisions(const std::string& text) {
  try {
    const json root = json::parse(text);
    if (!root.is_object() || !root.contains("steps") || !root["steps"].is_object()) {
      return invalid_model("decisions: expected an object with \"steps\"");
    }
    Decisions decisions;
    decisions.library_version = root.value("library", "");
    decisions.route = root.value("route", "");
    for (const auto& [name, row] : root["steps"].items()) {
      STOKER_ASSIGN(decisions.steps[name], step_from(row));
    }
    return decisions;
  } catch (const json::exception& e) {
    return invalid_model(
        "decisions: expected the JSON that --save-decisions writes, found something else: {}",
        e.what());
  }
}

}  // namespace stoker
