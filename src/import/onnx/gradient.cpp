// ai.onnx.preview.training.Gradient: the derivatives of y with respect to the tensors xs, at the
// values that the node's inputs give to xs and zs. The part of the graph between them is
// differentiated in reverse; it is repeated where the inputs are other values than xs and zs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/status.h"
#include "import/onnx/gradient_rules.h"
#include "import/onnx/op_table.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

struct Request {
  std::vector<Value*> named;  // xs, then zs
  size_t x_count = 0;
  Value* y = nullptr;
};

Result<Request> read_request(NodeImporter& node) {
  Request request;
  const auto find = [&](const std::string& name) -> Result<Value*> {
    if (Value* value = node.find(name)) return value;
    return invalid_model("'{}' is no tensor of this graph", name);
  };
  for (const char* list : {"xs", "zs"}) {
    const auto* names = node.raw(list);
    if (!names) continue;
    for (const std::string& name : names->strings()) {
      STOKER_ASSIGN(Value* const value, find(name));
      request.named.push_back(value);
      request.x_count += list[0] == 'x';
    }
  }
  STOKER_ASSIGN(request.y, find(node.get_string("y", "")));
  if (request.x_count == 0) return invalid_model("attribute 'xs' names no tensor");
  if (node.input_count() != request.named.size()) {
    return invalid_model("{} inputs for {} tensors in xs and zs", node.input_count(),
                         request.named.size());
  }
  for (size_t i = 0; i < request.named.size(); ++i) {
    if (!node.has_input(i)) return invalid_model("input {} is left out", i);
  }
  if (!is_float(request.y->type.dtype))
    return invalid_model("y is {}, expected floats", type_text(request.y->type));
  return request;
}

// The nodes that lead from the named tensors to y, producers first.
std::vector<const Node*> nodes_between(const Graph& graph, const Request& request) {
  const std::set<const Value*> named(request.named.begin(), request.named.end());
  std::set<const Node*> inside;
  std::vector<const Value*> open = {request.y};
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (named.count(value) || !value->producer || !inside.insert(value->producer).second) continue;
    for (const Value* input : value->producer->inputs) {
      if (input) open.push_back(input);
    }
  }
  std::vector<const Node*> ordered;
  for (const auto& node : graph.nodes()) {
    if (inside.count(node.get())) ordered.push_back(node.get());
  }
  return ordered;
}

class Derivation {
 public:
  Derivation(NodeImporter& node, const Request& request)
      : node_(node), request_(request), build_(node) {
    for (size_t i = 0; i < request.named.size(); ++i) {
      at_[request.named[i]] = node.input(i);
      if (i < request.x_count) active_.insert(request.named[i]);
    }
  }

  // Repeats what the inputs change and notes what depends on xs.
  Status forward(const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes) {
      const auto any = [&](auto test) {
        return std::any_of(node->inputs.begin(), node->inputs.end(),
                           [&](Value* input) { return input && test(input); });
      };
      if (any([&](Value* input) { return active_.count(input) != 0; }))
        active_.insert(node->outputs.begin(), node->outputs.end());
      if (!any([&](Value* input) { return at(input) != input; })) continue;
      if (!node->subgraphs.empty())
        return unsupported("node '{}': op {} cannot be repeated at other values", node->name,
                           node->op->name);
      STOKER_ASSIGN(Node* const copy,
                    node_.emit(std::string(node->op->name), all_at(node->inputs), node->attributes,
                               static_cast<int>(node->outputs.size())));
      for (size_t i = 0; i < node->outputs.size(); ++i) at_[node->outputs[i]] = copy->outputs[i];
    }
    return Status::ok();
  }

  Status backward(const std::vector<const Node*>& nodes) {
    STOKER_ASSIGN(gradients_[request_.y], build_.filled(at(request_.y), 1));
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) STOKER_TRY(pass(**node));
    return Status::ok();
  }

  // The gradient with respect to tensor i of xs; 0 where y does not depend on it.
  Result<Value*> gradient(size_t i) {
    const auto found = gradients_.find(request_.named[i]);
    return found != gradients_.end() ? found->second : build_.filled(node_.input(i), 0);
  }

 private:
  Value* at(Value* value) const {
    const auto found = at_.find(value);
    return found == at_.end() ? value : found->second;
  }
  std::vector<Value*> all_at(const std::vector<Value*>& values) const {
    std::vector<Value*> mapped;
    for (Value* value : values) mapped.push_back(value ? at(value) : nullptr);
    return mapped;
  }

  // From a node's output to its inputs. A value that several nodes use collects the sum.
  Status pass(const Node& node) {
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (gradients_.count(node.outputs[i]))
        return unsupported("node '{}': output {} of op {} has no gradient here", node.name, i,
                           node.op->name);
    }
    const auto found = gradients_.find(node.outputs[0]);
    if (found == gradients_.end()) return Status::ok();
    const Differentiated d{node, all_at(node.inputs), all_at(node.outputs), found->second};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Value* input = node.inputs[i];
      if (!input || !active_.count(input)) continue;
      STOKER_ASSIGN(Value* const part, input_gradient(build_, d, i));
      Value*& sum = gradients_[input];
      if (!sum) {
        sum = part;
      } else {
        STOKER_ASSIGN(sum, build_.apply("add", {sum, part}));
      }
    }
    return Status::ok();
  }

  NodeImporter& node_;
  const Request& request_;
  GradientBuilder build_;
  std::map<const Value*, Value*> at_;         // value of the model -> where it is differentiated
  std::map<const Value*, Value*> gradients_;  // by value of the model
  std::set<const Value*> active_;             // depend on xs
};

}  // namespace

Status import_gradient(NodeImporter& node) {
  STOKER_ASSIGN(const Request request, read_request(node));
  const std::vector<const Node*> nodes = nodes_between(node.graph(), request);
  Derivation derivation(node, request);
  STOKER_TRY(derivation.forward(nodes));
  STOKER_TRY(derivation.backward(nodes));
  if (node.output_count() > request.x_count)
    return invalid_model("{} outputs for {} tensors in xs", node.output_count(), request.x_count);
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.wants(i)) continue;
    STOKER_ASSIGN(Value* const gradient, derivation.gradient(i));
    node.bind(i, gradient);
  }
  return Status::ok();
}

}  // namespace stoker
