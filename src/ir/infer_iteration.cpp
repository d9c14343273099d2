// Inference of loops: what iterations carry may change its shape, so the types of the carried
// values are widened until the body maps them into themselves.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "ir/infer_internal.h"
#include "ir/subgraphs.h"

namespace stoker {

Captures captures_of(const Node& node) {
  const auto count = [&](const char* name) {
    return static_cast<size_t>(std::max<int64_t>(node.attributes.get_int(name), 0));
  };
  if (node.is("if")) return {1, 0};
  if (node.is("loop")) return {2 + count("carried"), 2 + count("carried")};
  if (node.is("scan")) {
    const size_t own = count("carried") + count("scanned");
    return {own + (count("batched") != 0), own};
  }
  if (node.is("sequence_map")) return {1 + count("mapped"), 1 + count("mapped")};
  return {};
}

size_t hidden_outputs(const Node& node) { return node.is("loop") ? 1 : 0; }

size_t subgraph_count(const Node& node) {
  if (node.is("if")) return 2;
  return node.is("fused") || node.is("loop") || node.is("scan") || node.is("sequence_map") ? 1 : 0;
}

namespace {

class Iteration {
 public:
  Iteration(Graph& graph, Node* node, const KnownConstants* known)
      : graph_(graph), node_(node), known_(known), body_(*node->subgraphs[0]) {
    std::vector<std::string> names;
    for (const Value* input : node->inputs) {
      if (!input) continue;
      for (const Dim& dim : input->type.dims) dim.collect_symbols(names);
      if (input->elements) {
        for (const Dim& dim : *input->elements) dim.collect_symbols(names);
      }
    }
    outer_.insert(names.begin(), names.end());
  }

  Status run() {
    const Captures first = captures_of(*node_);
    if (node_->inputs.size() < first.node || body_.inputs.size() < first.body) {
      return invalid_model("{} operands and {} inputs of the sub-graph, expected {} and {} or more",
                           node_->inputs.size(), body_.inputs.size(), first.node, first.body);
    }
    if (node_->is("loop")) return run_loop();
    if (node_->is("scan")) return run_scan();
    return run_sequence_map();
  }

 private:
  using Kind = ValueType::Kind;

  void set_input(size_t index, ValueType type) {
    body_.inputs[index]->type = std::move(type);
    body_.inputs[index]->elements.reset();
  }

  Status infer_body() {
    KnownConstants inside;
    STOKER_TRY(pass_captures(*node_, body_, known_, inside));
    return infer_nodes(graph_, body_, inside);
  }

  // Carried values: body inputs from `input`, body outputs from `output`, starting as node inputs
  // from `operand`. `strip` leading sizes belong to the batch.
  Status widen_carried(size_t count, size_t operand, size_t input, size_t output, size_t strip) {
    std::vector<std::vector<bool>> open(count);
    for (size_t i = 0; i < count; ++i) {
      const Value* start = node_->inputs[operand + i];
      if (!start) return invalid_model("carried value {} has no initial value", i);
      set_input(input + i, without_leading(start->type, strip));
      open[i].assign(body_.inputs[input + i]->type.dims.size(), false);
    }
    for (bool changed = true; changed;) {
      changed = false;
      STOKER_TRY(infer_body());
      if (body_.outputs.size() < output + count) {
        return invalid_model("the sub-graph has {} outputs, expected {} or more",
                             body_.outputs.size(), output + count);
      }
      for (size_t i = 0; i < count; ++i) {
        STOKER_ASSIGN(const bool wider,
                      widen(i, body_.inputs[input + i], *body_.outputs[output + i], open[i]));
        changed |= wider;
      }
    }
    return Status::ok();
  }

  Result<bool> widen(size_t index, Value* in, const Value& out, std::vector<bool>& open) {
    ValueType& type = in->type;
    // An optional that iterations fill stays an optional.
    const auto holds = [](const ValueType& optional, const ValueType& value) {
      return optional.kind == Kind::kOptional && optional.inner == value.kind &&
             optional.dtype == value.dtype;
    };
    if (holds(type, out.type)) return false;
    if (holds(out.type, type)) {
      type = out.type;
      return true;
    }
    if (type.kind != out.type.kind || type.dtype != out.type.dtype ||
        type.inner != out.type.inner) {
      return invalid_model("carried value {} is {} at first, {} after an iteration", index,
                           type_text(type), type_text(out.type));
    }
    if (!type.ranked) return false;
    if (!out.type.ranked || out.type.rank() != type.rank()) {
      type.ranked = false;
      type.dims.clear();
      return true;
    }
    bool changed = false;
    for (size_t d = 0; d < type.dims.size(); ++d) {
      if (open[d] || type.dims[d] == out.type.dims[d]) continue;
      type.dims[d] = graph_.fresh_symbol();
      open[d] = true;
      changed = true;
    }
    return changed;
  }

  static ValueType without_leading(ValueType type, size_t count) {
    if (type.ranked)
      type.dims.erase(type.dims.begin(), type.dims.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 count, type.dims.size())));
    return type;
  }

  // Sizes that only the body knows are new symbols outside.
  ValueType outside(ValueType type) {
    for (Dim& dim : type.dims) {
      std::vector<std::string> names;
      if (!dim.is_const()) dim.collect_symbols(names);
      for (const std::string& name : names) {
        if (outer_.count(name)) continue;
        dim = graph_.fresh_symbol();
        break;
      }
    }
    return type;
  }

  void set_output(size_t index, ValueType type) {
    node_->outputs[index]->type = std::move(type);
    node_->outputs[index]->elements.reset();
  }

  Status expect_outputs(size_t count) const {
    if (body_.outputs.size() == count) return Status::ok();
    return invalid_model("the sub-graph has {} outputs, its node needs {}", body_.outputs.size(),
                         count);
  }

  Status run_loop() {
    const auto carried = static_cast<size_t>(node_->attributes.get_int("carried"));
    set_input(0, ValueType::tensor(DType::kI64, {}));
    set_input(1, ValueType::tensor(DType::kBool, {}));
    STOKER_TRY(widen_carried(carried, 2, 2, 1, 0));
    STOKER_TRY(expect_outputs(node_->outputs.size() + 1));
    for (size_t i = 0; i < carried; ++i) set_output(i, outside(body_.inputs[2 + i]->type));
    for (size_t i = carried; i < node_->outputs.size(); ++i) {
      ValueType type = outside(body_.outputs[1 + i]->type);
      if (type.kind != Kind::kTensor)
        return invalid_model("scan output {} is {}, expected a tensor", i, type_text(type));
      if (type.ranked) type.dims.insert(type.dims.begin(), graph_.fresh_symbol());
      set_output(i, std::move(type));
    }
    return Status::ok();
  }

  Status run_scan() {
    const auto carried = static_cast<size_t>(node_->attributes.get_int("carried")),
               scanned = static_cast<size_t>(node_->attributes.get_int("scanned"));
    const size_t batched = node_->attributes.get_int("batched") != 0;
    const auto axes = node_->attributes.get_ints("scan_input_axes"),
               output_axes = node_->attributes.get_ints("scan_output_axes");
    std::optional<Dim> length, batch;
    for (size_t i = 0; i < scanned; ++i) {
      const Value* operand = node_->inputs[batched + carried + i];
      if (!operand || operand->type.kind != Kind::kTensor)
        return invalid_model("scanned input {} is no tensor", i);
      ValueType type = operand->type;
      if (type.ranked) {
        if (batched && !type.dims.empty()) batch = type.dims[0];
        type = without_leading(std::move(type), batched);
        int64_t axis = i < axes.size() ? axes[i] : 0;
        if (axis < 0) axis += type.rank();
        if (axis < 0 || axis >= type.rank())
          return invalid_model("scanned input {} is {}, which has no axis {}", i,
                               type_text(operand->type), axis);
        if (!length) length = type.dims[static_cast<size_t>(axis)];
        type.dims.erase(type.dims.begin() + axis);
      }
      set_input(carried + i, std::move(type));
    }
    STOKER_TRY(widen_carried(carried, batched, 0, 0, batched));
    STOKER_TRY(expect_outputs(node_->outputs.size()));
    for (size_t i = 0; i < node_->outputs.size(); ++i) {
      ValueType type = outside(i < carried ? body_.inputs[i]->type : body_.outputs[i]->type);
      if (type.kind != Kind::kTensor)
        return invalid_model("output {} is {}, expected a tensor", i, type_text(type));
      if (type.ranked && i >= carried) {
        const int64_t rank = type.rank() + 1;
        int64_t axis = i - carried < output_axes.size() ? output_axes[i - carried] : 0;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank)
          return invalid_model("output {} of rank {} has no axis {}", i, rank, axis);
        type.dims.insert(type.dims.begin() + axis, length ? *length : graph_.fresh_symbol());
      }
      if (type.ranked && batched)
        type.dims.insert(type.dims.begin(), batch ? *batch : graph_.fresh_symbol());
      set_output(i, std::move(type));
    }
    return Status::ok();
  }

  Status run_sequence_map() {
    const auto mapped = static_cast<size_t>(node_->attributes.get_int("mapped"));
    for (size_t i = 0; i <= mapped; ++i) {
      const Value* operand = node_->inputs[i];
      if (!operand) return invalid_model("input {} is left out", i);
      ValueType type = operand->type;
      if (type.kind == Kind::kSequence) {
        type.kind = type.inner;
        type.inner = Kind::kTensor;
      } else if (i == 0) {
        return invalid_model("input 0 is {}, expected a sequence", type_text(type));
      }
      set_input(i, std::move(type));
    }
    STOKER_TRY(infer_body());
    STOKER_TRY(expect_outputs(node_->outputs.size()));
    for (size_t i = 0; i < node_->outputs.size(); ++i) {
      const ValueType& element = body_.outputs[i]->type;
      set_output(i, ValueType::sequence(element.dtype, element.kind));
    }
    return Status::ok();
  }

  Graph& graph_;
  Node* node_;
  const KnownConstants* known_;
  Graph& body_;
  std::set<std::string> outer_;  // symbols that the operands name
};

}  // namespace

Status infer_iteration(Graph& graph, Node* node, const KnownConstants* known) {
  if (node->subgraphs.size() != 1)
    return invalid_model("expected one sub-graph, found {}", node->subgraphs.size());
  return Iteration(graph, node, known).run();
}

}  // namespace stoker
