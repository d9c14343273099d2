// Values that are no tensors: sequences and optionals.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Without an input, the type says what the optional could hold.
Status import_optional(NodeImporter& node) {
  if (node.has_input(0)) {
    node.drop("type");
    return import_same(node);
  }
  STOKER_ASSIGN(const ValueType type, node.type_attribute("type"));
  node.drop("type");
  const bool sequence = type.kind == ValueType::Kind::kSequence;
  if (type.kind != ValueType::Kind::kTensor &&
      !(sequence && type.inner == ValueType::Kind::kTensor)) {
    return invalid_model("attribute 'type' is {}, expected a tensor or a sequence of tensors",
                         type_text(type));
  }
  return node.finish_same(
      {}, {{"dtype", type.dtype}, {"holds", std::string(sequence ? "sequence" : "tensor")}});
}

// keepdims is for splits into single slices; with given parts it says nothing.
Status import_split_to_sequence(NodeImporter& node) {
  if (node.has_input(1)) node.drop("keepdims");
  return import_same(node);
}

constexpr OnnxOp kOps[] = {
    {"", "ConcatFromSequence", import_same},
    {"", "Optional", import_optional},
    {"", "OptionalGetElement", import_same},
    {"", "OptionalHasElement", import_same},
    {"", "SequenceAt", import_same},
    {"", "SequenceConstruct", import_same},
    {"", "SequenceEmpty", import_same},
    {"", "SequenceErase", import_same},
    {"", "SequenceInsert", import_same},
    {"", "SequenceLength", import_same},
    {"", "SplitToSequence", import_split_to_sequence},
};

}  // namespace

std::span<const OnnxOp> values_ops() { return kOps; }

}  // namespace stoker
