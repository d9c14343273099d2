// dequantize(constant 8-bit W or R) -> lstm, gru or rnn => one fused node,
// so that a kernel may read the weights as they are stored.
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"
#include "passes/fuse.h"
#include "passes/match.h"
#include "passes/quantized.h"

namespace stoker {
namespace {

bool is_recurrent(const Node& node) { return node.is("lstm") || node.is("gru") || node.is("rnn"); }

bool is_zero_point(const Node& dequantize, double wanted) {
  if (dequantize.inputs.size() < 3 || !dequantize.inputs[2]) return wanted == 0;
  const Tensor& zeros = *dequantize.inputs[2]->constant;
  const LoadDouble load = load_double(zeros.dtype());
  for (int64_t i = 0; load && i < zeros.count(); ++i) {
    if (load(zeros.data(), i) != wanted) return false;
  }
  return load != nullptr;
}

// i8 that counts from 0 or u8 that counts from 128, with a scale, one for each direction, or, of a
// single direction, one for each row.
bool is_byte_weight(const Node& dequantize) {
  const Value &weight = *dequantize.inputs[0], &scale = *dequantize.inputs[1];
  const DType dtype = weight.type.dtype;
  if (!weight.is_constant() || (dtype != DType::kI8 && dtype != DType::kU8)) return false;
  if (weight.type.rank() != 3 || scale.constant->shape().size() > 1) return false;
  if (dequantize.attributes.get_int("block_size", 0) != 0) return false;
  if (!is_zero_point(dequantize, dtype == DType::kU8 ? 128 : 0)) return false;
  const int64_t axis = dequantize.attributes.get_int("axis", 1);
  return scale.constant->count() == 1 || axis == 0 || axis == -3 ||
         ((axis == 1 || axis == -2) && weight.constant->shape()[0] == 1);
}

}  // namespace

Result<int> weight_only_recurrent(Graph& graph, const PassContext& context) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (!is_recurrent(*node)) continue;
    std::vector<Node*> members;
    for (const size_t weight : {size_t{1}, size_t{2}}) {
      Node* dequantize = dequantize_of(node->inputs[weight]);
      if (!dequantize || !is_byte_weight(*dequantize)) continue;
      if (!single_use(graph, dequantize->outputs[0]))
        dequantize = own_dequantize(graph, dequantize, node, weight);
      if (members.empty() || members[0] != dequantize) members.push_back(dequantize);
    }
    if (members.empty()) continue;
    members.push_back(node);
    changes += fuse_if_supported(graph, members, "weight_only_recurrent", context) != nullptr;
  }
  return changes;
}

}  // namespace stoker
