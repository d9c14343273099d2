// Folds batch normalisation with constant statistics into the weights of the convolution or gemm in
// front of it, or into one multiply and one add. The new weights are spelled as nodes in f64 that
// round once at the end; constant folding evaluates them, and they stay the recipe of the weight.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// Appends f64 nodes on constants before one node.
class Recipe {
 public:
  Recipe(Graph& graph, Node* before) : graph_(graph), before_(before) {}

  Result<Value*> op(std::string_view name, std::vector<Value*> inputs, Attributes attributes = {}) {
    STOKER_ASSIGN(Node * node,
                  insert_node(graph_, before_, name, std::move(inputs), std::move(attributes)));
    for (const Node* source : sources_) append_origins(node, *source);
    return node->outputs[0];
  }
  Result<Value*> cast(Value* value, DType to) {
    if (value->type.dtype == to) return value;
    return op("cast", {value}, {{"to", Attribute(to)}});
  }
  Result<Value*> wide(Value* value) { return cast(value, DType::kF64); }
  Result<Value*> shaped(Value* value, std::vector<int64_t> shape) {
    Value* target = graph_.add_constant(
        "shape", Tensor::from<int64_t>({static_cast<int64_t>(shape.size())}, shape));
    return op("reshape", {value, target});
  }
  Value* number(double value) {
    return graph_.add_constant("number", Tensor::from<double>({}, {value}));
  }
  void origin(const Node* node) { sources_.push_back(node); }

 private:
  Graph& graph_;
  Node* before_;
  std::vector<const Node*> sources_;
};

struct ScaleShift {
  Value* scale = nullptr;  // f64[C]
  Value* mean = nullptr;
  Value* shift = nullptr;
};

bool foldable(const Node& node) {
  if (!node.is("batch_normalization") || node.outputs.size() != 1 || node.inputs.size() != 5)
    return false;
  if (node.attributes.get_int("training_mode", 0) != 0 || node.is_constant()) return false;
  for (size_t i = 1; i < 5; ++i) {
    const Value* value = node.inputs[i];
    if (!value || !value->is_constant() || value->type.rank() != 1) return false;
  }
  return node.inputs[0] && node.inputs[0]->type.ranked && node.inputs[0]->type.rank() >= 2;
}

// scale / sqrt(variance + epsilon), mean and shift in f64.
Result<ScaleShift> statistics(Recipe& recipe, const Node& norm) {
  ScaleShift s;
  STOKER_ASSIGN(Value * variance, recipe.wide(norm.inputs[4]));
  STOKER_ASSIGN(
      variance,
      recipe.op("add", {variance, recipe.number(norm.attributes.get_float("epsilon", 1e-5))}));
  STOKER_ASSIGN(Value * deviation, recipe.op("sqrt", {variance}));
  STOKER_ASSIGN(Value * gain, recipe.wide(norm.inputs[1]));
  STOKER_ASSIGN(s.scale, recipe.op("div", {gain, deviation}));
  STOKER_ASSIGN(s.mean, recipe.wide(norm.inputs[3]));
  STOKER_ASSIGN(s.shift, recipe.wide(norm.inputs[2]));
  return s;
}

// (bias - mean) * scale + shift; bias may be null.
Result<Value*> folded_bias(Recipe& recipe, const ScaleShift& s, Value* bias) {
  if (!bias) {
    STOKER_ASSIGN(Value * moved, recipe.op("mul", {s.mean, s.scale}));
    return recipe.op("sub", {s.shift, moved});
  }
  STOKER_ASSIGN(Value * centred, recipe.op("sub", {bias, s.mean}));
  STOKER_ASSIGN(Value * scaled, recipe.op("mul", {centred, s.scale}));
  return recipe.op("add", {scaled, s.shift});
}

struct Anchor {
  Node* node = nullptr;
  std::vector<int64_t> scale_shape;  // of the scale beside the weight
};

std::optional<Anchor> anchor_of(const Graph& graph, const Node& norm) {
  Node* node = norm.inputs[0]->producer;
  if (!node || node->is_constant() || !single_use(graph, norm.inputs[0])) return std::nullopt;
  if (node->inputs.size() < 2 || !node->inputs[1] || !node->inputs[1]->is_constant())
    return std::nullopt;
  const Value* weight = node->inputs[1];
  Value* bias = node->inputs.size() > 2 ? node->inputs[2] : nullptr;
  if (bias && !bias->is_constant()) return std::nullopt;
  const int64_t channels = norm.inputs[1]->type.dims[0].constant().value_or(-1);
  std::vector<int64_t> shape(weight->type.dims.size(), 1);
  size_t axis = 0;
  if (node->is("conv_transpose")) {
    if (node->attributes.get_int("group", 1) != 1) return std::nullopt;
    axis = 1;
  } else if (node->is("gemm")) {
    axis = node->attributes.get_int("transB", 0) != 0 ? 0 : 1;
    if (bias && bias->type.rank() > 1) return std::nullopt;
  } else if (!node->is("conv")) {
    return std::nullopt;
  }
  if (weight->type.rank() < 2 || weight->type.dims[axis] != Dim(channels)) return std::nullopt;
  if (bias && !(bias->type.dims.empty() || bias->type.dims[0] == Dim(channels) ||
                bias->type.dims[0] == Dim(1))) {
    return std::nullopt;
  }
  shape[axis] = channels;
  return Anchor{node, shape};
}

Status fold_into_weights(Graph& graph, Node* norm, const Anchor& anchor) {
  Node* node = anchor.node;
  Recipe recipe(graph, node);
  recipe.origin(node);
  recipe.origin(norm);
  const DType dtype = node->inputs[1]->type.dtype;
  STOKER_ASSIGN(const ScaleShift s, statistics(recipe, *norm));
  STOKER_ASSIGN(Value * weight, recipe.wide(node->inputs[1]));
  STOKER_ASSIGN(Value * scale, recipe.shaped(s.scale, anchor.scale_shape));
  STOKER_ASSIGN(weight, recipe.op("mul", {weight, scale}));
  STOKER_ASSIGN(weight, recipe.cast(weight, dtype));
  const double beta = node->is("gemm") ? node->attributes.get_float("beta", 1.0) : 1.0;
  // With beta 0 the bias is not read.
  Value* bias = node->inputs.size() > 2 && beta != 0 ? node->inputs[2] : nullptr;
  if (bias) {
    STOKER_ASSIGN(bias, recipe.wide(bias));
    if (beta != 1.0) {
      STOKER_ASSIGN(bias, recipe.op("mul", {bias, recipe.number(beta)}));
    }
  }
  node->attributes.erase("beta");  // the new bias is added as it is
  STOKER_ASSIGN(bias, folded_bias(recipe, s, bias));
  STOKER_ASSIGN(bias, recipe.cast(bias, dtype));
  graph.set_input(node, 1, weight);
  while (node->inputs.size() < 3) graph.append_input(node, nullptr);
  graph.set_input(node, 2, bias);
  const std::string name = norm->outputs[0]->name;
  if (!replace_value(graph, norm->outputs[0], node->outputs[0])) {
    return internal_error("the output of {} cannot be renamed", node->name);
  }
  append_origins(node, *norm);
  graph.erase(norm);
  // A name says what a value holds, whatever the passes did: reports and comparisons go by it.
  if (node->outputs[0]->name != name) graph.rename(node->outputs[0], name);
  return Status::ok();
}

Status fold_standalone(Graph& graph, Node* norm) {
  Recipe recipe(graph, norm);
  recipe.origin(norm);
  const ValueType& type = norm->inputs[0]->type;
  const int64_t channels = norm->inputs[1]->type.dims[0].constant().value_or(0);
  std::vector<int64_t> shape(static_cast<size_t>(type.rank() - 1), 1);
  shape[0] = channels;
  STOKER_ASSIGN(const ScaleShift s, statistics(recipe, *norm));
  STOKER_ASSIGN(Value * bias, folded_bias(recipe, s, nullptr));
  STOKER_ASSIGN(Value * scale, recipe.shaped(s.scale, shape));
  STOKER_ASSIGN(scale, recipe.cast(scale, type.dtype));
  STOKER_ASSIGN(bias, recipe.shaped(bias, shape));
  STOKER_ASSIGN(bias, recipe.cast(bias, type.dtype));
  STOKER_ASSIGN(Value * scaled, recipe.op("mul", {norm->inputs[0], scale}));
  STOKER_TRY(replace_with_node(graph, norm->outputs[0], *find_op("add"), {scaled, bias}, {}, {norm})
                 .status());
  graph.erase(norm);
  return Status::ok();
}

}  // namespace

Result<int> fold_batch_norm(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!foldable(*node)) continue;
    const auto anchor = anchor_of(graph, *node);
    STOKER_TRY(anchor ? fold_into_weights(graph, node, *anchor) : fold_standalone(graph, node));
    ++changes;
  }
  return changes;
}

}  // namespace stoker
