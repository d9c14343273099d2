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

constexpr OnnxOp kOps[] = {
    {"", "If", import_if},
    {"", "Loop", import_same},
    {"", "Scan", import_same},
    {"", "SequenceMap", import_same},
};

}  // namespace

std::span<const OnnxOp> control_ops() { return kOps; }

}  // namespace stoker
