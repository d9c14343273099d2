// Training: the optimizers' steps and gradients.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/gradient_rules.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// After the rate and the count the inputs are `groups` lists of equally many tensors; all but the
// gradients come out again.
Status import_optimizer(NodeImporter& node, size_t groups) {
  if (node.input_count() < 2 + groups || (node.input_count() - 2) % groups != 0) {
    return invalid_model("{} inputs, expected 2 and {} lists of equally many tensors",
                         node.input_count(), groups);
  }
  const size_t outputs = (node.input_count() - 2) / groups * (groups - 1);
  if (node.output_count() > outputs)
    return invalid_model("{} outputs, expected {}", node.output_count(), outputs);
  STOKER_ASSIGN(Attributes attributes, node.converted());
  STOKER_ASSIGN(Node* const step, node.emit(ir_op_name(node.op_type()), node.inputs(),
                                            std::move(attributes), static_cast<int>(outputs)));
  for (size_t i = 0; i < node.output_count(); ++i) node.bind(i, step->outputs[i]);
  return Status::ok();
}

constexpr std::string_view kDomain = "ai.onnx.preview.training";

constexpr OnnxOp kOps[] = {
    {kDomain, "Adagrad", [](NodeImporter& node) { return import_optimizer(node, 3); }},
    {kDomain, "Adam", [](NodeImporter& node) { return import_optimizer(node, 4); }},
    {kDomain, "Gradient", import_gradient},
    {kDomain, "Momentum", [](NodeImporter& node) { return import_optimizer(node, 3); }},
};

}  // namespace

std::span<const OnnxOp> training_ops() { return kOps; }

}  // namespace stoker
