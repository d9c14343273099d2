// Shapes, data movement, indexing, constants, casts.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"
#include "import/onnx/shape_arithmetic.h"
#include "ir/constants.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

template <class T>
Tensor vector_tensor(const std::vector<T>& values) {
  return Tensor::from<T>({static_cast<int64_t>(values.size())}, values);
}

// Where older opsets had an integer list as attribute, the newest has an input at `slot`.
Status ints_to_input(NodeImporter& node, const char* name, size_t slot) {
  std::vector<Value*> inputs = node.inputs();
  if (node.has(name)) {
    if (inputs.size() > slot) return invalid_model("'{}' is given as attribute and as input", name);
    inputs.resize(slot + 1, nullptr);
    inputs[slot] = node.constant_i64(node.get_ints(name), name);
    node.drop(name);
  }
  return node.finish_same(std::move(inputs));
}

Status import_reshape(NodeImporter& node) { return ints_to_input(node, "shape", 1); }
Status import_axes(NodeImporter& node) { return ints_to_input(node, "axes", 1); }

Status import_concat(NodeImporter& node) {
  if (node.version() < 4) {
    return node.finish_same(node.inputs(), {{"axis", node.get_int("axis", 1)}});
  }
  return import_same(node);
}

// Parts that the model leaves unnamed are parts all the same.
Status import_split(NodeImporter& node) {
  std::vector<Value*> inputs = node.inputs();
  if (node.has("split")) {
    inputs.resize(2, nullptr);
    inputs[1] = node.constant_i64(node.get_ints("split"), "split");
    node.drop("split");
  }
  STOKER_ASSIGN(Attributes attributes, node.converted());
  const auto declared = static_cast<int64_t>(node.declared_outputs());
  if (node.get_int("num_outputs", declared) != declared) {
    return invalid_model("num_outputs is {}, the node has {} outputs",
                         node.get_int("num_outputs", 0), declared);
  }
  if (inputs.size() < 2 || !inputs[1]) attributes.set("num_outputs", declared);
  STOKER_ASSIGN(Node* const split, node.emit("split", std::move(inputs), std::move(attributes),
                                             static_cast<int>(declared)));
  for (size_t i = 0; i < node.output_count(); ++i) node.bind(i, split->outputs[i]);
  return Status::ok();
}

Status import_slice(NodeImporter& node) {
  if (node.version() >= 10) return import_same(node);
  if (!node.has("starts") || !node.has("ends")) {
    return invalid_model("attributes 'starts' and 'ends' are missing");
  }
  std::vector<Value*> inputs = {node.input(0), node.constant_i64(node.get_ints("starts"), "starts"),
                                node.constant_i64(node.get_ints("ends"), "ends")};
  if (node.has("axes")) inputs.push_back(node.constant_i64(node.get_ints("axes"), "axes"));
  return node.finish("slice", std::move(inputs));
}

Status import_pad(NodeImporter& node) {
  if (node.version() >= 11) return import_same(node);
  const char* name = node.version() < 2 ? "paddings" : "pads";
  if (!node.has(name)) return invalid_model("attribute '{}' is missing", name);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  Value* pads = node.constant_i64(node.get_ints(name), "pads");
  STOKER_ASSIGN(Value* const fill,
                node.scalar_like(node.input(0)->type.dtype, node.get_float("value", 0), "value"));
  return node.finish("pad", {node.input(0), pads, fill},
                     {{"mode", node.get_string("mode", "constant")}});
}

// The i64 that a float bound of a range was cast from, or that a constant equals; null: neither.
Value* integer_bound(Composer& c, const Value* bound) {
  constexpr double kExact = 1 << 24;  // integers up to here hold in f32
  if (const auto number = scalar_constant(bound)) {
    if (std::fabs(*number) > kExact || *number != std::floor(*number)) return nullptr;
    return c.scalar(DType::kI64, *number, "bound");
  }
  const Node* cast = bound ? bound->producer : nullptr;
  if (!cast || !cast->is("cast") || !cast->inputs[0]->elements) return nullptr;
  return c.cast(cast->inputs[0], DType::kI64);
}

// Sizes that exporters cast to float, as for the anchors of a detector: a range of integers, whose
// length follows from the sizes, cast afterwards. The same numbers while they stay below 2^24.
Status import_range(NodeImporter& node) {
  const DType dtype = node.has_input(0) ? node.input(0)->type.dtype : DType::kInvalid;
  const bool floats = dtype == DType::kF32 || dtype == DType::kF64;
  if (!floats || !node.has_input(1) || !node.has_input(2)) return import_same(node);
  const bool sized = node.input(0)->producer || node.input(1)->producer;
  if (!sized || !scalar_constant(node.input(2))) return import_same(node);
  Composer c(node);
  std::vector<Value*> bounds;
  for (size_t i = 0; i < 3; ++i) {
    bounds.push_back(integer_bound(c, node.input(i)));
    if (!bounds.back()) return import_same(node);
  }
  return c.finish(c.cast(c.op("range", std::move(bounds)), dtype));
}

Status import_topk(NodeImporter& node) {
  if (node.version() >= 10) return import_same(node);
  if (!node.has("k")) return invalid_model("attribute 'k' is missing");
  return node.finish("top_k", {node.input(0), node.constant_i64({node.get_int("k", 1)}, "k")},
                     {{"axis", node.get_int("axis", -1)}});
}

// Opset 1 repeated along one axis: tiles times along `axis`.
Status import_tile(NodeImporter& node) {
  if (node.version() >= 6) return import_same(node);
  const auto tiles = node.constant_ints(1);
  const auto axis = node.constant_ints(2);
  if (!tiles || !axis || tiles->size() != 1 || axis->size() != 1 || !node.has_input(0) ||
      !node.input(0)->type.ranked) {
    return unsupported("opset 1 needs constant tiles and axis, and a known rank");
  }
  const int64_t rank = node.input(0)->type.rank();
  const int64_t at = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (at < 0 || at >= rank) return invalid_model("axis {} lies outside rank {}", (*axis)[0], rank);
  std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
  repeats[static_cast<size_t>(at)] = (*tiles)[0];
  return node.finish("tile", {node.input(0), node.constant_i64(repeats, "repeats")});
}

Status import_scatter(NodeImporter& node) {
  STOKER_ASSIGN(const Attributes attributes, node.converted());
  return node.finish("scatter_elements", node.inputs(), attributes);
}

// Before opset 6 the target type was its name.
Status import_cast(NodeImporter& node) {
  const auto* to = node.raw("to");
  if (node.has_input(0) && node.get_int("to", 0) == onnx::TensorProto::INT64) {
    STOKER_ASSIGN(Value* const sizes, sizes_in_float(node, node.input(0)));
    if (sizes && !sizes->origin.empty())  // another name of the model for the same value
      return node.finish("cast", {sizes}, {{"to", DType::kI64}});
    if (sizes) {
      node.bind(0, sizes);
      return Status::ok();
    }
  }
  if (!to || !to->has_s()) return import_same(node);
  const std::string name = to->s();
  onnx::TensorProto::DataType type{};
  if (!onnx::TensorProto::DataType_Parse(name, &type)) {
    return invalid_model("attribute 'to': expected the name of an element type, found '{}'", name);
  }
  return node.finish_same(node.inputs(), {{"to", int64_t{type}}});
}

Status import_bit_cast(NodeImporter& node) {
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  return node.finish_same(node.inputs(), {{"from", node.input(0)->type.dtype}});
}

Status import_cast_like(NodeImporter& node) {
  if (!node.has_input(0) || !node.has_input(1)) return invalid_model("expected 2 inputs");
  STOKER_ASSIGN(Attributes attributes, node.converted());
  attributes.set("to", node.input(1)->type.dtype);
  return node.finish("cast", {node.input(0)}, attributes);
}

Result<Tensor> constant_value(const onnx::AttributeProto& value, const std::string& form) {
  if (form == "value_float") return Tensor::scalar_f32(value.f());
  if (form == "value_int") return Tensor::scalar_i64(value.i());
  if (form == "value_string") return Tensor::from_strings({}, {value.s()});
  if (form == "value_floats") {
    return vector_tensor(std::vector<float>(value.floats().begin(), value.floats().end()));
  }
  if (form == "value_ints") {
    return vector_tensor(std::vector<int64_t>(value.ints().begin(), value.ints().end()));
  }
  return Tensor::from_strings({value.strings_size()},
                              {value.strings().begin(), value.strings().end()});
}

Status import_constant(NodeImporter& node) {
  Result<Tensor> tensor = invalid_model(
      "expected one of the attributes value, sparse_value, value_int, "
      "value_ints, value_float, value_floats, value_string, "
      "value_strings, found none");
  if (const auto* value = node.raw("value")) {
    tensor = value->has_t() ? node.load(value->t())
                            : Result<Tensor>(invalid_model("attribute 'value' holds no tensor"));
  } else if (const auto* sparse = node.raw("sparse_value")) {
    tensor = node.load(sparse->sparse_tensor());
  } else {
    for (const char* form : {"value_float", "value_int", "value_string", "value_floats",
                             "value_ints", "value_strings"}) {
      if (const auto* given = node.raw(form)) tensor = constant_value(*given, form);
    }
  }
  if (!tensor.is_ok()) return tensor.status();
  node.bind(0, node.constant(*tensor, "value"));
  return Status::ok();
}

constexpr OnnxOp kOps[] = {
    {"", "BitCast", import_bit_cast},
    {"", "Cast", import_cast},
    {"", "CastLike", import_cast_like},
    {"", "CenterCropPad", import_same},
    {"", "Compress", import_same},
    {"", "Concat", import_concat},
    {"", "Constant", import_constant},
    {"", "ConstantOfShape", import_same},
    {"", "DepthToSpace", import_same},
    {"", "Expand", import_same},
    {"", "EyeLike", import_same},
    {"", "Flatten", import_same},
    {"", "Gather", import_same},
    {"", "GatherElements", import_same},
    {"", "GatherND", import_same},
    {"", "Identity", import_same},
    {"", "ImageDecoder", import_same},
    {"", "NonZero", import_same},
    {"", "OneHot", import_same},
    {"", "Pad", import_pad},
    {"", "Range", import_range},
    {"", "RegexFullMatch", import_same},
    {"", "Reshape", import_reshape},
    {"", "ReverseSequence", import_same},
    {"", "Scatter", import_scatter},
    {"", "ScatterElements", import_same},
    {"", "ScatterND", import_same},
    {"", "Shape", import_same},
    {"", "Size", import_same},
    {"", "Slice", import_slice},
    {"", "SpaceToDepth", import_same},
    {"", "Split", import_split},
    {"", "Squeeze", import_axes},
    {"", "StringConcat", import_same},
    {"", "StringNormalizer", import_same},
    {"", "StringSplit", import_same},
    {"", "TfIdfVectorizer", import_same},
    {"", "Tile", import_tile},
    {"", "TopK", import_topk},
    {"", "Transpose", import_same},
    {"", "Trilu", import_same},
    {"", "Unique", import_same},
    {"", "Unsqueeze", import_axes},
    {"", "Where", import_same},
};

}  // namespace

std::span<const OnnxOp> tensor_ops() { return kOps; }

}  // namespace stoker
