// One spelling for what can be written in several ways: flatten, squeeze, unsqueeze and transposes
// that only move extents of 1 become `reshape`, chains of reshapes and of transposes become one
// node, a split becomes slices, blocks of pixels that change places with channels a transpose.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The target of a reshape from `in` to `out`: numbers, 0 for an extent that is copied, one -1 at
// most.
std::optional<std::vector<int64_t>> reshape_target(const Dims& in, const Dims& out) {
  std::vector<int64_t> target;
  bool has_free = false, has_zero = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto number = out[i].constant();
    if (number) {
      has_zero |= *number == 0;
      target.push_back(*number);
    } else if (i < in.size() && in[i] == out[i]) {
      target.push_back(0);
    } else if (!has_free) {
      has_free = true;
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  if (has_zero) return std::nullopt;  // 0 would be read as "copy"
  return target;
}

// Moves nothing but extents of 1, so that the elements stay in order.
bool moves_only_ones(const Node& node) {
  int64_t last = -1;
  for (const int64_t axis : permutation_of(node)) {
    const Dim& extent = node.inputs[0]->type.dims[static_cast<size_t>(axis)];
    if (extent == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool is_reshape_like(const Node& node) {
  if (node.is("reshape") || node.is("flatten") || node.is("squeeze") || node.is("unsqueeze"))
    return true;
  return node.is("transpose") && node.inputs[0]->type.ranked && moves_only_ones(node);
}

bool canonical(const Node& node, const std::vector<int64_t>& target) {
  if (!node.is("reshape") || node.inputs.size() != 2 || !node.attributes.all().empty())
    return false;
  const auto present = constant_ints(node.inputs[1]);
  return present && *present == target;
}

Result<bool> rewrite_reshape(Graph& graph, Node* node) {
  Value* source = node->inputs[0];
  std::vector<const Node*> replaced{node};
  while (source->producer && !source->is_constant() && is_reshape_like(*source->producer)) {
    replaced.push_back(source->producer);
    source = source->producer->inputs[0];
  }
  const ValueType& out = node->outputs[0]->type;
  if (!source->type.ranked || !out.ranked) return false;
  auto target = reshape_target(source->type.dims, out.dims);
  if (!target && replaced.size() > 1) {
    // Through the chain the extents cannot be told; the single step may still be.
    source = node->inputs[0];
    replaced.resize(1);
    if (source->type.ranked) target = reshape_target(source->type.dims, out.dims);
  }
  if (!target || (replaced.size() == 1 && canonical(*node, *target))) return false;
  Value* shape = graph.add_constant(
      "shape", Tensor::from<int64_t>({static_cast<int64_t>(target->size())}, *target));
  const ValueType type = out;
  STOKER_ASSIGN(Node * fresh, replace_with_node(graph, node->outputs[0], *find_op("reshape"),
                                                {source, shape}, {}, replaced));
  // The declared extents know more than -1 says.
  fresh->outputs[0]->type = type;
  graph.erase(node);
  return true;
}

Result<bool> merge_transposes(Graph& graph, Node* node) {
  const Node* first = producer_of(node->inputs[0], "transpose");
  if (!first || !node->inputs[0]->type.ranked) return false;
  const auto inner = permutation_of(*first), outer = permutation_of(*node);
  std::vector<int64_t> perm;
  for (const int64_t axis : outer) perm.push_back(inner[static_cast<size_t>(axis)]);
  STOKER_TRY(replace_with_node(graph, node->outputs[0], *node->op, {first->inputs[0]},
                               {{"perm", Attribute(perm)}}, {first, node})
                 .status());
  graph.erase(node);
  return true;
}

// Of an axis of known extent: where it is open, the sizes may turn out not to add up to it.
Result<bool> split_into_slices(Graph& graph, Node* node) {
  const ValueType& x = node->inputs[0]->type;
  if (!x.ranked || x.rank() == 0) return false;
  int64_t axis = node->attributes.get_int("axis", 0);
  if (axis < 0) axis += x.rank();
  if (!x.dims[static_cast<size_t>(axis)].is_const()) return false;
  for (const Value* part : node->outputs) {
    if (!part->type.ranked || !part->type.dims[static_cast<size_t>(axis)].is_const()) return false;
  }
  const auto number = [&](const char* name, int64_t value) {
    return graph.add_constant(name, Tensor::from<int64_t>({1}, {value}));
  };
  int64_t start = 0;
  for (Value* part : std::vector<Value*>(node->outputs)) {
    const int64_t end = start + part->type.dims[static_cast<size_t>(axis)].value();
    const ValueType type = part->type;
    STOKER_ASSIGN(Node * slice, replace_with_node(graph, part, *find_op("slice"),
                                                  {node->inputs[0], number("starts", start),
                                                   number("ends", end), number("axes", axis)},
                                                  {}, {node}));
    slice->outputs[0]->type = type;
    start = end;
  }
  graph.erase(node);
  return true;
}

struct Rearrangement {
  std::vector<int64_t> split, perm;  // the input's extents and their order afterwards
};

// n, c, h, w: the extents of the form with more channels, c without its blocks.
Rearrangement rearrangement_of(const Node& node, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t b = node.attributes.get_int("blocksize");
  if (node.is("space_to_depth")) return {{n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4}};
  return node.attributes.get_string("mode", "DCR") == "DCR"
             ? Rearrangement{{n, b, b, c, h, w}, {0, 3, 4, 1, 5, 2}}
             : Rearrangement{{n, c, b, b, h, w}, {0, 1, 4, 2, 5, 3}};
}

Result<bool> blocks_as_transpose(Graph& graph, Node* node) {
  if (!node->inputs[0]->type.ranked) return false;
  const bool to_depth = node->is("space_to_depth");
  Dims x_dims = node->inputs[0]->type.dims, y_dims = node->outputs[0]->type.dims;
  x_dims[0] = y_dims[0] = Dim(0);  // a reshape's "as it is"; the others must not be 0
  const auto x = constant_dims(x_dims), y = constant_dims(y_dims);
  if (!x || !y || std::count(y->begin() + 1, y->end(), 0) > 0) return false;
  const Shape &deep = to_depth ? *y : *x, &flat = to_depth ? *x : *y;
  const Rearrangement r = rearrangement_of(*node, deep[0], flat[1], deep[2], deep[3]);
  const auto shape = [&](const std::vector<int64_t>& extents) {
    return graph.add_constant(
        "shape", Tensor::from<int64_t>({static_cast<int64_t>(extents.size())}, extents));
  };
  STOKER_ASSIGN(Node * split,
                insert_node(graph, node, "reshape", {node->inputs[0], shape(r.split)}));
  STOKER_ASSIGN(Node * moved, insert_node(graph, node, "transpose", {split->outputs[0]},
                                          {{"perm", Attribute(r.perm)}}));
  append_origins(split, *node);
  append_origins(moved, *node);
  STOKER_TRY(replace_with_node(graph, node->outputs[0], *find_op("reshape"),
                               {moved->outputs[0], shape(*y)}, {}, {node})
                 .status());
  graph.erase(node);
  return true;
}

}  // namespace

Result<int> canonicalize(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || node->inputs.empty() || !node->inputs[0]) continue;
    bool changed = false;
    if (is_reshape_like(*node)) {
      STOKER_ASSIGN(changed, rewrite_reshape(graph, node));
    } else if (node->is("transpose")) {
      STOKER_ASSIGN(changed, merge_transposes(graph, node));
    } else if (node->is("split")) {
      STOKER_ASSIGN(changed, split_into_slices(graph, node));
    } else if (node->is("depth_to_space") || node->is("space_to_depth")) {
      STOKER_ASSIGN(changed, blocks_as_transpose(graph, node));
    }
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
