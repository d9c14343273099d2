// Sub-graphs that are no branch or body but a formula: their nodes become nodes of the graph that
// holds them.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/converter.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

Result<std::vector<Value*>> Converter::inline_graph(const onnx::GraphProto& proto, Scope& scope,
                                                    const std::string& label,
                                                    const std::vector<Value*>& inputs) {
  if (scope.depth >= options_.limits.max_nesting) {
    return invalid_model("sub-graphs are nested deeper than {}", options_.limits.max_nesting);
  }
  if (proto.input_size() != static_cast<int>(inputs.size())) {
    return invalid_model("sub-graph '{}' has {} inputs, expected {}", proto.name(),
                         proto.input_size(), inputs.size());
  }
  Scope body;
  body.graph = scope.graph;
  body.outer = &scope;
  body.opsets = scope.opsets;
  body.bindings = scope.bindings;
  body.prefix = label + "/";
  body.depth = scope.depth + 1;
  const size_t before = problem_count_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    body.values[proto.input(static_cast<int>(i)).name()] = inputs[i];
  }
  convert_initializers(proto, body);
  std::vector<const onnx::NodeProto*> nodes;
  for (const auto& node : proto.node()) nodes.push_back(&node);
  convert_nodes(nodes, body);
  std::vector<Value*> outputs;
  for (const auto& info : proto.output()) {
    const auto found = lookup(body, info.name());
    if (!found) {
      return invalid_model("sub-graph '{}' does not produce its output '{}'", proto.name(),
                           info.name());
    }
    outputs.push_back(*found);
  }
  // What was wrong has been reported where it was found.
  if (problem_count_ != before) return Status(StatusCode::kInvalidModel, "");
  return outputs;
}

}  // namespace stoker
