// A comparison in words, as JSON and as a page.
// SPDX-License-Identifier: Apache-2.0
#include <compare_page.h>

#include <nlohmann/json.hpp>

#include "api/compare.h"
#include "api/explain_parts.h"
#include "base/status.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

std::string growth_text(const ComparedValue& value) {
  if (value.errors.l2 == 0) return "";
  return value.growth < 0 ? "begins" : fmt::format("x{:.3g}", value.growth);
}

std::string row_text(const ComparedValue& value, bool first) {
  const ValueErrors& e = value.errors;
  std::string text = fmt::format("{:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9}  {}{} {}", e.max_abs,
                                 e.max_rel, e.l2, e.cosine_distance, growth_text(value),
                                 value.output ? "output " : "", value.name, value.type);
  const bool named = value.nodes.size() == 1 && value.nodes[0] == value.name;
  if (!named && !value.nodes.empty()) text += fmt::format(" ({})", joined(value.nodes, "+"));
  if (value.occurrences > 1) text += fmt::format(", {} times", value.occurrences);
  if (!value.passed) text += first ? "  <- first over tolerance" : "  over";
  return text + "\n";
}

void add_summary(const EngineComparison& comparison, std::string& text) {
  text += fmt::format("\n{} values compared", comparison.values.size());
  if (comparison.only_a + comparison.only_b > 0) {
    text += fmt::format("; {} that only A has and {} that only B has are left out (fused there)",
                        comparison.only_a, comparison.only_b);
  }
  text += "\n";
  for (const std::string& line : comparison.unlike) text += "not compared: " + line + "\n";
  for (const std::string& line : comparison.notes) text += "note: " + line + "\n";
  const ComparedValue* first = comparison.first_over();
  if (first) {
    text +=
        fmt::format("first over tolerance: {}, made by {} ({} in A, {} in B)\n  {}\n", first->name,
                    joined(first->made_by, ", "), first->tactic_a, first->tactic_b, first->reason);
  } else {
    text += "no value is over tolerance\n";
  }
}

Json value_json(const ComparedValue& value) {
  return {{"name", value.name},
          {"nodes", value.nodes},
          {"type", value.type},
          {"output", value.output},
          {"occurrences", value.occurrences},
          {"step_a", value.step_a},
          {"tactic_a", value.tactic_a},
          {"step_b", value.step_b},
          {"tactic_b", value.tactic_b},
          {"max_abs", value.errors.max_abs},
          {"max_rel", value.errors.max_rel},
          {"l2", value.errors.l2},
          {"cosine_distance", value.errors.cosine_distance},
          {"growth", value.growth < 0 ? Json(nullptr) : Json(value.growth)},
          {"made_by", value.made_by},
          {"passed", value.passed},
          {"reason", value.reason}};
}

Json report_json(const EngineComparison& comparison, const ComparedNames& names) {
  const ComparedValue* first = comparison.first_over();
  Json json = {{"a", names.a},
               {"b", names.b},
               {"passed", comparison.passed()},
               {"first_over", first ? Json(first->name) : Json(nullptr)}};
  json["outputs"] = Json::array();
  for (const OutputComparison& output : comparison.outputs) {
    json["outputs"].push_back({{"name", output.output},
                               {"max_abs", output.max_abs},
                               {"max_rel", output.max_rel},
                               {"passed", output.passed},
                               {"reason", output.reason}});
  }
  json["values"] = Json::array();
  for (const ComparedValue& value : comparison.values) json["values"].push_back(value_json(value));
  json["only_a"] = comparison.only_a;
  json["only_b"] = comparison.only_b;
  json["unlike"] = comparison.unlike;
  json["notes"] = comparison.notes;
  return json;
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string comparison_text(const EngineComparison& comparison, const ComparedNames& names) {
  std::string text = fmt::format("A  {}\nB  {}\n\n", names.a, names.b);
  text += fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "max abs", "max rel", "L2", "1-cos",
                      "growth", "value (nodes)");
  const ComparedValue* first = comparison.first_over();
  for (const ComparedValue& value : comparison.values) text += row_text(value, &value == first);
  add_summary(comparison, text);
  text += "outputs\n";
  for (const OutputComparison& output : comparison.outputs) {
    text += fmt::format("  {}: max abs {:.3g}, max rel {:.3g}: {}\n", output.output, output.max_abs,
                        output.max_rel, output.passed ? "passed" : "FAILED: " + output.reason);
  }
  return text;
}

std::string comparison_json(const EngineComparison& comparison, const ComparedNames& names) {
  return dump(report_json(comparison, names), 2);
}

std::string comparison_html(const EngineComparison& comparison, const ComparedNames& names) {
  return page_with_data(kComparePage, dump(report_json(comparison, names), -1));
}

}  // namespace stoker
