// SPDX-License-Identifier: Apache-2.0
#include "passes/patterns/norm_parts.h"

#include "base/numeric.h"

namespace stoker {
namespace {

// The squared value of pow(v, 2) or v * v.
Value* square_of(const Value* value) {
  if (const Node* pow = producer_of(value, "pow"))
    return is_scalar(pow->inputs[1], 2) ? pow->inputs[0] : nullptr;
  const Node* mul = producer_of(value, "mul");
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : nullptr;
}

// Normalisations accumulate in f32 at least, so f32 around half floats says nothing more; f64 does.
bool is_f32_or_half(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_float_cast(const Node& node) {
  return node.is("cast") && !node.is_constant() && is_f32_or_half(node.inputs[0]->type.dtype) &&
         is_f32_or_half(node.outputs[0]->type.dtype);
}

// The only user behind casts; `*value` becomes what it reads.
Node* only_user(const Graph& graph, Value** value) {
  while (single_use(graph, *value)) {
    Node* user = (*value)->uses[0].node;
    if (!is_float_cast(*user)) return user;
    *value = user->outputs[0];
  }
  return nullptr;
}

bool same_behind_casts(Value* a, const Value* b) { return a == b || behind_casts(a) == b; }

}  // namespace

Value* behind_casts(Value* value) {
  while (value && value->producer && is_float_cast(*value->producer))
    value = value->producer->inputs[0];
  return value;
}

int64_t trailing_axis(const Node& mean) {
  const auto axes = reduce_axes(mean);
  if (!axes || axes->empty() || mean.attributes.get_int("keepdims", 1) != 1) return -1;
  const int64_t rank = mean.inputs[0]->type.rank();
  const int64_t first = rank - static_cast<int64_t>(axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != first + static_cast<int64_t>(i)) return -1;
  }
  return first;
}

bool is_root(const Node& node) {
  if (node.is_constant()) return false;
  if (node.is("sqrt")) return true;
  return node.is("pow") && (is_scalar(node.inputs[1], 0.5) || is_scalar(node.inputs[1], -0.5));
}

std::optional<RootMeanSquare> match_root(const Node& root) {
  RootMeanSquare m;
  const Node* sum = producer_of(root.inputs[0], "add");
  if (!sum) return std::nullopt;
  Value* mean_square = sum->inputs[0];
  auto epsilon = scalar_constant(sum->inputs[1]);
  if (!epsilon) {
    epsilon = scalar_constant(sum->inputs[0]);
    mean_square = sum->inputs[1];
  }
  const Node* mean = producer_of(behind_casts(mean_square), "reduce_mean");
  if (!epsilon || !mean) return std::nullopt;
  m.squared = square_of(behind_casts(mean->inputs[0]));
  m.axis = trailing_axis(*mean);
  m.epsilon = *epsilon;
  if (!m.squared || !m.squared->type.ranked || m.axis < 0 || !is_float(m.squared->type.dtype))
    return std::nullopt;
  return m;
}

Node* division_by_root(const Graph& graph, Node* root, const Value* numerator) {
  Value* value = root->outputs[0];
  Node* user = only_user(graph, &value);
  if (!user) return nullptr;
  bool inverse = root->is("pow") && is_scalar(root->inputs[1], -0.5);
  if (!inverse) {
    if (user->is("div") && user->inputs[1] == value &&
        same_behind_casts(user->inputs[0], numerator))
      return user;
    inverse = user->is("reciprocal") ||
              (user->is("div") && user->inputs[1] == value && is_scalar(user->inputs[0], 1));
    if (!inverse) return nullptr;
    value = user->outputs[0];
    user = only_user(graph, &value);
    if (!user) return nullptr;
  }
  if (!user->is("mul")) return nullptr;
  Value* other = other_operand(*user, value);
  return other && same_behind_casts(other, numerator) ? user : nullptr;
}

Node* affine(const Graph& graph, const Value* value, std::string_view op, const Dims& shape,
             Value** parameter) {
  if (!single_use(graph, value)) return nullptr;
  Node* user = value->uses[0].node;
  if (!user->is(op)) return nullptr;
  Value* other = other_operand(*user, value);
  if (!other || !other->type.ranked || !(other->type.dims == shape)) return nullptr;
  if (!other->is_constant() || other->type.dtype != value->type.dtype) return nullptr;
  *parameter = other;
  return user;
}

Result<Value*> ones(Graph& graph, DType dtype, const Dims& shape, Node* before) {
  const auto numbers = constant_dims(shape);
  if (!numbers) return static_cast<Value*>(nullptr);
  Value* one = graph.add_constant("one", Tensor::scalar_f32(1));
  Value* target = graph.add_constant(
      "shape", Tensor::from<int64_t>({static_cast<int64_t>(numbers->size())}, *numbers));
  if (dtype != DType::kF32) {
    STOKER_ASSIGN(Node * cast,
                  insert_node(graph, before, "cast", {one}, {{"to", Attribute(dtype)}}));
    one = cast->outputs[0];
  }
  STOKER_ASSIGN(Node * expand, insert_node(graph, before, "expand", {one, target}));
  return expand->outputs[0];
}

Result<int> rewrite_roots(Graph& graph, RootRewrite rewrite) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!is_root(*node)) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

Result<bool> replace_by_norm(Graph& graph, Node* last, std::string_view op, int64_t axis,
                             double epsilon, std::vector<Value*> inputs) {
  const int64_t from_end = axis - inputs[0]->type.rank();
  return replace_expression(graph, last, op, std::move(inputs),
                            {{"axis", Attribute(from_end)}, {"epsilon", Attribute(epsilon)}});
}

}  // namespace stoker
