// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>
#include <queue>
#include <span>
#include <unordered_map>

#include "base/hash.h"

namespace stoker {
namespace {

void remove_use(Value* value, const Node* node, int input) {
  auto& uses = value->uses;
  // From the back: chains of rewrites touch the newest uses first.
  for (size_t i = uses.size(); i-- > 0;) {
    if (uses[i].node == node && uses[i].input == input) {
      uses.erase(uses.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }
  STOKER_CHECK(!"the use list holds every use");
}

template <class Taken>
std::string make_fresh(const std::string& base, std::map<std::string, int>& counters, Taken taken) {
  if (!taken(base)) return base;
  int& counter = counters[base];
  while (true) {
    std::string name = base + "_" + std::to_string(++counter);
    if (!taken(name)) return name;
  }
}

}  // namespace

Value* Graph::add_value(const std::string& base) {
  auto value = std::make_unique<Value>();
  value->name = fresh_name(base);
  Value* raw = value.get();
  by_name_[raw->name] = raw;
  values_.push_back(std::move(value));
  raw->position = std::prev(values_.end());
  return raw;
}

Value* Graph::add_input(const std::string& input_name, ValueType type) {
  Value* value = add_value(input_name.empty() ? "input" : input_name);
  register_symbols(type);
  value->type = std::move(type);
  inputs.push_back(value);
  return value;
}

Value* Graph::add_constant(const std::string& constant_name, Tensor tensor, std::string origin) {
  Value* value = add_value(constant_name.empty() ? "const" : constant_name);
  value->type =
      ValueType::tensor(tensor.dtype(), Dims(tensor.shape().begin(), tensor.shape().end()));
  value->constant = std::move(tensor);
  value->origin = std::move(origin);
  return value;
}

Node* Graph::add_node(const Op& op, std::vector<Value*> node_inputs, Attributes attributes,
                      int output_count, Node* before, const std::string& node_name) {
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->op = &op;
  node->name = fresh_node_name(node_name.empty() ? std::string(op.name) : node_name);
  node_names_.insert(node->name);
  node->inputs = std::move(node_inputs);
  node->attributes = std::move(attributes);
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    if (node->inputs[i]) node->inputs[i]->uses.push_back({node, static_cast<int>(i)});
  }
  for (int i = 0; i < output_count; ++i) {
    Value* value = add_value(i == 0 ? node->name : node->name + "." + std::to_string(i));
    value->producer = node;
    value->output = i;
    node->outputs.push_back(value);
  }
  node->position = nodes_.insert(before ? before->position : nodes_.end(), std::move(owned));
  return node;
}

void Graph::set_input(Node* node, int index, Value* value) {
  Value*& slot = node->inputs.at(static_cast<size_t>(index));
  if (slot == value) return;
  if (slot) remove_use(slot, node, index);
  slot = value;
  if (value) value->uses.push_back({node, index});
}

void Graph::append_input(Node* node, Value* value) {
  node->inputs.push_back(value);
  if (value) value->uses.push_back({node, static_cast<int>(node->inputs.size()) - 1});
}

void Graph::set_inputs(Node* node, std::vector<Value*> values) {
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    if (node->inputs[i]) remove_use(node->inputs[i], node, static_cast<int>(i));
  }
  node->inputs.clear();
  for (Value* value : values) append_input(node, value);
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Use& use : from->uses) use.node->inputs[static_cast<size_t>(use.input)] = to;
  to->uses.insert(to->uses.end(), from->uses.begin(), from->uses.end());
  from->uses.clear();
  std::replace(outputs.begin(), outputs.end(), from, to);
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

void Graph::erase(Node* node) {
  for (Value* value : node->outputs) STOKER_CHECK(value->uses.empty());
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    if (node->inputs[i]) remove_use(node->inputs[i], node, static_cast<int>(i));
  }
  for (Value* value : node->outputs) {
    by_name_.erase(value->name);
    values_.erase(value->position);
  }
  node_names_.erase(node->name);
  nodes_.erase(node->position);
}

void Graph::erase_unused_constant(Value* value) {
  STOKER_CHECK(value->is_constant() && !value->producer && value->uses.empty());
  by_name_.erase(value->name);
  values_.erase(value->position);
}

void Graph::erase_unused_input(size_t index) {
  Value* value = inputs.at(index);
  STOKER_CHECK(value->uses.empty() && !is_output(value));
  inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(index));
  by_name_.erase(value->name);
  values_.erase(value->position);
}

void Graph::rename(Value* value, const std::string& new_name) {
  if (value->name == new_name) return;
  by_name_.erase(value->name);
  value->name = fresh_name(new_name);
  by_name_[value->name] = value;
}

void Graph::rename_node(Node* node, const std::string& new_name) {
  if (node->name == new_name) return;
  node_names_.erase(node->name);
  node->name = fresh_node_name(new_name);
  node_names_.insert(node->name);
}

Value* Graph::find_value(const std::string& value_name) const {
  const auto it = by_name_.find(value_name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::string Graph::fresh_name(const std::string& base) {
  return make_fresh(base, name_counters_,
                    [&](const std::string& n) { return by_name_.count(n) != 0; });
}

std::string Graph::fresh_node_name(const std::string& base) {
  return make_fresh(base, node_name_counters_,
                    [&](const std::string& n) { return node_names_.count(n) != 0; });
}

Graph* Graph::root() const {
  const Graph* graph = this;
  while (graph->parent_) graph = graph->parent_;
  return const_cast<Graph*>(graph);
}

void Graph::index_symbols() const {
  if (indexed_symbols_ > symbols.size()) {
    symbol_index_.clear();
    indexed_symbols_ = 0;
  }
  for (; indexed_symbols_ < symbols.size(); ++indexed_symbols_) {
    symbol_index_.emplace(symbols[indexed_symbols_].name, indexed_symbols_);
  }
}

Dim Graph::fresh_symbol() {
  Graph* table = root();
  std::string symbol_name;
  do {
    symbol_name = "u" + std::to_string(table->symbol_counter_++);
  } while (table->find_symbol(symbol_name));
  table->symbols.push_back({symbol_name});
  return Dim::symbol(symbol_name);
}

Dim Graph::symbol_for(const Dim& size) {
  Graph* table = root();
  const std::string text = size.text();
  const std::string key = content_hash(std::as_bytes(std::span(text)));
  const auto found = table->large_sizes_.find(key);
  if (found != table->large_sizes_.end()) return found->second;
  return table->large_sizes_.emplace(key, table->fresh_symbol()).first->second;
}

const Symbol* Graph::find_symbol(const std::string& symbol_name) const {
  const Graph* table = root();
  table->index_symbols();
  const auto it = table->symbol_index_.find(symbol_name);
  if (it == table->symbol_index_.end()) return nullptr;
  return &table->symbols[it->second];
}

void Graph::register_symbols(const ValueType& type) {
  Graph* table = root();
  std::vector<std::string> names;
  for (const Dim& dim : type.dims) {
    if (!dim.is_const()) dim.collect_symbols(names);
  }
  for (const std::string& symbol_name : names) {
    if (!table->find_symbol(symbol_name)) table->symbols.push_back({symbol_name});
  }
}

Status Graph::sort() {
  std::unordered_map<const Node*, int> index, waiting;
  std::vector<Node*> order;
  for (const auto& node : nodes_) {
    index[node.get()] = static_cast<int>(order.size());
    order.push_back(node.get());
  }
  // The smallest old position among the ready ones goes first, so an ordered graph stays as it is.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (Node* node : order) {
    int& count = waiting[node];
    for (const Value* value : node->inputs) count += value && value->producer;
    if (count == 0) ready.push(index[node]);
  }
  size_t placed = 0;
  while (!ready.empty()) {
    Node* node = order[static_cast<size_t>(ready.top())];
    ready.pop();
    nodes_.splice(nodes_.end(), nodes_, node->position);
    ++placed;
    for (const Value* value : node->outputs) {
      for (const Use& use : value->uses) {
        if (--waiting[use.node] == 0) ready.push(index[use.node]);
      }
    }
  }
  if (placed == order.size()) return Status::ok();
  for (Node* node : order) {
    if (waiting[node] > 0) {
      return invalid_model("graph '{}': the nodes form a cycle through '{}' ({})", name, node->name,
                           node->op->name);
    }
  }
  return internal_error("graph '{}': sorting lost nodes", name);
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name);
  copy->symbols = symbols;
  copy->symbol_counter_ = symbol_counter_;
  copy->large_sizes_ = large_sizes_;
  copy->node_names_ = node_names_;
  copy->name_counters_ = name_counters_;
  copy->node_name_counters_ = node_name_counters_;
  std::unordered_map<const Value*, Value*> values;
  std::unordered_map<const Node*, Node*> nodes;
  for (const auto& value : values_) {
    copy->values_.push_back(std::make_unique<Value>(*value));
    Value* twin = copy->values_.back().get();
    twin->position = std::prev(copy->values_.end());
    copy->by_name_[twin->name] = twin;
    values[value.get()] = twin;
  }
  for (const auto& node : nodes_) {
    auto twin = std::make_unique<Node>();
    twin->op = node->op;
    twin->name = node->name;
    twin->attributes = node->attributes;
    twin->origins = node->origins;
    for (const Value* value : node->inputs)
      twin->inputs.push_back(value ? values.at(value) : nullptr);
    for (const Value* value : node->outputs) twin->outputs.push_back(values.at(value));
    for (const auto& sub : node->subgraphs) {
      twin->subgraphs.push_back(sub->clone());
      twin->subgraphs.back()->set_parent(copy.get());
    }
    nodes[node.get()] = twin.get();
    copy->nodes_.push_back(std::move(twin));
    copy->nodes_.back()->position = std::prev(copy->nodes_.end());
  }
  for (const auto& value : copy->values_) {
    if (value->producer) value->producer = nodes.at(value->producer);
    for (Use& use : value->uses) use.node = nodes.at(use.node);
  }
  for (const Value* value : inputs) copy->inputs.push_back(values.at(value));
  for (const Value* value : outputs) copy->outputs.push_back(values.at(value));
  return copy;
}

}  // namespace stoker
