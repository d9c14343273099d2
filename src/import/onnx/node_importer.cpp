// Attribute conversion and node building for the operators' import functions.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_importer.h"

#include <algorithm>

#include "base/numeric.h"
#include "base/status.h"
#include "import/onnx/op_table.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

using Kind = onnx::AttributeProto;

// Attributes of the first opsets carry no type field.
Kind::AttributeType attribute_type(const onnx::AttributeProto& attribute) {
  if (attribute.type() != Kind::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Kind::FLOAT;
  if (attribute.has_i()) return Kind::INT;
  if (attribute.has_s()) return Kind::STRING;
  if (attribute.has_t()) return Kind::TENSOR;
  if (attribute.has_g()) return Kind::GRAPH;
  if (attribute.floats_size()) return Kind::FLOATS;
  if (attribute.ints_size()) return Kind::INTS;
  if (attribute.strings_size()) return Kind::STRINGS;
  return Kind::UNDEFINED;
}

// Attributes of an ONNX operator that change nothing at these values, so that an IR op without them
// means the same.
bool is_neutral(const std::string& name, const Attribute& value) {
  static const std::map<std::string, Attribute> neutral = {
      {"auto_pad", std::string("NOTSET")},
      {"storage_order", int64_t{0}},
      {"ceil_mode", int64_t{0}},
      {"saturate", int64_t{1}},
      {"stash_type", int64_t{1}},
      {"allowzero", int64_t{0}},
      {"noop_with_empty_axes", int64_t{0}},
      {"block_size", int64_t{0}},
      {"round_mode", std::string("up")},
      {"layout", int64_t{0}},
      {"antialias", int64_t{0}},
      {"exclude_outside", int64_t{0}},
      {"select_last_index", int64_t{0}},
      {"precision", int64_t{0}},
      {"count_include_pad", int64_t{0}},
      {"keep_aspect_ratio_policy", std::string("stretch")},
      {"output_dtype", int64_t{0}},
      {"input_forget", int64_t{0}},
  };
  const auto found = neutral.find(name);
  if (found == neutral.end() || found->second.index() != value.index()) return false;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return *number == std::get<int64_t>(found->second);
  }
  return std::get<std::string>(value) == std::get<std::string>(found->second);
}

Result<Attribute> convert(const onnx::AttributeProto& attribute, Converter& converter) {
  switch (attribute_type(attribute)) {
    case Kind::FLOAT: return Attribute(static_cast<double>(attribute.f()));
    case Kind::INT: return Attribute(int64_t{attribute.i()});
    case Kind::STRING: return Attribute(attribute.s());
    case Kind::FLOATS:
      return Attribute(std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
    case Kind::INTS:
      return Attribute(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case Kind::STRINGS:
      return Attribute(
          std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
    case Kind::TENSOR: {
      STOKER_ASSIGN(Tensor tensor, converter.load_tensor(attribute.t()));
      return Attribute(std::move(tensor));
    }
    default:
      return unsupported("attribute '{}' is of kind {}, which this operator cannot use",
                         attribute.name(), static_cast<int>(attribute.type()));
  }
}

std::string known_attributes(const Op& op) {
  std::string names;
  for (const AttributeDef& def : op.attributes)
    names += (names.empty() ? "expected one of " : ", ") + std::string(def.name);
  return names.empty() ? "it takes none" : names;
}

}  // namespace

NodeImporter::NodeImporter(Converter& converter, Scope& scope, const onnx::NodeProto& proto,
                           std::string label, int64_t version, std::vector<Value*> inputs)
    : converter_(converter),
      scope_(scope),
      proto_(proto),
      label_(std::move(label)),
      version_(version),
      inputs_(std::move(inputs)) {
  for (int i = 0; i < proto.output_size(); ++i) {
    if (!proto.output(i).empty()) output_count_ = static_cast<size_t>(i) + 1;
  }
  for (const auto& attribute : proto.attribute()) {
    const auto* given =
        attribute.ref_attr_name().empty() ? &attribute : scope.bound(attribute.ref_attr_name());
    if (given) attributes_[attribute.name()] = given;
  }
  attributes_.erase("consumed_inputs");  // a memory hint of opset 1
}

const std::string& NodeImporter::op_type() const { return proto_.op_type(); }

size_t NodeImporter::declared_outputs() const { return static_cast<size_t>(proto_.output_size()); }

bool NodeImporter::wants(size_t i) const {
  return i < output_count_ && !proto_.output(static_cast<int>(i)).empty();
}

std::optional<std::vector<int64_t>> NodeImporter::constant_ints(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  if (inputs_[i]->elements) return constant_dims(*inputs_[i]->elements);
  if (!inputs_[i]->constant) return std::nullopt;
  const Tensor& tensor = *inputs_[i]->constant;
  if (!is_integer(tensor.dtype()) || tensor.count() > 4096) return std::nullopt;
  const LoadInt load = load_int(tensor.dtype());
  std::vector<int64_t> values;
  for (int64_t k = 0; k < tensor.count(); ++k) values.push_back(load(tensor.data(), k));
  return values;
}

const onnx::AttributeProto* NodeImporter::raw(const std::string& name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : found->second;
}

int64_t NodeImporter::get_int(const std::string& name, int64_t fallback) const {
  const auto* attribute = raw(name);
  return attribute && attribute->has_i() ? attribute->i() : fallback;
}

double NodeImporter::get_float(const std::string& name, double fallback) const {
  const auto* attribute = raw(name);
  return attribute && attribute->has_f() ? attribute->f() : fallback;
}

std::string NodeImporter::get_string(const std::string& name, const std::string& fallback) const {
  const auto* attribute = raw(name);
  return attribute && attribute->has_s() ? attribute->s() : fallback;
}

std::vector<int64_t> NodeImporter::get_ints(const std::string& name) const {
  const auto* attribute = raw(name);
  if (!attribute) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<double> NodeImporter::get_floats(const std::string& name) const {
  const auto* attribute = raw(name);
  if (!attribute) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

Result<Attributes> NodeImporter::converted() const {
  Attributes attributes;
  for (const auto& [name, attribute] : attributes_) {
    STOKER_ASSIGN(Attribute value, convert(*attribute, converter_));
    attributes.set(name, std::move(value));
  }
  return attributes;
}

Result<ValueType> NodeImporter::type_attribute(const std::string& name) const {
  const auto* attribute = raw(name);
  if (!attribute || !attribute->has_tp())
    return invalid_model("attribute '{}' is missing, expected a type", name);
  auto type = converter_.convert_type(attribute->tp(), name);
  return type.is_ok() ? type : type.status().at(fmt::format("attribute '{}'", name));
}

Value* NodeImporter::constant(Tensor tensor, const std::string& role) {
  return graph().add_constant(converter_.free_name(graph(), label_ + "." + role),
                              std::move(tensor));
}

Value* NodeImporter::constant_i64(const std::vector<int64_t>& values, const std::string& role) {
  return constant(Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values), role);
}

Result<Value*> NodeImporter::scalar_like(DType dtype, double value, const std::string& role) {
  const StoreDouble store = store_double(dtype);
  if (!store) return invalid_model("expected numbers, found elements of {}", dtype_name(dtype));
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, {}));
  store(tensor.data(), 0, value);
  return constant(std::move(tensor), role);
}

// Brings attributes to the kinds that the op declares.
Status NodeImporter::adapt(const Op& op, Attributes& attributes) const {
  const auto given = attributes.all();
  const bool open = !op.attributes.empty() && op.attributes.back().name == "*";  // takes any
  for (const auto& [name, value] : given) {
    const auto def =
        std::find_if(op.attributes.begin(), op.attributes.end(),
                     [&, &key = name](const AttributeDef& d) { return d.name == key; });
    if (def == op.attributes.end()) {
      if (open) continue;
      if (!is_neutral(name, value)) {
        return unsupported("unknown attribute '{}' (or a value of it that op {} does not take); {}",
                           name, op.name, known_attributes(op));
      }
      attributes.erase(name);
      continue;
    }
    const auto* number = std::get_if<int64_t>(&value);
    if (def->kind == AttributeKind::kDType && number) {
      const DType dtype = dtype_from_onnx(*number);
      if (dtype == DType::kInvalid && *number != 0) {
        return invalid_model("attribute '{}': expected an element type, found {}", name, *number);
      }
      attributes.erase(name);
      if (dtype != DType::kInvalid) attributes.set(name, dtype);
    } else if (def->kind == AttributeKind::kFloat && number) {
      attributes.set(name, static_cast<double>(*number));
    } else if (def->kind == AttributeKind::kInts && number) {
      attributes.set(name, std::vector<int64_t>{*number});
    }
  }
  return check_attributes(op, attributes);
}

Result<Node*> NodeImporter::emit(const std::string& op_name, std::vector<Value*> inputs,
                                 Attributes attributes, int output_count,
                                 std::vector<std::unique_ptr<Graph>> subgraphs) {
  const Op* op = find_op(op_name);
  if (!op) return unsupported("this build has no op '{}' yet", op_name);
  if (op->output_count >= 0 && output_count > op->output_count) {
    return unsupported("op {} has {} outputs, the model uses {}", op_name, op->output_count,
                       output_count);
  }
  const int inputs_given = static_cast<int>(inputs.size());
  if (inputs_given < op->min_inputs || (op->max_inputs >= 0 && inputs_given > op->max_inputs)) {
    const std::string expected = op->max_inputs < 0 ? fmt::format("{} or more", op->min_inputs)
                                 : op->min_inputs == op->max_inputs
                                     ? std::to_string(op->min_inputs)
                                     : fmt::format("{} to {}", op->min_inputs, op->max_inputs);
    return invalid_model("expected {} input{}, found {}", expected, expected == "1" ? "" : "s",
                         inputs_given);
  }
  STOKER_TRY(adapt(*op, attributes));
  Node* node = graph().add_node(*op, std::move(inputs), std::move(attributes),
                                op->output_count >= 0 ? op->output_count : output_count, nullptr,
                                converter_.free_name(graph(), label_));
  node->origins = {label_};
  node->subgraphs = std::move(subgraphs);
  if (const Status status = graph().infer(node); !status.is_ok()) {
    graph().erase(node);
    return status;
  }
  return node;
}

Result<Value*> NodeImporter::apply(const std::string& op, std::vector<Value*> inputs,
                                   Attributes attributes) {
  STOKER_ASSIGN(Node* const node, emit(op, std::move(inputs), std::move(attributes)));
  return node->outputs[0];
}

Status NodeImporter::finish(const std::string& op, std::vector<Value*> inputs,
                            Attributes attributes, std::vector<std::unique_ptr<Graph>> subgraphs) {
  STOKER_ASSIGN(Node* const node,
                emit(op, std::move(inputs), std::move(attributes),
                     std::max(1, static_cast<int>(output_count_)), std::move(subgraphs)));
  for (size_t i = 0; i < output_count_; ++i) {
    if (wants(i)) bind(i, node->outputs[i]);
  }
  return Status::ok();
}

Status NodeImporter::finish_same(std::vector<Value*> inputs, const Attributes& more) {
  STOKER_ASSIGN(Attributes attributes, converted());
  for (const auto& [name, value] : more.all()) attributes.set(name, value);
  return finish(ir_op_name(op_type()), std::move(inputs), std::move(attributes));
}

void NodeImporter::bind(size_t i, Value* value) {
  if (wants(i)) converter_.bind_name(scope_, proto_.output(static_cast<int>(i)), value);
}

Value* NodeImporter::find(const std::string& name) const {
  const auto found = scope_.values.find(name);
  return found == scope_.values.end() ? nullptr : found->second;
}

Result<Subgraph> NodeImporter::subgraph(const std::string& attribute,
                                        std::span<const ValueType> expected) {
  const auto* found = raw(attribute);
  if (!found || !found->has_g()) {
    return invalid_model("attribute '{}' is missing, expected a graph", attribute);
  }
  return converter_.convert_subgraph(found->g(), scope_, attribute, expected);
}

Result<std::vector<Value*>> NodeImporter::inlined(const std::string& attribute,
                                                  const std::vector<Value*>& inputs) {
  const auto* found = raw(attribute);
  if (!found || !found->has_g()) {
    return invalid_model("attribute '{}' is missing, expected a graph", attribute);
  }
  auto made = converter_.inline_graph(found->g(), scope_, label_ + "/" + attribute, inputs);
  if (!made.is_ok() && !made.status().message().empty()) {
    return made.status().at(fmt::format("attribute '{}'", attribute));
  }
  return made;
}

Status import_same(NodeImporter& node) { return node.finish_same(node.inputs()); }

}  // namespace stoker
