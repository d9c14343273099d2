// SPDX-License-Identifier: Apache-2.0
#include "ir/infer.h"

#include "base/numeric.h"
#include "ir/infer_internal.h"
#include "ir/subgraphs.h"

namespace stoker {
namespace {

constexpr int64_t kMaxShapeElements = 1024;

Dim fresh_from(void* graph) { return static_cast<Graph*>(graph)->fresh_symbol(); }

// Sizes that each depend on the one before, in a chain of nodes, would grow without end.
void name_large(Dims& sizes, Graph& symbols) {
  for (Dim& size : sizes) {
    if (size.is_large()) size = symbols.symbol_for(size);
  }
}

Status infer_into(Graph& graph, Node* node, const KnownConstants* known);

Status infer_fused(Graph& graph, Node* node, const KnownConstants* known) {
  if (node->subgraphs.size() != 1) {
    return invalid_model("fused holds {} sub-graphs, expected one", node->subgraphs.size());
  }
  Graph& body = *node->subgraphs[0];
  KnownConstants inside;
  STOKER_TRY(pass_captures(*node, body, known, inside));
  STOKER_TRY(infer_nodes(graph, body, inside));
  if (body.outputs.size() != node->outputs.size()) {
    return invalid_model("the body has {} outputs, the node {}", body.outputs.size(),
                         node->outputs.size());
  }
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    node->outputs[i]->type = body.outputs[i]->type;
    node->outputs[i]->elements = body.outputs[i]->elements;
  }
  return Status::ok();
}

Status infer_if(Graph& graph, Node* node, const KnownConstants* known) {
  if (node->subgraphs.size() != 2 || node->inputs.empty() || !node->inputs[0]) {
    return invalid_model("if needs a condition and two sub-graphs, found {}",
                         node->subgraphs.size());
  }
  for (const auto& branch : node->subgraphs) {
    KnownConstants inside;
    STOKER_TRY(pass_captures(*node, *branch, known, inside));
    STOKER_TRY(infer_nodes(graph, *branch, inside));
    if (branch->outputs.size() != node->outputs.size()) {
      return invalid_model("branch '{}' has {} outputs, the node {}", branch->name,
                           branch->outputs.size(), node->outputs.size());
    }
  }
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    const Value& a = *node->subgraphs[0]->outputs[i];
    const Value& b = *node->subgraphs[1]->outputs[i];
    STOKER_ASSIGN(node->outputs[i]->type, merge_types(a.type, b.type, graph));
    node->outputs[i]->elements.reset();
    const auto ea = elements_of(a), eb = elements_of(b);
    if (ea && eb && *ea == *eb) node->outputs[i]->elements = ea;
  }
  return Status::ok();
}

Status infer_unlabelled(Graph& graph, Node* node, const KnownConstants* known) {
  if (node->is("fused")) return infer_fused(graph, node, known);
  if (node->is("if")) return infer_if(graph, node, known);
  if (subgraph_count(*node) > 0) return infer_iteration(graph, node, known);
  STOKER_ASSIGN(InferredTypes types, infer_types(*node, graph, known));
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    node->outputs[i]->type = std::move(types.outputs[i]);
    node->outputs[i]->elements = std::move(types.elements[i]);
  }
  return Status::ok();
}

Status infer_into(Graph& graph, Node* node, const KnownConstants* known) {
  const Status status = infer_unlabelled(graph, node, known);
  return status.is_ok() ? status : status.at(node_label(*node));
}

}  // namespace

// Small integer constants keep their elements when they enter a sub-graph as an input.
std::optional<Dims> elements_of(const Value& value) {
  if (value.elements) return value.elements;
  if (!value.constant || value.open || !is_integer(value.type.dtype)) return std::nullopt;
  const Tensor& tensor = *value.constant;
  if (tensor.rank() > 1 || tensor.count() > kMaxShapeElements) return std::nullopt;
  const LoadInt load = load_int(tensor.dtype());
  Dims dims;
  for (int64_t i = 0; i < tensor.count(); ++i) dims.emplace_back(load(tensor.data(), i));
  return dims;
}

Status infer_nodes(Graph& outer, Graph& body, const KnownConstants& known) {
  body.set_parent(&outer);
  for (const auto& node : body.nodes()) STOKER_TRY(infer_into(body, node.get(), &known));
  return Status::ok();
}

Status pass_captures(const Node& node, Graph& body, const KnownConstants* outside,
                     KnownConstants& inside) {
  const Captures first = captures_of(node);
  if (node.inputs.size() < first.node || body.inputs.size() < first.body ||
      body.inputs.size() - first.body != node.inputs.size() - first.node) {
    return invalid_model("sub-graph '{}' has {} inputs, its node passes {}", body.name,
                         body.inputs.size(), node.inputs.size() - first.node + first.body);
  }
  for (size_t i = 0; first.node + i < node.inputs.size(); ++i) {
    const Value* operand = node.inputs[first.node + i];
    if (!operand) continue;
    Value* input = body.inputs[first.body + i];
    input->type = operand->type;
    input->elements = elements_of(*operand);
    if (operand->constant) {
      inside[input] = &*operand->constant;
    } else if (outside && outside->count(operand)) {
      inside[input] = outside->at(operand);
    }
  }
  return Status::ok();
}

Result<ValueType> merge_types(const ValueType& a, const ValueType& b, Graph& graph) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.inner != b.inner || a.key != b.key) {
    return invalid_model("the branches give {} and {}", type_text(a), type_text(b));
  }
  ValueType merged = a;
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) {
    merged.ranked = false;
    merged.dims.clear();
    return merged;
  }
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] != b.dims[i]) merged.dims[i] = graph.fresh_symbol();
  }
  return merged;
}

namespace {

Result<InferredTypes> run_inference(const Node& node,
                                    const std::vector<InferContext::Input>& inputs,
                                    Graph& symbols) {
  InferContext context{node.attributes, inputs, {}, {}, fresh_from, &symbols};
  context.outputs.resize(node.outputs.size());
  context.shape_values.resize(node.outputs.size());
  STOKER_TRY(node.op->infer(context));
  for (ValueType& type : context.outputs) name_large(type.dims, symbols);
  for (std::optional<Dims>& elements : context.shape_values) {
    if (elements) name_large(*elements, symbols);
  }
  return InferredTypes{std::move(context.outputs), std::move(context.shape_values)};
}

// What is known of the outputs when the sizes of the inputs are left out: the dtypes.
Result<InferredTypes> infer_without_sizes(const Node& node, std::vector<InferContext::Input> inputs,
                                          Graph& symbols) {
  std::vector<ValueType> types(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].type) continue;
    types[i] = *inputs[i].type;
    types[i].ranked = false;
    types[i].dims.clear();
    inputs[i].type = &types[i];
    inputs[i].elements = nullptr;
  }
  STOKER_ASSIGN(InferredTypes inferred, run_inference(node, inputs, symbols));
  for (ValueType& type : inferred.outputs) {
    type.ranked = false;
    type.dims.clear();
  }
  for (std::optional<Dims>& elements : inferred.elements) elements.reset();
  return inferred;
}

}  // namespace

Result<InferredTypes> infer_types(const Node& node, Graph& symbols, const KnownConstants* known) {
  const Op& op = *node.op;
  if (!op.infer) return internal_error("op {} has no inference", op.name);
  const int count = static_cast<int>(node.inputs.size());
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs)) {
    return invalid_model("{} takes {} to {} inputs, found {}", op.name, op.min_inputs,
                         op.max_inputs < 0 ? "any number of" : std::to_string(op.max_inputs),
                         count);
  }
  std::vector<InferContext::Input> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = node.inputs[i];
    if (!value) {
      if (static_cast<int>(i) < op.min_inputs) {
        return invalid_model("{} needs input {}, which is left out", op.name, i);
      }
      continue;
    }
    inputs[i].type = &value->type;
    if (value->constant) {
      inputs[i].constant = &*value->constant;
    } else if (known && known->count(value)) {
      inputs[i].constant = known->at(value);
    }
    if (value->elements) inputs[i].elements = &*value->elements;
  }
  auto inferred = run_inference(node, inputs, symbols);
  if (inferred.is_ok() || !symbols.parent()) return inferred;
  // A branch may be impossible for the sizes at hand, a loop may never run: the node says so when
  // it is reached.
  auto without_sizes = infer_without_sizes(node, std::move(inputs), symbols);
  return without_sizes.is_ok() ? without_sizes : inferred;
}

std::string node_label(const Node& node) {
  std::string label = fmt::format("{} '{}'", node.op ? node.op->name : "?", node.name);
  if (!node.origins.empty() && node.origins[0] != node.name) {
    label += fmt::format(" (model node '{}')", node.origins[0]);
  }
  return label;
}

bool refine(Value* value, const ValueType& inferred, const std::optional<Dims>& elements) {
  bool changed = false;
  if (!value->type.ranked && inferred.ranked) {
    value->type = inferred;
    changed = true;
  } else if (value->type.ranked && inferred.ranked && value->type.rank() == inferred.rank()) {
    for (size_t i = 0; i < inferred.dims.size(); ++i) {
      if (value->type.dims[i].is_const() || !inferred.dims[i].is_const()) continue;
      value->type.dims[i] = inferred.dims[i];
      changed = true;
    }
  }
  if (elements && !value->constant && (!value->elements || *value->elements != *elements)) {
    value->elements = elements;
    changed = true;
  }
  return changed;
}

Status Graph::infer(Node* node) { return infer_into(*this, node, nullptr); }

}  // namespace stoker
