// Converter's part about types: graph inputs and outputs, initializers, declared shapes and
// symbols.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <set>

#include "base/status.h"
#include "import/onnx/converter.h"
#include "import/onnx/node_importer.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

constexpr int kMaxRank = 64;

// A name that Dim's text form can carry.
std::string symbol_name(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 64)) {
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "d" + name;
  return name;
}

// Sets the kinds of `type` (and the keys of a map) and gives the tensor type inside.
Result<const onnx::TypeProto*> unwrap_type(const onnx::TypeProto& proto, ValueType& type) {
  using Kind = ValueType::Kind;
  const onnx::TypeProto* inside = &proto;
  if (proto.has_sequence_type()) {
    type.kind = Kind::kSequence;
    inside = &proto.sequence_type().elem_type();
  } else if (proto.has_optional_type()) {
    type.kind = Kind::kOptional;
    inside = &proto.optional_type().elem_type();
    if (inside->has_sequence_type()) {
      type.inner = Kind::kSequence;
      inside = &inside->sequence_type().elem_type();
    }
  }
  if (inside->has_map_type() && type.kind != Kind::kOptional) {
    (type.kind == Kind::kSequence ? type.inner : type.kind) = Kind::kMap;
    const auto& map = inside->map_type();
    type.key = dtype_from_onnx(map.key_type());
    if (!is_integer(type.key) && type.key != DType::kString) {
      return invalid_model("the keys of a map: expected integers or strings, found {}",
                           dtype_name(type.key));
    }
    inside = &map.value_type();
  }
  if (inside->has_tensor_type()) return inside;
  return unsupported(
      "expected a tensor, a sequence of tensors or of maps, an optional tensor or sequence of "
      "tensors, or a map to tensors");
}

}  // namespace

// Exporters write "?" or "-1" for sizes they do not know: these are not one shared size.
bool names_nothing(const std::string& parameter) {
  return std::none_of(parameter.begin(), parameter.end(),
                      [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

// Two parameters that differ only in characters a symbol cannot have stay two symbols.
Dim Converter::symbol_for(const std::string& parameter) {
  if (const auto found = symbols_.find(parameter); found != symbols_.end()) {
    return Dim::symbol(found->second);
  }
  const std::string base = symbol_name(parameter);
  std::string name = base;
  const auto taken = [&] {
    return root_->find_symbol(name) ||
           std::any_of(symbols_.begin(), symbols_.end(),
                       [&](const auto& entry) { return entry.second == name; });
  };
  for (int i = 2; taken(); ++i) name = fmt::format("{}_{}", base, i);
  symbols_[parameter] = name;
  return Dim::symbol(name);
}

// `name` names the extents that the model leaves open.
Result<ValueType> Converter::convert_type(const onnx::TypeProto& proto, const std::string& name) {
  ValueType type;
  STOKER_ASSIGN(const onnx::TypeProto* const inner, unwrap_type(proto, type));
  const auto& tensor = inner->tensor_type();
  type.dtype = dtype_from_onnx(tensor.elem_type());
  if (type.dtype == DType::kInvalid) {
    return invalid_model("expected an element type that ONNX defines, found {}",
                         tensor.elem_type());
  }
  type.ranked = tensor.has_shape() && type.kind == ValueType::Kind::kTensor;
  if (!type.ranked) return type;
  if (tensor.shape().dim_size() > kMaxRank) {
    return invalid_model("expected at most {} dimensions, found {}", kMaxRank,
                         tensor.shape().dim_size());
  }
  for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
    const auto& dim = tensor.shape().dim(axis);
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      type.dims.emplace_back(dim.dim_value());
    } else if (dim.has_dim_value() && dim.dim_value() != -1) {
      return invalid_model("dimension {}: expected a size, found {}", axis, dim.dim_value());
    } else {
      const std::string& parameter = dim.dim_param();
      type.dims.push_back(
          symbol_for(names_nothing(parameter) ? fmt::format("{}_{}", name, axis) : parameter));
    }
  }
  for (Dim& dim : type.dims) dim = dim.substitute(replacements_);
  return type;
}

// A symbol that an override replaces in one input is replaced in all of them.
void Converter::read_overrides(const onnx::GraphProto& proto) {
  for (const auto& [name, dims] : options_.input_shapes) {
    const auto info =
        std::find_if(proto.input().begin(), proto.input().end(),
                     [&, &wanted = name](const auto& i) { return i.name() == wanted; });
    if (info == proto.input().end()) {
      std::string names;
      for (const auto& input : proto.input()) names += (names.empty() ? "" : ", ") + input.name();
      problem(
          StatusCode::kInvalidArgument,
          fmt::format("a shape is given for input '{}'; the model's inputs are: {}", name, names));
      continue;
    }
    const auto declared = convert_type(info->type(), name);
    if (!declared.is_ok()) continue;  // reported with the inputs
    if (declared->kind != ValueType::Kind::kTensor ||
        (declared->ranked && declared->dims.size() != dims.size())) {
      problem(StatusCode::kInvalidArgument,
              fmt::format("input '{}': the given shape {} does not fit the declared {}", name,
                          dims_text(dims), type_text(*declared)));
      continue;
    }
    for (size_t i = 0; i < declared->dims.size(); ++i) {
      const Dim& from = declared->dims[i];
      if (from.is_const() || from == dims[i]) continue;
      std::vector<std::string> used;
      dims[i].collect_symbols(used);
      if (std::find(used.begin(), used.end(), from.text()) == used.end()) {
        replacements_.emplace(from.text(), dims[i]);
      }
    }
  }
}

void Converter::convert_inputs(const onnx::GraphProto& proto, Scope& scope,
                               std::span<const ValueType> expected) {
  std::set<std::string> seen;
  size_t position = 0;
  for (const auto& info : proto.input()) {
    const ValueType* fallback = position < expected.size() ? &expected[position] : nullptr;
    ++position;
    if (!seen.insert(info.name()).second || info.name().empty()) {
      problem(StatusCode::kInvalidModel,
              info.name().empty() ? "a graph input has no name"
                                  : fmt::format("graph input '{}' stands twice", info.name()));
    } else if (!scope.values.count(info.name())) {  // old models list initializers as inputs too
      add_input(info, scope, fallback);
    }
  }
}

// A sub-graph need not declare the types of its inputs: `fallback`, when it is known, is what the
// node passes.
void Converter::add_input(const onnx::ValueInfoProto& info, Scope& scope,
                          const ValueType* fallback) {
  const bool declared = info.type().value_case() != onnx::TypeProto::VALUE_NOT_SET;
  auto type = !declared && fallback && fallback->dtype != DType::kInvalid
                  ? Result<ValueType>(*fallback)
                  : convert_type(info.type(), info.name());
  scope.values[info.name()] = nullptr;
  if (!type.is_ok()) {
    problem(type.status().code(),
            fmt::format("input '{}': {}", info.name(), type.status().message()));
    return;
  }
  if (const auto given = options_.input_shapes.find(info.name());
      scope.graph == root_ && given != options_.input_shapes.end()) {
    type->ranked = true;
    type->dims = given->second;
  }
  const std::string name = free_name(*scope.graph, info.name());
  if (const auto fixed = options_.constant_inputs.find(info.name());
      scope.graph == root_ && fixed != options_.constant_inputs.end()) {
    const Tensor& tensor = fixed->second;
    if (type->dtype != tensor.dtype() || type->kind != ValueType::Kind::kTensor ||
        (type->ranked && type->rank() != tensor.rank())) {
      problem(
          StatusCode::kInvalidArgument,
          fmt::format("input '{}': the given value {}{} does not fit the declared {}", info.name(),
                      dtype_name(tensor.dtype()), shape_text(tensor.shape()), type_text(*type)));
      return;
    }
    scope.values[info.name()] = scope.graph->add_constant(name, tensor, info.name());
    return;
  }
  Value* value = scope.graph->add_input(name, std::move(*type));
  value->origin = info.name();
  scope.values[info.name()] = value;
}

Result<Tensor> Converter::load_tensor(const onnx::TensorProto& proto) {
  STOKER_ASSIGN(Tensor tensor, tensor_from_proto(proto, source_));
  source_.max_bytes -= tensor.bytes();
  return tensor;
}

Result<Tensor> Converter::load_sparse(const onnx::SparseTensorProto& proto) {
  STOKER_ASSIGN(Tensor tensor, tensor_from_sparse(proto, source_));
  source_.max_bytes -= tensor.bytes();
  return tensor;
}

void Converter::convert_initializers(const onnx::GraphProto& proto, Scope& scope) {
  const auto add = [&](const std::string& name, const Result<Tensor>& tensor) {
    if (name.empty() || scope.values.count(name)) {
      problem(StatusCode::kInvalidModel, name.empty()
                                             ? "an initializer has no name"
                                             : fmt::format("initializer '{}' stands twice", name));
      return;
    }
    scope.values[name] = nullptr;
    if (!tensor.is_ok()) {
      problem(tensor.status().code(),
              fmt::format("initializer '{}': {}", name, tensor.status().message()));
      return;
    }
    scope.values[name] =
        scope.graph->add_constant(free_name(*scope.graph, scope.prefix + name), *tensor, name);
  };
  for (const auto& initializer : proto.initializer()) {
    add(initializer.name(), load_tensor(initializer));
  }
  for (const auto& initializer : proto.sparse_initializer()) {
    add(initializer.values().name(), load_sparse(initializer));
  }
}

void Converter::read_declared(const onnx::GraphProto& proto, Scope& scope) {
  for (const auto& info : proto.value_info()) scope.declared[info.name()] = &info;
  for (const auto& info : proto.output()) scope.declared[info.name()] = &info;
}

namespace {

// Whether a declared tensor type and an inferred one exclude each other.
bool contradicts(const ValueType& declared, const ValueType& inferred) {
  if (declared.dtype != inferred.dtype) return true;
  if (!declared.ranked || !inferred.ranked) return false;
  if (declared.rank() != inferred.rank()) return true;
  for (size_t i = 0; i < declared.dims.size(); ++i) {
    const auto a = declared.dims[i].constant(), b = inferred.dims[i].constant();
    if (a && b && *a != *b) return true;
  }
  return false;
}

}  // namespace

// Inference decides; what the model declares fills in ranks that inference does not know, and a
// contradiction is a warning.
void Converter::check_declared(Scope& scope, const std::string& name, Value* value) {
  const auto found = scope.declared.find(name);
  if (found == scope.declared.end() || !found->second->type().has_tensor_type()) return;
  if (value->type.kind != ValueType::Kind::kTensor) return;
  auto type = convert_type(found->second->type(), name);
  if (!type.is_ok()) return;  // a declaration that says nothing
  if (contradicts(*type, value->type) && options_.input_shapes.empty()) {
    warnings_.push_back(fmt::format("value '{}' is declared as {}, but is {}", name,
                                    type_text(*type), type_text(value->type)));
  } else if (!value->type.ranked && type->ranked && type->dtype == value->type.dtype) {
    scope.graph->register_symbols(*type);
    value->type = std::move(*type);
  }
}

// Exporters get the shapes of outputs wrong rather often. A wrong dtype is an error: it says that
// the file and the program that made it disagree about the computation.
void Converter::check_output(const onnx::ValueInfoProto& info, const Value& value) {
  if (!info.type().has_tensor_type() || value.type.kind != ValueType::Kind::kTensor) return;
  const auto type = convert_type(info.type(), info.name());
  if (!type.is_ok() || type->dtype == value.type.dtype) return;
  problem(StatusCode::kInvalidModel,
          fmt::format("graph output '{}' is declared as {}, but the nodes give {}; correct the "
                      "declared type, or the nodes",
                      info.name(), type_text(*type), type_text(value.type)));
}

void Converter::convert_outputs(const onnx::GraphProto& proto, Scope& scope) {
  std::set<std::string> seen;
  for (const auto& info : proto.output()) {
    if (!seen.insert(info.name()).second) {
      problem(StatusCode::kInvalidModel,
              fmt::format("graph output '{}' stands twice", info.name()));
      continue;
    }
    const auto found = lookup(scope, info.name());
    if (!found) {
      problem(StatusCode::kInvalidModel,
              fmt::format("graph output '{}' is produced by no node, input or initializer",
                          info.name()));
      continue;
    }
    Value* value = *found;
    if (!value) {
      scope.failed = true;
      continue;
    }
    if (scope.graph == root_) check_output(info, *value);
    // An output has the model's name; a value that already has another one is copied.
    const bool named = value->origin == scope.prefix + info.name() || scope.outer;
    if (!named || scope.graph->is_output(value)) {
      const Op* identity = find_op("identity");
      if (!identity) continue;
      Node* copy = scope.graph->add_node(*identity, {value}, {}, 1, nullptr, info.name());
      copy->origins = {info.name()};
      if (const Status status = scope.graph->infer(copy); !status.is_ok()) {
        problem(status.code(), status.message());
        continue;
      }
      value = copy->outputs[0];
      value->origin = info.name();
    }
    scope.graph->outputs.push_back(value);
  }
}

}  // namespace stoker
