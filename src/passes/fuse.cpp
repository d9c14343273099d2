// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse.h"

#include <unordered_map>
#include <unordered_set>

#include "passes/match.h"

namespace stoker {
namespace {

using ValuePairs = std::unordered_map<const Value*, Value*>;

void copy_facts(const Value& from, Value* to) {
  to->type = from.type;
  to->elements = from.elements;
  to->constant = from.constant;
  to->open = from.open;
  to->origin = from.origin;
}

// Appends a copy of the node whose inputs are mapped; outputs enter the map and take over the
// names.
Node* copy_node(Graph& to, const Node& node, ValuePairs& map, Node* before) {
  std::vector<Value*> inputs;
  for (const Value* value : node.inputs) inputs.push_back(value ? map.at(value) : nullptr);
  Node* copy = to.add_node(*node.op, std::move(inputs), node.attributes,
                           static_cast<int>(node.outputs.size()), before, node.name);
  copy->origins = node.origins;
  for (const auto& sub : node.subgraphs) {
    copy->subgraphs.push_back(sub->clone());
    copy->subgraphs.back()->set_parent(&to);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    copy_facts(*node.outputs[i], copy->outputs[i]);
    to.rename(copy->outputs[i], node.outputs[i]->name);
    map[node.outputs[i]] = copy->outputs[i];
  }
  return copy;
}

Value* add_body_input(Graph& body, const Value& outside) {
  Value* input = body.add_input(outside.name, outside.type);
  input->elements = outside.elements;
  if (!input->elements && outside.constant && outside.constant->rank() <= 1 &&
      outside.constant->dtype() == DType::kI64 && outside.constant->count() <= 64) {
    const auto ints = constant_ints(&outside);
    input->elements = Dims(ints->begin(), ints->end());
  }
  return input;
}

bool used_outside(const Graph& graph, const Value* value,
                  const std::unordered_set<const Node*>& members) {
  for (const Use& use : value->uses) {
    if (!members.count(use.node)) return true;
  }
  return graph.is_output(value);
}

}  // namespace

Node* fuse(Graph& graph, const std::vector<Node*>& members, const std::string& name) {
  STOKER_CHECK(!members.empty());
  const std::unordered_set<const Node*> inside(members.begin(), members.end());
  auto body = std::make_unique<Graph>(name);
  body->set_parent(&graph);
  ValuePairs map;
  std::vector<Value*> inputs, outputs;
  for (const Node* member : members) {
    for (Value* value : member->inputs) {
      if (!value || map.count(value)) continue;
      map[value] = add_body_input(*body, *value);
      inputs.push_back(value);
    }
    copy_node(*body, *member, map, nullptr);
  }
  for (const Node* member : members) {
    // An output in front of one that is used comes along: kernels know outputs by their position.
    size_t count = member->outputs.size();
    while (count > 0 && !used_outside(graph, member->outputs[count - 1], inside)) --count;
    for (size_t i = 0; i < count; ++i) {
      outputs.push_back(member->outputs[i]);
      body->outputs.push_back(map.at(member->outputs[i]));
    }
  }
  Node* fused = graph.add_node(*find_op("fused"), inputs, {}, static_cast<int>(outputs.size()),
                               members.back(), name);
  fused->subgraphs.push_back(std::move(body));
  std::vector<std::string> names;
  for (const Node* member : members) append_origins(fused, *member);
  for (size_t i = 0; i < outputs.size(); ++i) {
    copy_facts(*outputs[i], fused->outputs[i]);
    names.push_back(outputs[i]->name);
    graph.replace_all_uses(outputs[i], fused->outputs[i]);
  }
  for (size_t i = members.size(); i-- > 0;) graph.erase(members[i]);
  for (size_t i = 0; i < names.size(); ++i) graph.rename(fused->outputs[i], names[i]);
  return fused;
}

std::vector<Value*> inline_body(Graph& graph, const Graph& body, const std::vector<Value*>& args,
                                Node* before, std::vector<Node*>* inlined) {
  ValuePairs map;
  for (size_t i = 0; i < body.inputs.size(); ++i) map[body.inputs[i]] = args[i];
  for (const auto& value : body.values()) {
    if (value->is_constant() && !value->producer) {
      map[value.get()] = graph.add_constant(value->name, *value->constant, value->origin);
    }
  }
  for (const auto& node : body.nodes()) {
    Node* copy = copy_node(graph, *node, map, before);
    if (inlined) inlined->push_back(copy);
  }
  std::vector<Value*> outputs;
  for (const Value* value : body.outputs) outputs.push_back(map.at(value));
  return outputs;
}

std::vector<Node*> unfuse_node(Graph& graph, Node* fused) {
  std::vector<Node*> nodes;
  const auto outputs = inline_body(graph, *fused->subgraphs[0], fused->inputs, fused, &nodes);
  std::vector<std::string> names, value_names;
  for (const auto& node : fused->subgraphs[0]->nodes()) names.push_back(node->name);
  for (size_t i = 0; i < outputs.size(); ++i) {
    value_names.push_back(fused->outputs[i]->name);
    graph.replace_all_uses(fused->outputs[i], outputs[i]);
  }
  graph.erase(fused);
  for (size_t i = 0; i < outputs.size(); ++i) graph.rename(outputs[i], value_names[i]);
  for (size_t i = 0; i < nodes.size(); ++i) graph.rename_node(nodes[i], names[i]);
  return nodes;
}

Result<int> unfuse(Graph& graph) {
  int count = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is("fused")) {
      unfuse_node(graph, node);
      ++count;
      continue;
    }
    for (const auto& sub : node->subgraphs) {
      STOKER_ASSIGN(const int inner, unfuse(*sub));
      count += inner;
    }
  }
  return count;
}

Node* fuse_if_supported(Graph& graph, std::vector<Node*>& members, const std::string& name,
                        const PassContext& context) {
  Node* fused = fuse(graph, members, name);
  members.clear();
  if (!context.oracle) return fused;
  const Status status = context.oracle->has_tactic(*fused);
  if (status.is_ok()) return fused;
  if (context.refusals) context.refusals->push_back({name, origins_text(*fused), status.message()});
  members = unfuse_node(graph, fused);
  return nullptr;
}

}  // namespace stoker
