// Which constants of the model a refit may give anew.
//
// A constant may change when all that the build took from it went through recipes. What it did not:
// constants that no recipe mentions (they were read, or proved neutral), quantization parameters,
// integers that say shapes or places, numbers with several roles, of which one may have been read.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "ir/text.h"
#include "lower/lower_graph.h"

namespace stoker {
namespace {

// A constant of the model file and its role.
struct Role {
  Tensor value;
  int uses = 0;
  bool quantizes = false;    // scale or zero point
  bool dequantized = false;  // integers whose every use is to be dequantized, or multiplied as such
  bool ambiguous = false;    // its name stands for several constants
};

bool is_quantization(const Node& node) {
  return node.is("quantize_linear") || node.is("dequantize_linear");
}

bool takes_integers(const Node& node, int input) {
  if (node.is("dequantize_linear")) return input == 0;
  return (node.is("matmul_integer") || node.is("conv_integer")) && input < 2;
}

void collect_roles(const Graph& graph, std::map<std::string, Role>& roles) {
  for (const auto& value : graph.values()) {
    if (!value->constant || value->producer || value->origin.empty()) continue;
    const auto [it, added] = roles.try_emplace(value->origin);
    Role& role = it->second;
    role.ambiguous |= !added && role.value.data() != value->constant->data();
    role.dequantized = added || role.dequantized;
    role.value = *value->constant;
    role.uses += static_cast<int>(value->uses.size()) + graph.is_output(value.get());
    for (const Use& use : value->uses) {
      role.quantizes |= is_quantization(*use.node) && use.input > 0;
      role.dequantized &= takes_integers(*use.node, use.input);
    }
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->subgraphs) collect_roles(*body, roles);
  }
}

std::string frozen_reason(const Role& role, bool in_recipe) {
  if (role.ambiguous) return "several constants of the model have this name";
  if (role.quantizes) return "it is a scale or zero point, which the kernels hold as numbers";
  if (!in_recipe) return "its value decided what was built, or has no part in the result";
  const DType dtype = role.value.dtype();
  if (!is_float(dtype) && !role.dequantized)
    return "integers, booleans and texts may decide what is built";
  if (role.value.count() == 1 && role.uses > 1)
    return "one number with several roles in the model may have decided what was built";
  return "";
}

}  // namespace

void open_weights(Graph& graph) {
  for (const auto& value : graph.values()) {
    if (!value->constant || value->producer || value->origin.empty()) continue;
    const bool product = std::all_of(value->uses.begin(), value->uses.end(), [](const Use& use) {
      return takes_integers(*use.node, use.input);
    });
    value->open = value->constant->rank() > 0 && (is_float(value->type.dtype) || product);
    if (value->open) value->elements.reset();
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->subgraphs) open_weights(*body);
  }
}

void keep_sources(EngineContents& contents, const Graph& imported) {
  std::map<std::string, Role> roles;
  collect_roles(imported, roles);
  std::map<std::string, PlanSource> sources;
  for (PlanSource& source : contents.sources) {
    source.hash = content_hash(source.bytes);
    const auto role = roles.find(source.name);
    source.frozen = role == roles.end() ? "the build made it" : frozen_reason(role->second, true);
    sources[source.name] = std::move(source);
  }
  for (const auto& [name, role] : roles) {
    const auto [it, added] = sources.try_emplace(name);
    if (!added) continue;
    it->second = {name,
                  role.value.dtype(),
                  role.value.shape(),
                  content_hash(role.value),
                  frozen_reason(role, false),
                  false,
                  {}};
  }
  // Needed again: whatever stands in a recipe beside a constant that may change.
  for (const PlanWeight& weight : contents.weights) {
    const auto& names = weight.recipe.sources;
    const auto open = std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      return sources.at(name).frozen.empty();
    });
    for (const std::string& name : names) {
      PlanSource& source = sources.at(name);
      source.kept |= open > (source.frozen.empty() ? 1 : 0);
    }
  }
  contents.sources.clear();
  for (auto& [name, source] : sources) {
    if (!source.kept) source.bytes = Tensor();
    contents.sources.push_back(std::move(source));
  }
  contents.manifest.structure = structure_hash(imported, contents.sources);
}

std::set<std::string> open_sources(const std::vector<PlanSource>& sources) {
  std::set<std::string> names;
  for (const PlanSource& source : sources) {
    if (source.frozen.empty()) names.insert(source.name);
  }
  return names;
}

void strip_weights(EngineContents& contents) {
  const std::set<std::string> open = open_sources(contents.sources);
  for (PlanSource& source : contents.sources) {
    if (source.frozen.empty()) source.bytes = Tensor();
  }
  for (PlanWeight& weight : contents.weights) {
    const auto& names = weight.recipe.sources;
    const bool changes = std::any_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return open.count(name) > 0; });
    if (changes) weight.bytes = Tensor();
  }
}

std::string structure_hash(const Graph& imported, const std::vector<PlanSource>& sources) {
  PrintOptions options;
  options.open = open_sources(sources);
  const std::string text = print(imported, options);
  return content_hash(std::as_bytes(std::span(text)));
}

}  // namespace stoker
