// SPDX-License-Identifier: Apache-2.0
#include "lower/segments.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace stoker {
namespace {

constexpr int kMaxKernelRank = 8;

// A dynamic node's time is odd, a static segment's even: nodes of equal time stand together.
class Scheduler {
 public:
  explicit Scheduler(const std::set<std::string>& known) {
    for (const std::string& symbol : known) known_at_[symbol] = 0;
  }

  std::vector<Segment> run(const Graph& graph) {
    std::map<int, Segment> segments;
    for (const auto& node : graph.nodes()) {
      if (!needs_step(*node)) continue;
      const int time = place(*node);
      Segment& segment = segments[time];
      segment.dynamic = time % 2 == 1;
      segment.nodes.push_back(node.get());
    }
    std::vector<Segment> list;
    for (auto& [time, segment] : segments) list.push_back(std::move(segment));
    return list;
  }

 private:
  int place(const Node& node) {
    int after = 0;  // the latest producer, and the latest symbol
    for (const Value* input : node.inputs) {
      if (!input || input->is_constant()) continue;
      if (input->elements)
        after = std::max(after, known_since(*input->elements));
      else if (input->producer)
        after = std::max(after, time_[input->producer]);
    }
    bool dynamic = !can_be_static(node);
    for (const Value* output : node.outputs) {
      for (const std::string& symbol : symbols_of(output->type)) {
        const auto it = known_at_.find(symbol);
        if (it == known_at_.end()) {
          dynamic = true;  // this node determines it
        } else {
          after = std::max(after, it->second);
        }
      }
    }
    const int time = after % 2 == (dynamic ? 1 : 0) ? after : after + 1;
    time_[&node] = time;
    for (const Value* output : node.outputs) {
      for (const std::string& symbol : symbols_of(output->type)) known_at_.emplace(symbol, time);
    }
    return time;
  }

  int known_since(const Dims& dims) const {
    int since = 0;
    std::vector<std::string> names;
    for (const Dim& dim : dims) dim.collect_symbols(names);
    for (const std::string& name : names) {
      const auto it = known_at_.find(name);
      if (it != known_at_.end()) since = std::max(since, it->second);
    }
    return since;
  }

  static std::vector<std::string> symbols_of(const ValueType& type) {
    std::vector<std::string> names;
    if (type.ranked && type.kind == ValueType::Kind::kTensor) {
      for (const Dim& dim : type.dims) {
        if (!dim.is_const()) dim.collect_symbols(names);
      }
    }
    return names;
  }

  static bool can_be_static(const Node& node) {
    if (node.is("fused")) return true;
    if (!node.op->evaluate || !node.op->deterministic) return false;
    const auto fits = [](const Value* v) { return !v || is_static_type(v->type); };
    return std::all_of(node.inputs.begin(), node.inputs.end(), fits) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), fits);
  }

  std::map<std::string, int> known_at_;
  std::unordered_map<const Node*, int> time_;
};

}  // namespace

bool is_static_type(const ValueType& type) {
  return type.kind == ValueType::Kind::kTensor && type.ranked && type.rank() <= kMaxKernelRank &&
         type.dtype != DType::kString;
}

bool needs_step(const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* v) { return !v->is_constant() && !v->elements; });
}

std::vector<Segment> cut_into_segments(const Graph& graph, const std::set<std::string>& known) {
  return Scheduler(known).run(graph);
}

}  // namespace stoker
