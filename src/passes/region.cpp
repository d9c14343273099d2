// Groups what is left of pointwise operations, with at most one softmax or normalisation over the
// last axis, into `fused` nodes that run as one region: one pass over memory instead of one per
// operation.
//
// A group has one shape. A node joins the groups of its operands when everything that reads their
// values from outside stands behind it; so the fused node can take its place, and no path leaves
// the group and comes back.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "passes/fuse.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

constexpr size_t kMaxMembers = 48;

struct Group {
  std::vector<Node*> members;  // in graph order
  bool has_axis_op = false;
};

bool one_element(const Value* value) {
  return !value || value->type.dims.empty() ||
         (value->type.rank() == 1 && value->type.dims[0] == Dim(1));
}

bool ordinary_tensor(const Value& value) {
  const DType dtype = value.type.dtype;
  return value.type.kind == ValueType::Kind::kTensor && value.type.ranked && !value.elements &&
         dtype != DType::kString && dtype != DType::kC64 && dtype != DType::kC128;
}

bool is_pointwise(const Node& node) {
  if (!node.op->pointwise || !node.op->deterministic || node.outputs.size() != 1) return false;
  if (node.is("quantize_linear") || node.is("dequantize_linear")) {
    // A scale per channel is not a broadcast operand.
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] && !node.inputs[i]->type.ranked) return false;
      if (!one_element(node.inputs[i])) return false;
    }
    if (node.attributes.get_int("block_size", 0) != 0) return false;
  }
  return true;
}

// One operation over the last axis whose output has its input's shape.
bool is_axis_op(const Node& node) {
  const bool softmax = node.is("softmax") || node.is("log_softmax");
  const bool norm = node.is("layer_normalization") || node.is("rms_normalization");
  if ((!softmax && !norm) || node.outputs.size() != 1 || node.attributes.has("legacy_flatten"))
    return false;
  const int64_t rank = node.inputs[0]->type.rank();
  const int64_t axis = node.attributes.get_int("axis", -1);
  return rank > 0 && (axis == -1 || axis == rank - 1);
}

class RegionFormer {
 public:
  explicit RegionFormer(Graph& graph) : graph_(graph) {}

  void collect() {
    int position = 0;
    for (const auto& node : graph_.nodes()) position_[node.get()] = position++;
    for (const auto& node : graph_.nodes()) {
      if (node->is_constant() || node->inputs.empty() || !node->inputs[0] || node->outputs.empty())
        continue;
      if (!ordinary_tensor(*node->outputs[0])) continue;
      const bool axis_op = is_axis_op(*node);
      if (axis_op || is_pointwise(*node)) place(node.get(), axis_op);
    }
  }

  Result<int> fuse_groups(const PassContext& context) {
    int changes = 0;
    for (Group& group : groups_) {
      if (group.members.size() < 2) continue;
      if (fuse_if_supported(graph_, group.members, "region", context)) {
        ++changes;
      } else if (group.has_axis_op) {
        changes += fuse_around_axis_op(group, context);
      }
    }
    return changes;
  }

 private:
  // The groups whose values the node reads at its own shape.
  std::vector<int> groups_of_operands(const Node& node, bool axis_op) const {
    std::vector<int> found;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value* value = node.inputs[i];
      const auto it = value && value->producer ? group_of_.find(value->producer) : group_of_.end();
      if (it == group_of_.end() || !(value->type.dims == node.outputs[0]->type.dims)) continue;
      if (axis_op && i > 0) continue;
      if (std::find(found.begin(), found.end(), it->second) == found.end())
        found.push_back(it->second);
    }
    return found;
  }

  bool reads_parameter_from(const Node& node, int group) const {
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Value* value = node.inputs[i];
      const auto it = value && value->producer ? group_of_.find(value->producer) : group_of_.end();
      if (it != group_of_.end() && it->second == group) return true;
    }
    return false;
  }

  bool may_join(const std::vector<int>& candidates, const Node& node, bool axis_op) const {
    size_t size = 1;
    int axis_ops = axis_op;
    for (const int g : candidates) {
      size += groups_[static_cast<size_t>(g)].members.size();
      axis_ops += groups_[static_cast<size_t>(g)].has_axis_op;
      if (axis_op && reads_parameter_from(node, g)) return false;
    }
    if (size > kMaxMembers || axis_ops > 1) return false;
    const int here = position_.at(&node);
    for (const int g : candidates) {
      for (const Node* member : groups_[static_cast<size_t>(g)].members) {
        for (const Use& use : member->outputs[0]->uses) {
          const auto it = group_of_.find(use.node);
          const bool inside =
              it != group_of_.end() &&
              std::find(candidates.begin(), candidates.end(), it->second) != candidates.end();
          if (!inside && use.node != &node && position_.at(use.node) < here) return false;
        }
      }
    }
    return true;
  }

  void place(Node* node, bool axis_op) {
    std::vector<int> candidates = groups_of_operands(*node, axis_op);
    while (!candidates.empty() && !may_join(candidates, *node, axis_op)) candidates.pop_back();
    if (candidates.empty()) {
      group_of_[node] = static_cast<int>(groups_.size());
      groups_.push_back({{node}, axis_op});
      return;
    }
    Group& target = groups_[static_cast<size_t>(candidates[0])];
    for (size_t i = 1; i < candidates.size(); ++i) {
      Group& other = groups_[static_cast<size_t>(candidates[i])];
      for (Node* member : other.members) group_of_[member] = candidates[0];
      target.members.insert(target.members.end(), other.members.begin(), other.members.end());
      target.has_axis_op |= other.has_axis_op;
      other = {};
    }
    target.members.push_back(node);
    target.has_axis_op |= axis_op;
    group_of_[node] = candidates[0];
    std::sort(target.members.begin(), target.members.end(),
              [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
  }

  // No tactic for the whole: what stands before and what stands behind the axis operation.
  int fuse_around_axis_op(const Group& group, const PassContext& context) {
    const auto axis = std::find_if(group.members.begin(), group.members.end(),
                                   [](const Node* n) { return is_axis_op(*n); });
    std::vector<Node*> before(group.members.begin(), axis), behind(axis + 1, group.members.end());
    int changes = 0;
    for (auto* part : {&before, &behind}) {
      if (part->size() >= 2)
        changes += fuse_if_supported(graph_, *part, "region", context) != nullptr;
    }
    return changes;
  }

  Graph& graph_;
  std::unordered_map<const Node*, int> position_;
  std::unordered_map<const Node*, int> group_of_;
  std::vector<Group> groups_;
};

}  // namespace

Result<int> region(Graph& graph, const PassContext& context) {
  RegionFormer former(graph);
  former.collect();
  return former.fuse_groups(context);
}

}  // namespace stoker
