// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * gain + bias, over the trailing axes and
// in the spellings of exporters -> layer_normalization.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

struct Match {
  Value* x = nullptr;
  int64_t axis = 0;
  double epsilon = 0;
  Node* centred = nullptr;  // x - mean
  Node* last = nullptr;     // the division
};

// The axis from which on all axes are reduced with their extents kept; -1 otherwise.
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

// The squared value of pow(v, 2) or v * v.
Value* square_of(const Value* value) {
  if (const Node* pow = producer_of(value, "pow"))
    return is_scalar(pow->inputs[1], 2) ? pow->inputs[0] : nullptr;
  const Node* mul = producer_of(value, "mul");
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : nullptr;
}

// The division of `centred` by the deviation: div(c, s), mul(c, 1/s), mul(reciprocal(s), c).
Node* division(const Graph& graph, Value* deviation, const Value* centred) {
  if (!single_use(graph, deviation)) return nullptr;
  Node* user = deviation->uses[0].node;
  if (user->is("div") && user->inputs[0] == centred && user->inputs[1] == deviation) return user;
  const bool inverse = user->is("reciprocal") || (user->is("div") && user->inputs[1] == deviation &&
                                                  is_scalar(user->inputs[0], 1));
  if (!inverse || !single_use(graph, user->outputs[0])) return nullptr;
  Node* product = user->outputs[0]->uses[0].node;
  return product->is("mul") && other_operand(*product, user->outputs[0]) == centred ? product
                                                                                    : nullptr;
}

std::optional<Match> match(const Graph& graph, Node* root) {
  Match m;
  const Node* sum = producer_of(root->inputs[0], "add");
  if (!sum) return std::nullopt;
  const Value* variance = sum->inputs[0];
  auto epsilon = scalar_constant(sum->inputs[1]);
  if (!epsilon) {
    epsilon = scalar_constant(sum->inputs[0]);
    variance = sum->inputs[1];
  }
  const Node* mean_square = producer_of(variance, "reduce_mean");
  if (!epsilon || !mean_square) return std::nullopt;
  Value* centred = square_of(mean_square->inputs[0]);
  m.centred = producer_of(centred, "sub");
  if (!m.centred) return std::nullopt;
  m.x = m.centred->inputs[0];
  const Node* mean = producer_of(m.centred->inputs[1], "reduce_mean");
  if (!mean || mean->inputs[0] != m.x || !m.x->type.ranked) return std::nullopt;
  m.axis = trailing_axis(*mean);
  if (m.axis < 0 || trailing_axis(*mean_square) != m.axis || !is_float(m.x->type.dtype))
    return std::nullopt;
  m.epsilon = *epsilon;
  m.last = division(graph, root->outputs[0], centred);
  if (!m.last || !(m.last->outputs[0]->type == m.x->type)) return std::nullopt;
  return m;
}

// The next node when it is `op` with a constant that has exactly the normalised shape.
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

Result<bool> rewrite(Graph& graph, Node* root) {
  const auto m = match(graph, root);
  if (!m) return false;
  const Dims shape(m->x->type.dims.begin() + m->axis, m->x->type.dims.end());
  std::vector<const Node*> replaced{m->centred, root, m->last};
  Value *gain = nullptr, *bias = nullptr;
  Node* last = m->last;
  if (Node* mul = affine(graph, last->outputs[0], "mul", shape, &gain)) {
    replaced.push_back(last = mul);
    if (Node* add = affine(graph, last->outputs[0], "add", shape, &bias))
      replaced.push_back(last = add);
  }
  if (!gain) {
    STOKER_ASSIGN(gain, ones(graph, m->x->type.dtype, shape, last));
    if (!gain) return false;
  }
  std::vector<Value*> inputs{m->x, gain};
  if (bias) inputs.push_back(bias);
  STOKER_TRY(replace_with_node(graph, last->outputs[0], *find_op("layer_normalization"), inputs,
                               {{"axis", Attribute(m->axis - m->x->type.rank())},
                                {"epsilon", Attribute(m->epsilon)}},
                               replaced)
                 .status());
  return true;
}

}  // namespace

Result<int> layer_norm(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!node->is("sqrt") || node->is_constant()) continue;
    STOKER_ASSIGN(const bool changed, rewrite(graph, node));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker
