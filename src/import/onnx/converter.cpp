// The walk over nodes: resolving names, inlining functions, isolating sub-graphs, collecting
// problems.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/converter.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/status.h"
#include "import/onnx/custom.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/node_order.h"
#include "import/onnx/op_table.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

constexpr size_t kShownProblems = 20;
constexpr int64_t kNewestOpset = 28;

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }
std::string shown_domain(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload) {
  return plain_domain(domain) + ":" + name + ":" + overload;
}

// An error that has been reported already.
Status reported() { return Status(StatusCode::kInvalidModel, ""); }

template <class Nodes>
std::vector<const onnx::NodeProto*> pointers(const Nodes& nodes) {
  std::vector<const onnx::NodeProto*> list;
  for (const auto& node : nodes) list.push_back(&node);
  return list;
}

}  // namespace

void Converter::problem(StatusCode code, std::string text) {
  only_unsupported_ = only_unsupported_ && code == StatusCode::kUnsupported;
  if (code == StatusCode::kResourceExhausted && exhausted_.empty()) exhausted_ = text;
  if (++problem_count_ <= kShownProblems) problems_.push_back(std::move(text));
}

Status Converter::problems_status() const {
  if (problem_count_ == 0) return Status::ok();
  // Without memory the model may be right: what else went wrong says nothing about it.
  if (!exhausted_.empty()) return Status(StatusCode::kResourceExhausted, exhausted_);
  std::string text = problem_count_ == 1 ? "" : fmt::format("{} problems:", problem_count_);
  for (const std::string& line : problems_) text += (text.empty() ? "" : "\n  ") + line;
  if (problem_count_ > kShownProblems) {
    text += fmt::format("\n  ... and {} more", problem_count_ - kShownProblems);
  }
  return Status(only_unsupported_ ? StatusCode::kUnsupported : StatusCode::kInvalidModel, text);
}

void Converter::read_opsets(const onnx::ModelProto& model) {
  for (const auto& entry : model.opset_import()) {
    const std::string domain = plain_domain(entry.domain());
    if (entry.version() < 1) {
      problem(StatusCode::kInvalidModel,
              fmt::format("opset of domain '{}': expected 1 or more, found {}",
                          shown_domain(domain), entry.version()));
    } else if (domain.empty() && entry.version() > kNewestOpset) {
      problem(StatusCode::kUnsupported,
              fmt::format("opset {} is newer than the newest that is known ({})", entry.version(),
                          kNewestOpset));
    }
    opsets_[domain] = entry.version();
  }
  if (!opsets_.empty()) return;
  if (model.ir_version() < 3) {
    opsets_[""] = 1;  // before IR version 3 models named no opset
  } else {
    problem(StatusCode::kInvalidModel, "the model imports no opset; the file may be truncated");
  }
}

void Converter::read_functions(const onnx::ModelProto& model) {
  for (const auto& function : model.functions()) {
    const auto key = function_key(function.domain(), function.name(), function.overload());
    if (!functions_.emplace(key, &function).second) {
      problem(StatusCode::kInvalidModel,
              fmt::format("function '{}' of domain '{}' is defined twice", function.name(),
                          function.domain()));
    }
  }
}

namespace {

// From IR version 4 on an initializer that is a graph input too is a default that the caller may
// replace; here it stays what it is.
std::string frozen_defaults(const onnx::ModelProto& model) {
  if (model.ir_version() < 4) return "";  // every initializer had to be an input
  std::set<std::string> initialized;
  for (const auto& tensor : model.graph().initializer()) initialized.insert(tensor.name());
  for (const auto& sparse : model.graph().sparse_initializer())
    initialized.insert(sparse.values().name());
  constexpr int kShown = 5;
  int count = 0;
  std::string names;
  for (const auto& input : model.graph().input()) {
    if (!initialized.count(input.name()) || ++count > kShown) continue;
    names += (names.empty() ? "'" : ", '") + input.name() + "'";
  }
  if (count == 0) return "";
  return fmt::format(
      "{} input(s) have a default value and keep it, a caller cannot replace it: {}{}; remove the "
      "initializer to make one a real input",
      count, names, count > kShown ? ", ..." : "");
}

}  // namespace

Result<ImportedModel> Converter::run(onnx::ModelProto& model) {
  read_opsets(model);
  read_functions(model);
  if (std::string text = frozen_defaults(model); !text.empty())
    warnings_.push_back(std::move(text));
  ImportedModel result;
  const std::string& name = model.graph().name();
  result.graph = std::make_unique<Graph>(name.empty() ? "main" : name);
  root_ = result.graph.get();
  root_->name = free_name(*root_, root_->name);
  Scope scope;
  scope.graph = root_;
  scope.opsets = &opsets_;
  convert_graph(*model.mutable_graph(), scope);
  STOKER_TRY(problems_status());
  drop_unused_constants(*root_);
  result.producer = model.producer_name();
  if (!model.producer_version().empty()) result.producer += " " + model.producer_version();
  result.opsets.assign(opsets_.begin(), opsets_.end());
  result.warnings = std::move(warnings_);
  return result;
}

void Converter::convert_graph(onnx::GraphProto& proto, Scope& scope) {
  if (proto.output_size() == 0) {
    problem(StatusCode::kInvalidModel, "the graph has no outputs; the file may be truncated");
  }
  read_declared(proto, scope);
  read_overrides(proto);
  convert_initializers(proto, scope);
  for (auto& initializer : *proto.mutable_initializer()) {
    delete initializer.release_raw_data();  // the tensors hold copies
  }
  convert_inputs(proto, scope);
  convert_nodes(pointers(proto.node()), scope);
  convert_outputs(proto, scope);
}

void Converter::convert_nodes(const std::vector<const onnx::NodeProto*>& nodes, Scope& scope) {
  const auto order = order_nodes(nodes);
  if (!order.is_ok()) {
    problem(order.status().code(), order.status().message());
    return;
  }
  for (const size_t index : *order) {
    if (++node_count_ > options_.limits.max_nodes) {
      if (node_count_ == options_.limits.max_nodes + 1) {
        problem(StatusCode::kInvalidModel,
                fmt::format("the model has more than {} nodes after inlining "
                            "functions",
                            options_.limits.max_nodes));
      }
      return;
    }
    convert_node(*nodes[index], index, scope);
  }
}

void Converter::convert_node(const onnx::NodeProto& node, size_t index, Scope& scope) {
  std::string label =
      node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name();
  label = scope.prefix + label;
  const std::string domain = plain_domain(node.domain());
  const auto version = scope.opsets->find(domain);
  const std::string where =
      fmt::format("node '{}' ({}, {}{})", label, node.op_type(), shown_domain(domain),
                  version == scope.opsets->end() ? "" : fmt::format(" {}", version->second));
  for (const auto& name : node.output()) {
    if (!name.empty() && scope.values.count(name)) {
      problem(StatusCode::kInvalidModel,
              fmt::format("{}: output '{}' has the name of another value", where, name));
      return;
    }
  }
  const Status status = import_node(node, label, scope);
  if (!status.is_ok() && !status.message().empty()) {
    problem(status.code(), where + ": " + status.message());
  }
  for (const auto& name : node.output()) {
    if (name.empty() || scope.values.count(name)) continue;
    if (status.is_ok()) {
      problem(StatusCode::kUnsupported,
              fmt::format("{}: output '{}' is not available", where, name));
    }
    scope.values[name] = nullptr;
  }
}

Status Converter::import_node(const onnx::NodeProto& node, const std::string& label, Scope& scope) {
  std::vector<Value*> inputs;
  std::string missing;
  bool skip = false;
  for (const auto& name : node.input()) {
    if (name.empty() || scope.absent.count(name)) {
      inputs.push_back(nullptr);
      continue;
    }
    const auto value = lookup(scope, name);
    if (!value) missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", name);
    skip = skip || (value && !*value);
    inputs.push_back(value.value_or(nullptr));
  }
  if (!missing.empty()) {
    return invalid_model("input {} is produced by no node, graph input or initializer before it",
                         missing);
  }
  const std::string domain = plain_domain(node.domain());
  const auto* function = find_function(node);
  const OnnxOp* op = find_onnx_op(domain, node.op_type());
  const bool missing_op = op && op->import == import_same && !find_op(ir_op_name(node.op_type()));
  LibraryOp custom;
  if (!function && (!op || missing_op)) {
    STOKER_ASSIGN(custom, find_library_op(options_.op_libraries, domain, node.op_type()));
    if (!custom.op && missing_op)
      return unsupported("this build has no op '{}' yet", ir_op_name(node.op_type()));
    if (!custom.op) return unknown_operator(options_.op_libraries);
  }
  if (skip) return reported();
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  if (function) {
    return call_function(*function, node, label, scope, std::move(inputs));
  }
  const auto version = scope.opsets->find(domain);
  if (version == scope.opsets->end() && domain.empty()) {
    return invalid_model("the model imports no opset of domain '{}'", shown_domain(domain));
  }
  NodeImporter importer(*this, scope, node, label,
                        version == scope.opsets->end() ? 1 : version->second, std::move(inputs));
  return custom.op ? import_library_op(importer, custom) : op->import(importer);
}

const onnx::FunctionProto* Converter::find_function(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(function_key(node.domain(), node.op_type(), node.overload()));
  return found == functions_.end() ? nullptr : found->second;
}

Status Converter::call_function(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                                const std::string& label, Scope& scope,
                                std::vector<Value*> inputs) {
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
    return invalid_model("function '{}' calls itself", function.name());
  }
  if (scope.depth >= options_.limits.max_nesting) {
    return invalid_model("calls are nested deeper than {}", options_.limits.max_nesting);
  }
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    return invalid_model("function '{}' has {} inputs and {} outputs, the call {} and {}",
                         function.name(), function.input_size(), function.output_size(),
                         node.input_size(), node.output_size());
  }
  Bindings bindings;
  for (const auto& attribute : function.attribute_proto()) bindings[attribute.name()] = &attribute;
  for (const auto& attribute : node.attribute()) {
    const onnx::AttributeProto* given = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      given = scope.bound(attribute.ref_attr_name());
      if (!given) continue;
    }
    bindings[attribute.name()] = given;
  }
  Opsets opsets = *scope.opsets;
  for (const auto& entry : function.opset_import()) {
    opsets[plain_domain(entry.domain())] = entry.version();
  }
  Scope body;
  body.graph = scope.graph;
  body.opsets = &opsets;
  body.bindings = &bindings;
  body.prefix = label + "/";
  body.depth = scope.depth + 1;
  for (int i = 0; i < function.input_size(); ++i) {
    const size_t at = static_cast<size_t>(i);
    if (at < inputs.size() && inputs[at]) {
      body.values[function.input(i)] = inputs[at];
    } else {
      body.absent.insert(function.input(i));
    }
  }
  calls_.push_back(&function);
  convert_nodes(pointers(function.node()), body);
  calls_.pop_back();
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto value = lookup(body, function.output(i));
    if (!value) {
      return invalid_model("function '{}' does not produce its output '{}'", function.name(),
                           function.output(i));
    }
    if (!*value) return reported();
    bind_name(scope, node.output(i), *value);
  }
  return Status::ok();
}

std::optional<Value*> Converter::lookup(Scope& scope, const std::string& name) {
  if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
  if (!scope.outer) return std::nullopt;
  const auto outer = lookup(*scope.outer, name);
  if (!outer || !*outer || scope.outer->graph == scope.graph) return outer;
  Value* value = nullptr;
  if ((*outer)->is_constant() && !(*outer)->producer) {
    value = scope.graph->add_constant(free_name(*scope.graph, name), *(*outer)->constant,
                                      (*outer)->origin);
  } else {
    value = scope.graph->add_input(free_name(*scope.graph, name), (*outer)->type);
    value->origin = (*outer)->origin;
    value->elements = (*outer)->elements;
    scope.captures.emplace_back(*outer, value);
  }
  scope.values[name] = value;
  return value;
}

Result<Subgraph> Converter::convert_subgraph(const onnx::GraphProto& proto, Scope& outer,
                                             const std::string& name,
                                             std::span<const ValueType> expected) {
  if (outer.depth >= options_.limits.max_nesting) {
    return invalid_model("sub-graphs are nested deeper than {}", options_.limits.max_nesting);
  }
  Subgraph result;
  result.graph = std::make_unique<Graph>(name);
  result.graph->set_parent(outer.graph);
  Scope scope;
  scope.graph = result.graph.get();
  scope.outer = &outer;
  scope.opsets = outer.opsets;
  scope.bindings = outer.bindings;
  scope.prefix = outer.prefix;
  scope.depth = outer.depth + 1;
  const size_t before = problem_count_;
  read_declared(proto, scope);
  convert_initializers(proto, scope);
  convert_inputs(proto, scope, expected);
  convert_nodes(pointers(proto.node()), scope);
  convert_outputs(proto, scope);
  if (scope.failed || problem_count_ != before) return reported();
  drop_unused_constants(*result.graph);
  // Captures may have been taken out again with what they were needed for; inputs stay as they are.
  for (const auto& [value, input] : scope.captures) result.captures.push_back(value);
  return result;
}

std::string Converter::free_name(Graph& graph, const std::string& wanted) const {
  constexpr std::string_view kPlain = "_./:-";
  constexpr size_t kMaxName = 512;
  std::string name = wanted.substr(0, kMaxName);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && kPlain.find(c) == std::string_view::npos) c = '_';
  }
  if (name.empty()) name = "value";
  return graph.find_value(name) ? graph.fresh_name(name) : name;
}

void Converter::bind_name(Scope& scope, const std::string& name, Value* value) {
  scope.values[name] = value;
  // Inputs and initializers passed through keep their own name.
  if (value->producer || (value->is_constant() && value->origin.empty())) {
    const std::string full = scope.prefix + name;
    value->origin = full;
    if (value->name != full) scope.graph->rename(value, free_name(*scope.graph, full));
  }
  check_declared(scope, name, value);
}

void Converter::drop_unused_constants(Graph& graph) {
  std::vector<Value*> unused;
  for (const auto& value : graph.values()) {
    if (value->is_constant() && !value->producer && value->uses.empty() &&
        !graph.is_output(value.get())) {
      unused.push_back(value.get());
    }
  }
  for (Value* value : unused) graph.erase_unused_constant(value);
}

}  // namespace stoker
