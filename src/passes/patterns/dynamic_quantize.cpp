// dynamic_quantize_linear -> the reductions and pointwise operations that it is made of, as the
// standard writes them:
//   low = min(0, min x), high = max(0, max x), scale = (high - low) / 255, or 1 where that is 0
//   zero = quantize(0 - low / scale, 1, 0), y = quantize(x, scale, zero)
// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"
#include "passes/pass.h"

namespace stoker {
namespace {

// Nodes before one place; the first error is kept.
class Writer {
 public:
  Writer(Graph& graph, Node* before) : graph_(graph), before_(before) {}

  Value* op(const char* name, std::vector<Value*> inputs, Attributes attributes = {}) {
    if (!status_.is_ok()) return nullptr;
    auto node = insert_node(graph_, before_, name, std::move(inputs), std::move(attributes));
    if (!node.is_ok()) {
      status_ = node.status();
      return nullptr;
    }
    append_origins(*node, *before_);
    return (*node)->outputs[0];
  }
  Value* number(const char* name, float value) {
    return graph_.add_constant(name, Tensor::scalar_f32(value));
  }
  const Status& status() const { return status_; }

 private:
  Graph& graph_;
  Node* before_;
  Status status_;
};

Status write_out(Graph& graph, Node* node) {
  Writer w(graph, node);
  Value* x = node->inputs[0];
  Value *zero = w.number("nothing", 0), *most = w.number("most", 255);
  const Attributes all{{"keepdims", int64_t{0}}};
  Value* low = w.op("min", {w.op("reduce_min", {x}, all), zero});
  Value* high = w.op("max", {w.op("reduce_max", {x}, all), zero});
  Value* step = w.op("div", {w.op("sub", {high, low}), most});
  Value* scale = w.op("where", {w.op("equal", {low, high}), w.number("one", 1), step});
  Value* turned = w.op("sub", {zero, w.op("div", {low, scale})});
  Value* no_zero = graph.add_constant("no_zero", Tensor::from<uint8_t>({}, {0}));
  Value* zero_point = w.op("quantize_linear", {turned, w.number("one", 1), no_zero});
  Value* y = w.op("quantize_linear", {x, scale, zero_point});
  STOKER_TRY(w.status());
  Value* results[] = {y, scale, zero_point};
  for (size_t i = 0; i < 3; ++i) {
    Value* old = node->outputs[i];
    if (old->uses.empty() && !graph.is_output(old)) continue;
    if (!replace_value(graph, old, results[i]))
      return internal_error("output {} of '{}' has no new name", i, node->name);
  }
  graph.erase(node);
  return Status::ok();
}

}  // namespace

Result<int> dynamic_quantize(Graph& graph, const PassContext&) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    if (node->is_constant() || !node->is("dynamic_quantize_linear")) continue;
    const ValueType& x = node->inputs[0]->type;
    // Narrow floats would round in between.
    if (!x.ranked || x.dtype != DType::kF32) continue;
    STOKER_TRY(write_out(graph, node));
    ++changes;
  }
  return changes;
}

}  // namespace stoker
