// SPDX-License-Identifier: Apache-2.0
#include "passes/input_shapes.h"

#include "base/numeric.h"

namespace stoker {
namespace {

// A constant target that repeats the old batch takes the input's own (0) instead.
Status follow_batch(Graph& graph, Node& node, const Dims& old_input) {
  const Value* target = node.inputs[1];
  if (!target->is_constant() || target->constant->count() == 0 || old_input.empty())
    return Status::ok();
  const Dims& now = node.inputs[0]->type.dims;
  const LoadInt load = load_int(target->constant->dtype());
  const int64_t first = load(target->constant->data(), 0);
  if (now == old_input || now[0] == old_input[0] || !old_input[0].is_const() ||
      first != old_input[0].value() || node.attributes.get_int("allowzero", 0)) {
    return Status::ok();
  }
  STOKER_ASSIGN(Tensor copy,
                Tensor::from_bytes(target->constant->dtype(), target->constant->shape(),
                                   {static_cast<const std::byte*>(target->constant->data()),
                                    static_cast<size_t>(target->constant->bytes())}));
  store_int(copy.dtype())(copy.data(), 0, 0);
  graph.set_input(&node, 1, graph.add_constant(graph.fresh_name(target->name), std::move(copy)));
  return Status::ok();
}

// Symbols of the model that the new shapes turn into numbers or other names.
std::map<std::string, Dim> replaced_symbols(const Graph& graph,
                                            const std::map<std::string, Dims>& shapes) {
  std::map<std::string, Dim> replaced;
  for (const Value* input : graph.inputs) {
    const auto it = shapes.find(input->name);
    if (it == shapes.end() || it->second.size() != input->type.dims.size()) continue;
    for (size_t d = 0; d < it->second.size(); ++d) {
      const std::string text = input->type.dims[d].text();
      if (graph.find_symbol(text) && it->second[d] != input->type.dims[d])
        replaced.emplace(text, it->second[d]);
    }
  }
  return replaced;
}

}  // namespace

Status set_input_shapes(Graph& graph, const std::map<std::string, Dims>& shapes) {
  const std::map<std::string, Dim> replaced = replaced_symbols(graph, shapes);
  for (const auto& [name, dims] : shapes) {
    Value* input = graph.find_value(name);
    bool found = false;
    for (const Value* candidate : graph.inputs) found |= candidate == input;
    if (!found) return invalid_argument("the model has no input '{}'", name);
    if (input->type.ranked && input->type.dims.size() != dims.size()) {
      return invalid_argument("input '{}' has shape {}, the given {} has another rank", name,
                              dims_text(input->type.dims), dims_text(dims));
    }
  }
  std::map<const Value*, Dims> old;
  for (const auto& value : graph.values()) old[value.get()] = value->type.dims;
  for (Value* input : graph.inputs) {
    const auto it = shapes.find(input->name);
    if (it != shapes.end()) {
      input->type.dims = it->second;
      input->type.ranked = true;
    } else {
      for (Dim& dim : input->type.dims) dim = dim.substitute(replaced);
    }
    for (const Dim& dim : input->type.dims) {
      if (!dim.is_const() && !graph.find_symbol(dim.text()))
        graph.symbols.push_back({dim.text(), Symbol::Kind::kBind, 0, INT64_MAX});
    }
  }
  for (const auto& node : graph.nodes()) {
    if (node->is_constant()) continue;
    if (node->is("reshape")) STOKER_TRY(follow_batch(graph, *node, old[node->inputs[0]]));
    for (Value* output : node->outputs) output->elements.reset();
    STOKER_TRY(graph.infer(node.get()).at(node->name));
  }
  return Status::ok();
}

}  // namespace stoker
