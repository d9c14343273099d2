// The table of ops, attribute checks, and the helpers that every caller of an op shares.
// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>
#include <new>

#include "base/numeric.h"

namespace stoker {

#define STOKER_OP(name) extern const Op op_##name;
#include "ops/op_list.def"
#undef STOKER_OP

namespace {

const std::vector<const Op*>& table() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> list = {
#define STOKER_OP(name) &op_##name,
#include "ops/op_list.def"
#undef STOKER_OP
    };
    std::sort(list.begin(), list.end(), [](const Op* a, const Op* b) { return a->name < b->name; });
    return list;
  }();
  return ops;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string suggestion(const Op& op, std::string_view name) {
  const AttributeDef* best = nullptr;
  size_t distance = std::max<size_t>(name.size() / 2, 2) + 1;
  for (const AttributeDef& def : op.attributes) {
    const size_t d = edit_distance(def.name, name);
    if (d < distance) {
      distance = d;
      best = &def;
    }
  }
  return best ? fmt::format("; did you mean \"{}\"?", best->name) : std::string();
}

// A definition called "*" lets every other attribute pass, of any kind.
bool takes_any_attribute(const Op& op) {
  return !op.attributes.empty() && op.attributes.back().name == "*";
}

constexpr std::string_view kKindNames[] = {"int",  "float",  "string",  "dtype",
                                           "ints", "floats", "strings", "tensor"};

// The order of Attribute's alternatives is the order of AttributeKind.
bool kind_matches(AttributeKind kind, const Attribute& value) {
  return value.index() == static_cast<size_t>(kind);
}

// A shape value larger than this is not followed; real shape arithmetic is a handful of numbers.
constexpr int64_t kMaxElements = 4096;

Status check_arity(const Op& op, size_t inputs, int outputs) {
  const int count = static_cast<int>(inputs);
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs)) {
    return invalid_argument(
        "{}: {} inputs given, expected {} to {}", op.name, count, op.min_inputs,
        op.max_inputs < 0 ? std::string("any number") : std::to_string(op.max_inputs));
  }
  if (outputs < 1 || (op.output_count >= 0 && outputs != op.output_count)) {
    return invalid_argument("{}: {} outputs asked for, expected {}", op.name, outputs,
                            op.output_count);
  }
  return Status::ok();
}

}  // namespace

const Op* find_op(std::string_view name) {
  const auto& ops = table();
  const auto it = std::lower_bound(ops.begin(), ops.end(), name,
                                   [](const Op* op, std::string_view n) { return op->name < n; });
  return it != ops.end() && (*it)->name == name ? *it : nullptr;
}

std::span<const Op* const> all_ops() { return table(); }

Status check_attributes(const Op& op, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.all()) {
    const auto def =
        std::find_if(op.attributes.begin(), op.attributes.end(),
                     [&, &key = name](const AttributeDef& d) { return d.name == key; });
    if (def == op.attributes.end()) {
      if (takes_any_attribute(op)) continue;
      return invalid_model("{}: unknown attribute \"{}\"{}", op.name, name, suggestion(op, name));
    }
    if (!kind_matches(def->kind, value)) {
      return invalid_model("{}: attribute \"{}\" is of kind {}, expected {}", op.name, name,
                           kKindNames[value.index()], kKindNames[static_cast<size_t>(def->kind)]);
    }
  }
  for (const AttributeDef& def : op.attributes) {
    if (def.required && !attributes.has(std::string(def.name))) {
      return invalid_model("{}: attribute \"{}\" is missing", op.name, def.name);
    }
  }
  return Status::ok();
}

bool operator==(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.ranked != b.ranked) return false;
  if (a.inner != b.inner || a.key != b.key) return false;
  return !a.ranked || a.dims == b.dims;
}

std::string type_text(const ValueType& type) {
  if (type.dtype == DType::kInvalid) return "none";
  std::string text;
  const auto wrap = [&](ValueType::Kind kind) {
    if (kind == ValueType::Kind::kSequence) text += "sequence ";
    if (kind == ValueType::Kind::kOptional) text += "optional ";
    if (kind == ValueType::Kind::kState) text += "state ";
    if (kind == ValueType::Kind::kMap) text += "map " + std::string(dtype_name(type.key)) + " ";
  };
  wrap(type.kind);
  wrap(type.inner);
  text += dtype_name(type.dtype);
  return text + (type.ranked ? dims_text(type.dims) : "[?]");
}

std::optional<Dims> InferContext::elements(size_t i) const {
  if (!has(i)) return std::nullopt;
  const Input& input = inputs[i];
  if (input.elements) return *input.elements;
  if (!input.constant || input.constant->count() > kMaxElements || input.constant->rank() > 1) {
    return std::nullopt;
  }
  const auto values = constant_ints(i);
  if (!values) return std::nullopt;
  return Dims(values->begin(), values->end());
}

std::optional<std::vector<int64_t>> InferContext::constant_ints(size_t i) const {
  if (!has(i)) return std::nullopt;
  const Input& input = inputs[i];
  if (!input.constant) return input.elements ? constant_dims(*input.elements) : std::nullopt;
  const DType dtype = input.constant->dtype();
  if (!is_integer(dtype) && dtype != DType::kBool) return std::nullopt;
  const LoadInt load = load_int(dtype);
  std::vector<int64_t> values(static_cast<size_t>(input.constant->count()));
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = load(input.constant->data(), static_cast<int64_t>(k));
  }
  return values;
}

int64_t TensorView::count() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

bool TensorView::dense() const {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

TensorView view_of(const Tensor& tensor) {
  TensorView view;
  view.dtype = tensor.dtype();
  view.shape = tensor.shape();
  view.strides = dense_strides(tensor.shape());
  view.data = const_cast<void*>(tensor.data());
  if (tensor.dtype() == DType::kString) {
    view.strings = const_cast<std::vector<std::string>*>(&tensor.strings());
  }
  return view;
}

namespace {

// The tensors among the inputs, as inference and evaluation want them.
struct TensorOperands {
  std::vector<ValueType> types;
  std::vector<InferContext::Input> inputs;
  std::vector<TensorView> views;

  explicit TensorOperands(std::span<const AnyValue> values)
      : types(values.size()), inputs(values.size()), views(values.size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].is_tensor()) continue;
      const Tensor& tensor = values[i].tensor();
      types[i] =
          ValueType::tensor(tensor.dtype(), Dims(tensor.shape().begin(), tensor.shape().end()));
      inputs[i] = {&types[i], &tensor, nullptr};
      views[i] = view_of(tensor);
    }
  }
};

Result<std::vector<AnyValue>> infer_and_evaluate(const Op& op, const Attributes& attributes,
                                                 std::span<const AnyValue> inputs,
                                                 int output_count) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].has_value() && !inputs[i].is_tensor())
      return invalid_argument("{}: input {} is no tensor", op.name, i);
  }
  const TensorOperands operands(inputs);
  InferContext context{attributes, operands.inputs, {}, {}};
  context.outputs.resize(static_cast<size_t>(output_count));
  context.shape_values.resize(static_cast<size_t>(output_count));
  context.fresh_symbol = [](void*) { return Dim::symbol("_unknown"); };
  STOKER_TRY(op.infer(context));
  std::vector<AnyValue> outputs;
  std::vector<TensorView> views;
  for (const ValueType& type : context.outputs) {
    if (type.dtype == DType::kInvalid) {  // an output that this form of the op does not have
      outputs.emplace_back();
      views.emplace_back();
      continue;
    }
    const auto shape = type.ranked ? constant_dims(type.dims) : std::nullopt;
    if (!shape)
      return internal_error("{}: output type {} is not known from the inputs", op.name,
                            type_text(type));
    STOKER_ASSIGN(Tensor tensor, Tensor::allocate(type.dtype, *shape));
    outputs.emplace_back(std::move(tensor));
    views.push_back(view_of(outputs.back().tensor()));
  }
  STOKER_TRY(op.evaluate({attributes, operands.views, views}));
  return outputs;
}

}  // namespace

Result<std::vector<AnyValue>> evaluate_op_values(const Op& op, const Attributes& attributes,
                                                 std::span<const AnyValue> inputs, int output_count,
                                                 RandomKey random) {
  if (!op.infer || (!op.evaluate && !op.evaluate_values)) {
    return unsupported(
        "{}: a structural op has no evaluation of its own; run the graph it stands in", op.name);
  }
  STOKER_TRY(check_arity(op, inputs.size(), output_count));
  STOKER_TRY(check_attributes(op, attributes));
  try {
    if (!op.evaluate_values) {
      for (int i = 0; i < op.min_inputs; ++i) {
        if (!inputs[static_cast<size_t>(i)].has_value())
          return invalid_argument("{}: input {} is missing", op.name, i);
      }
      return infer_and_evaluate(op, attributes, inputs, output_count);
    }
    ValueContext context{attributes, inputs, {}, random};
    context.outputs.resize(static_cast<size_t>(output_count));
    STOKER_TRY(op.evaluate_values(context));
    return std::move(context.outputs);
  } catch (const std::bad_alloc&) {
    return error(StatusCode::kResourceExhausted, "no memory to evaluate {}", op.name);
  }
}

Result<std::vector<Tensor>> evaluate_op(const Op& op, const Attributes& attributes,
                                        const std::vector<Tensor>& inputs, int output_count) {
  std::vector<AnyValue> values;
  for (const Tensor& tensor : inputs) {
    values.push_back(tensor.defined() ? AnyValue(tensor) : AnyValue());
  }
  STOKER_ASSIGN(const auto made, evaluate_op_values(op, attributes, values, output_count));
  std::vector<Tensor> outputs;
  for (const AnyValue& value : made) {
    if (value.has_value() && !value.is_tensor())
      return unsupported("{}: an output is no tensor", op.name);
    outputs.push_back(value.is_tensor() ? value.tensor() : Tensor());
  }
  return outputs;
}

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (size_t d = 0; d < rank; ++d) {
    const Dim x = d + a.size() < rank ? Dim(1) : a[d + a.size() - rank];
    const Dim y = d + b.size() < rank ? Dim(1) : b[d + b.size() - rank];
    if (x.is_const() && y.is_const() && x != y && x != Dim(1) && y != Dim(1)) {
      return invalid_model("shapes {} and {} do not broadcast: {} against {}", dims_text(a),
                           dims_text(b), x.text(), y.text());
    }
    out[d] = Dim::broadcast(x, y);
  }
  return out;
}

}  // namespace stoker
