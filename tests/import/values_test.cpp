// Values that are no tensors, from the file to the IR: declared types, types as attributes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

onnx::TypeProto tensor_type(int32_t dtype) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(dtype);
  return type;
}
onnx::TypeProto sequence_type(const onnx::TypeProto& element) {
  onnx::TypeProto type;
  *type.mutable_sequence_type()->mutable_elem_type() = element;
  return type;
}
onnx::TypeProto optional_type(const onnx::TypeProto& element) {
  onnx::TypeProto type;
  *type.mutable_optional_type()->mutable_elem_type() = element;
  return type;
}
onnx::TypeProto map_type(int32_t key, const onnx::TypeProto& value) {
  onnx::TypeProto type;
  type.mutable_map_type()->set_key_type(key);
  *type.mutable_map_type()->mutable_value_type() = value;
  return type;
}

// The type that an input declared so has, or the error.
std::string imported_type(const onnx::TypeProto& type) {
  ModelText model(20);
  auto* input = model.graph().add_input();
  input->set_name("x");
  *input->mutable_type() = type;
  model.node("Identity", {"x"}, {"y"});
  model.output("y");
  const auto imported = import_text(model);
  return imported.is_ok() ? type_text(imported->graph->outputs[0]->type)
                          : imported.status().message();
}

TEST(ValueTypes, AreReadFromDeclarations) {
  const auto f32 = tensor_type(kFloat);
  EXPECT_EQ(imported_type(f32), "f32[?]");
  EXPECT_EQ(imported_type(sequence_type(f32)), "sequence f32[?]");
  EXPECT_EQ(imported_type(optional_type(f32)), "optional f32[?]");
  EXPECT_EQ(imported_type(optional_type(sequence_type(f32))), "optional sequence f32[?]");
  EXPECT_EQ(imported_type(map_type(kInt64, f32)), "map i64 f32[?]");
  EXPECT_EQ(imported_type(sequence_type(map_type(onnx::TensorProto::STRING, f32))),
            "sequence map string f32[?]");
}

TEST(ValueTypes, OthersAreRefused) {
  const auto f32 = tensor_type(kFloat);
  const auto refused = [](const onnx::TypeProto& type, const char* with) {
    const std::string text = imported_type(type);
    EXPECT_NE(text.find(with), std::string::npos) << text;
  };
  refused(onnx::TypeProto(), "expected a tensor, a sequence");
  refused(sequence_type(sequence_type(f32)), "expected a tensor, a sequence");
  refused(optional_type(optional_type(f32)), "expected a tensor, a sequence");
  refused(optional_type(map_type(kInt64, f32)), "expected a tensor, a sequence");
  refused(map_type(kFloat, f32), "the keys of a map");
  refused(sequence_type(tensor_type(99)), "an element type that ONNX defines");
}

TEST(ValueTypes, OptionalWithoutAnInput) {
  const auto optional = [](const onnx::TypeProto& type) {
    ModelText model(18);
    model.node("Optional", {}, {"y"});
    auto* attribute = model.graph().mutable_node(0)->add_attribute();
    attribute->set_name("type");
    attribute->set_type(onnx::AttributeProto::TYPE_PROTO);
    *attribute->mutable_tp() = type;
    model.output("y");
    const auto imported = import_text(model);
    return imported.is_ok() ? type_text(imported->graph->outputs[0]->type)
                            : imported.status().message();
  };
  EXPECT_EQ(optional(tensor_type(kInt64)), "optional i64[?]");
  EXPECT_EQ(optional(sequence_type(tensor_type(kFloat))), "optional sequence f32[?]");
  EXPECT_NE(optional(map_type(kInt64, tensor_type(kFloat))).find("expected a tensor or"),
            std::string::npos);
  EXPECT_NE(optional(onnx::TypeProto()).find("attribute 'type'"), std::string::npos);
}

TEST(ValueTypes, SequenceOpsInARow) {
  ModelText model(18);
  model.input("x", {"6", "N"});
  model.node("SplitToSequence", {"x"}, {"s"}).set("axis", int64_t{1}).set("keepdims", int64_t{0});
  model.node("SequenceErase", {"s"}, {"t"});
  model.node("ConcatFromSequence", {"t"}, {"y"})
      .set("axis", int64_t{1})
      .set("new_axis", int64_t{1});
  model.node("SequenceLength", {"t"}, {"n"});
  model.node("SequenceEmpty", {}, {"e"}).set("dtype", int64_t{kInt64});
  model.output("y");
  model.output("n");
  model.output("e");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const auto& outputs = imported->graph->outputs;
  EXPECT_EQ(type_text(outputs[0]->type), "f32[6,u0]");
  EXPECT_EQ(type_text(outputs[1]->type), "i64[]");
  EXPECT_EQ(type_text(outputs[2]->type), "sequence i64[?]");
}

}  // namespace
}  // namespace stoker::test
