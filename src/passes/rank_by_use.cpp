// An operand of unknown rank of an op that takes one rank only goes through a reshape that keeps
// each of so many extents: what stands behind has a rank, and may run as a static program. A run
// that gives fewer dims, or more elements, is refused there.
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// The rank that the node takes operand `index` in; -1: several.
int operand_rank(const Node& node, size_t index) {
  if (node.is("lstm") || node.is("gru") || node.is("rnn")) {
    constexpr int kRanks[] = {3, 3, 3, 2, 1, 3, 3, 2};
    return index < std::size(kRanks) ? kRanks[index] : -1;
  }
  if (node.is("gemm")) return index < 2 ? 2 : -1;
  if (node.is("conv") || node.is("conv_transpose")) {
    const Value* weight = index == 0 ? node.inputs[1] : nullptr;
    return weight && weight->type.ranked ? static_cast<int>(weight->type.rank()) : -1;
  }
  return -1;
}

bool lacks_rank(const Value* value) {
  return value && value->type.kind == ValueType::Kind::kTensor && !value->type.ranked;
}

}  // namespace

Result<int> rank_by_use(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    bool changed = false;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const int rank = lacks_rank(node->inputs[i]) ? operand_rank(*node, i) : -1;
      if (rank < 0) continue;
      const std::vector<int64_t> kept(static_cast<size_t>(rank), 0);
      Value* shape =
          graph.add_constant(graph.fresh_name("kept_extents"), Tensor::from<int64_t>({rank}, kept));
      STOKER_ASSIGN(Node * reshape, insert_node(graph, node, "reshape", {node->inputs[i], shape}));
      graph.set_input(node, static_cast<int>(i), reshape->outputs[0]);
      changed = true;
    }
    if (!changed) continue;
    STOKER_TRY(graph.infer(node));
    ++changes;
  }
  return changes;
}

}  // namespace stoker
