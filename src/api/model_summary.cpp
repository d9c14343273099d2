// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/explain.h"
#include "api/loaded_model.h"
#include "base/status.h"

namespace stoker {
namespace {

using Json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
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
                        joined(info.dims));
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
