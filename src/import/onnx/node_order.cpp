// Stable topological sort over value names, names used inside sub-graphs included.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

using Producers = std::unordered_map<std::string_view, size_t>;

// Producers that a node needs; sub-graphs may use any name of the outer graph. A name that a
// sub-graph defines itself is no dependency, but counting it is harmless: names are unique over the
// nesting.
void collect(const onnx::NodeProto& node, const Producers& producers, std::vector<size_t>& needs) {
  const auto need = [&](const std::string& name) {
    if (const auto found = producers.find(name); found != producers.end()) {
      needs.push_back(found->second);
    }
  };
  for (const auto& name : node.input()) need(name);
  if (node.op_type() == "Gradient" && node.domain() == "ai.onnx.preview.training") {
    // Its attributes name tensors: y, xs, zs.
    for (const auto& attribute : node.attribute()) {
      need(attribute.s());
      for (const auto& name : attribute.strings()) need(name);
    }
  }
  const auto walk = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) collect(inner, producers, needs);
    for (const auto& output : graph.output()) {
      const auto found = producers.find(output.name());
      if (found != producers.end()) needs.push_back(found->second);
    }
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) walk(attribute.g());
    for (const auto& graph : attribute.graphs()) walk(graph);
  }
}

std::string node_text(const onnx::NodeProto& node, size_t index) {
  return node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name();
}

// Among nodes that wait for one another, follows one unmet need after the other until it closes.
Status cycle_error(const std::vector<const onnx::NodeProto*>& nodes,
                   const std::vector<std::vector<size_t>>& needs,
                   const std::vector<size_t>& waiting) {
  const size_t start = static_cast<size_t>(
      std::find_if(waiting.begin(), waiting.end(), [](size_t n) { return n > 0; }) -
      waiting.begin());
  std::vector<size_t> path;
  std::vector<bool> seen(nodes.size());
  size_t at = start;
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    at =
        *std::find_if(needs[at].begin(), needs[at].end(), [&](size_t n) { return waiting[n] > 0; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < path.size() && i < kShown; ++i) {
    text += fmt::format("{}'{}'", i ? " <- " : "", node_text(*nodes[path[i]], path[i]));
  }
  return invalid_model("the graph has a cycle of {} nodes: {}{}", path.size(), text,
                       path.size() > kShown ? " <- ..." : "");
}

}  // namespace

Result<std::vector<size_t>> order_nodes(const std::vector<const onnx::NodeProto*>& nodes) {
  Producers producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& name : nodes[i]->output()) {
      if (!name.empty()) producers.emplace(name, i);
    }
  }
  std::vector<std::vector<size_t>> needs(nodes.size());
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waiting(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    collect(*nodes[i], producers, needs[i]);
    std::sort(needs[i].begin(), needs[i].end());
    needs[i].erase(std::unique(needs[i].begin(), needs[i].end()), needs[i].end());
    waiting[i] = needs[i].size();
    for (const size_t producer : needs[i]) users[producer].push_back(i);
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const size_t user : users[node]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (order.size() != nodes.size()) return cycle_error(nodes, needs, waiting);
  return order;
}

}  // namespace stoker
