// Control flow. Branches become isolated graphs that take the captured outer values as inputs, the
// same ones in the same order for both, which are also inputs of the node after the condition.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Gives the branch an input for every value of `all`, in that order.
void align_inputs(Subgraph& branch, const std::vector<Value*>& all) {
  std::vector<Value*> inputs;
  for (Value* outer : all) {
    const auto found = std::find(branch.captures.begin(), branch.captures.end(), outer);
    if (found != branch.captures.end()) {
      inputs.push_back(branch.graph->inputs[static_cast<size_t>(found - branch.captures.begin())]);
      continue;
    }
    Value* unused = branch.graph->add_input(branch.graph->fresh_name(outer->name), outer->type);
    unused->origin = outer->origin;
    inputs.push_back(unused);
  }
  branch.graph->inputs = std::move(inputs);
  branch.captures = all;
}

Status import_if(NodeImporter& node) {
  if (!node.has_input(0)) return invalid_model("the condition is left out");
  // Both branches are walked before either's problems end the node.
  Result<Subgraph> then_branch = node.subgraph("then_branch");
  Result<Subgraph> else_branch = node.subgraph("else_branch");
  if (!then_branch.is_ok()) return then_branch.status();
  if (!else_branch.is_ok()) return else_branch.status();
  std::vector<Value*> all = then_branch->captures;
  for (Value* value : else_branch->captures) {
    if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  }
  for (Subgraph* branch : {&*then_branch, &*else_branch}) {
    if (branch->graph->inputs.size() != branch->captures.size()) {
      return invalid_model("a branch declares inputs of its own, expected none");
    }
    if (branch->graph->outputs.size() < node.output_count()) {
      return invalid_model("a branch has {} outputs, the node {}", branch->graph->outputs.size(),
                           node.output_count());
    }
    align_inputs(*branch, all);
  }
  if (then_branch->graph->outputs.size() != else_branch->graph->outputs.size()) {
    return invalid_model("the branches have {} and {} outputs", then_branch->graph->outputs.size(),
                         else_branch->graph->outputs.size());
  }
  std::vector<Value*> inputs = {node.input(0)};
  inputs.insert(inputs.end(), all.begin(), all.end());
  std::vector<std::unique_ptr<Graph>> branches;
  branches.push_back(std::move(then_branch->graph));
  branches.push_back(std::move(else_branch->graph));
  const int outputs = static_cast<int>(branches[0]->outputs.size());
  STOKER_ASSIGN(Node* const made,
                node.emit("if", std::move(inputs), {}, outputs, std::move(branches)));
  for (size_t i = 0; i < node.output_count(); ++i) node.bind(i, made->outputs[i]);
  return Status::ok();
}

// The node of an iteration: its own operands, then what the body captures.
Status finish_iteration(NodeImporter& node, const std::string& op, std::vector<Value*> operands,
                        Subgraph body, Attributes attributes, int outputs) {
  operands.insert(operands.end(), body.captures.begin(), body.captures.end());
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(std::move(body.graph));
  if (outputs < static_cast<int>(node.output_count())) {
    return invalid_model("the body gives {} outputs, the node names {}", outputs,
                         node.output_count());
  }
  STOKER_ASSIGN(Node* const made, node.emit(op, std::move(operands), std::move(attributes),
                                            std::max(outputs, 1), std::move(bodies)));
  for (size_t i = 0; i < node.output_count(); ++i) node.bind(i, made->outputs[i]);
  return Status::ok();
}

// Inputs that the body declares, without captures.
size_t own_inputs(const Subgraph& body) { return body.graph->inputs.size() - body.captures.size(); }

// What an iteration sees of an operand: its shape may differ from the operand's.
ValueType any_shape(const Value* operand) {
  if (!operand) return {};
  ValueType type = operand->type;
  type.ranked = false;
  type.dims.clear();
  return type;
}

Status import_loop(NodeImporter& node) {
  std::vector<ValueType> expected = {ValueType::tensor(DType::kI64, {}),
                                     ValueType::tensor(DType::kBool, {})};
  for (size_t i = 2; i < node.input_count(); ++i) expected.push_back(any_shape(node.input(i)));
  STOKER_ASSIGN(Subgraph body, node.subgraph("body", expected));
  const size_t own = own_inputs(body), outputs = body.graph->outputs.size();
  if (own < 2 || outputs + 1 < own) {
    return invalid_model(
        "the body has {} inputs and {} outputs, expected the iteration number, the condition and "
        "the carried values, and at least the condition and the carried values",
        own, outputs);
  }
  std::vector<Value*> operands = node.inputs();
  if (operands.size() > own)
    return invalid_model("{} inputs are given, the body takes {}", operands.size(), own);
  operands.resize(own, nullptr);
  return finish_iteration(node, "loop", std::move(operands), std::move(body),
                          {{"carried", static_cast<int64_t>(own - 2)}},
                          static_cast<int>(outputs) - 1);
}

// Opset 8 has a batch axis in front of everything, and its lengths as input 0.
Status import_scan(NodeImporter& node) {
  const bool batched = node.version() < 9;
  std::vector<ValueType> expected;
  for (size_t i = batched; i < node.input_count(); ++i)
    expected.push_back(any_shape(node.input(i)));
  STOKER_ASSIGN(Subgraph body, node.subgraph("body", expected));
  const auto own = static_cast<int64_t>(own_inputs(body));
  const int64_t scanned = node.get_int("num_scan_inputs", 0);
  if (scanned < 1 || scanned > own)
    return invalid_model("num_scan_inputs is {}, the body takes {} values", scanned, own);
  std::vector<Value*> operands = node.inputs();
  if (static_cast<int64_t>(operands.size()) != own + batched) {
    return invalid_model("{} inputs are given, the body takes {}", operands.size(), own + batched);
  }
  Attributes attributes = {{"carried", own - scanned}, {"scanned", scanned}};
  if (batched) attributes.set("batched", int64_t{1});
  const auto copy = [&](const char* from, const char* to) {
    if (node.has(from)) attributes.set(to, node.get_ints(from));
  };
  copy("directions", "scan_input_directions");
  for (const char* name :
       {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"}) {
    copy(name, name);
  }
  const auto outputs = static_cast<int>(body.graph->outputs.size());
  if (outputs < own - scanned)
    return invalid_model("the body gives {} values, expected the {} carried ones", outputs,
                         own - scanned);
  return finish_iteration(node, "scan", std::move(operands), std::move(body), std::move(attributes),
                          outputs);
}

Status import_sequence_map(NodeImporter& node) {
  std::vector<ValueType> expected;
  for (size_t i = 0; i < node.input_count(); ++i) {
    ValueType type = any_shape(node.input(i));
    if (type.kind == ValueType::Kind::kSequence) {
      type.kind = type.inner;
      type.inner = ValueType::Kind::kTensor;
    }
    expected.push_back(std::move(type));
  }
  STOKER_ASSIGN(Subgraph body, node.subgraph("body", expected));
  const size_t own = own_inputs(body);
  if (own != node.input_count() || own == 0)
    return invalid_model("{} inputs are given, the body takes {}", node.input_count(), own);
  const auto outputs = static_cast<int>(body.graph->outputs.size());
  return finish_iteration(node, "sequence_map", node.inputs(), std::move(body),
                          {{"mapped", static_cast<int64_t>(own - 1)}}, outputs);
}

constexpr OnnxOp kOps[] = {
    {"", "If", import_if},
    {"", "Loop", import_loop},
    {"", "Scan", import_scan},
    {"", "SequenceMap", import_sequence_map},
};

}  // namespace

std::span<const OnnxOp> control_ops() { return kOps; }

}  // namespace stoker
