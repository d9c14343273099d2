// Reductions. The axes were an attribute until opset 13 (ReduceSum) or 18 (the others).
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

Result<std::vector<Value*>> inputs_with_axes(NodeImporter& node) {
  std::vector<Value*> inputs = node.inputs();
  if (inputs.empty() || !inputs[0]) return invalid_model("input 0 is left out");
  if (node.has("axes")) {
    if (inputs.size() > 1) return invalid_model("'axes' is given as attribute and as input");
    inputs.push_back(node.constant_i64(node.get_ints("axes"), "axes"));
    node.drop("axes");
  }
  return inputs;
}

Status import_reduce(NodeImporter& node) {
  STOKER_ASSIGN(std::vector<Value*> inputs, inputs_with_axes(node));
  return node.finish_same(std::move(inputs));
}

// pre, then the sum, then post, where the build has no op for the whole.
Status reduce_by_sum(NodeImporter& node, const char* pre, const char* post) {
  if (find_op(ir_op_name(node.op_type()))) return import_reduce(node);
  STOKER_ASSIGN(std::vector<Value*> inputs, inputs_with_axes(node));
  STOKER_ASSIGN(const Attributes attributes, node.converted());
  if (pre) {
    STOKER_ASSIGN(inputs[0], node.apply(pre, {inputs[0]}));
  }
  if (!post) return node.finish("reduce_sum", std::move(inputs), attributes);
  STOKER_ASSIGN(Value* const sum, node.apply("reduce_sum", std::move(inputs), attributes));
  return node.finish(post, {sum});
}

Status import_l1(NodeImporter& node) { return reduce_by_sum(node, "abs", nullptr); }
Status import_log_sum(NodeImporter& node) { return reduce_by_sum(node, nullptr, "log"); }
Status import_log_sum_exp(NodeImporter& node) { return reduce_by_sum(node, "exp", "log"); }

constexpr OnnxOp kOps[] = {
    {"", "ArgMax", import_same},          {"", "ArgMin", import_same},
    {"", "ReduceL1", import_l1},          {"", "ReduceL2", import_reduce},
    {"", "ReduceLogSum", import_log_sum}, {"", "ReduceLogSumExp", import_log_sum_exp},
    {"", "ReduceMax", import_reduce},     {"", "ReduceMean", import_reduce},
    {"", "ReduceMin", import_reduce},     {"", "ReduceProd", import_reduce},
    {"", "ReduceSum", import_reduce},     {"", "ReduceSumSquare", import_reduce},
};

}  // namespace

std::span<const OnnxOp> reduce_ops() { return kOps; }

}  // namespace stoker
