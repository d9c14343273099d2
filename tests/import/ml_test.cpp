// ai.onnx.ml and the sampling operators from the file to numbers: every version of LabelEncoder,
// CategoryMapper, and what older opsets of other operators left to a default.
// SPDX-License-Identifier: Apache-2.0
#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

using Strings = std::vector<std::string>;

// A model with one node of ai.onnx.ml from x to y.
class MlNode {
 public:
  MlNode(const std::string& op, int64_t version, const Names& extents, int type) : model_(20) {
    auto* opset = model_.model.add_opset_import();
    opset->set_domain("ai.onnx.ml");
    opset->set_version(version);
    model_.input("x", extents, type);
    model_.node(op, {"x"}, {"y"}).domain("ai.onnx.ml");
    model_.output("y");
  }
  MlNode& strings(const std::string& name, const Strings& values) {
    auto& attribute = add(name, onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) attribute.add_strings(value);
    return *this;
  }
  MlNode& ints(const std::string& name, const std::vector<int64_t>& values) {
    auto& attribute = add(name, onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
    return *this;
  }
  MlNode& number(const std::string& name, int64_t value) {
    add(name, onnx::AttributeProto::INT).set_i(value);
    return *this;
  }
  Tensor run(const Tensor& x) const {
    const auto imported = import_text(model_);
    EXPECT_TRUE(imported.is_ok()) << imported.status().message();
    if (!imported.is_ok()) return {};
    const auto outputs = evaluate(*imported->graph, {{"x", x}});
    EXPECT_TRUE(outputs.is_ok()) << outputs.status().message();
    return outputs.is_ok() ? (*outputs)[0] : Tensor();
  }

 private:
  onnx::AttributeProto& add(const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = model_.graph().mutable_node(0)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
  }
  ModelText model_;
};

constexpr int kString = onnx::TensorProto::STRING;

Tensor strings(const Strings& values) {
  return *Tensor::from_strings({static_cast<int64_t>(values.size())}, values);
}
Tensor ints(const std::vector<int64_t>& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}
std::vector<int64_t> ints_of(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DType::kI64);
  if (tensor.dtype() != DType::kI64) return {};
  return {tensor.values<int64_t>().begin(), tensor.values<int64_t>().end()};
}
Strings strings_of(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DType::kString);
  return tensor.dtype() == DType::kString ? tensor.strings() : Strings();
}

TEST(LabelEncoder, FirstVersionUsesPositions) {
  MlNode words("LabelEncoder", 1, {"2"}, kString);
  words.strings("classes_strings", {"x", "a", "b"}).number("default_int64", -7);
  EXPECT_EQ(ints_of(words.run(strings({"a", "c"}))), (std::vector<int64_t>{1, -7}));
  MlNode places("LabelEncoder", 1, {"2"}, kInt64);
  places.strings("classes_strings", {"x", "a", "b"});
  EXPECT_EQ(strings_of(places.run(ints({2, 9}))), (Strings{"b", "_Unused"}));
}

TEST(LabelEncoder, OfEqualKeysTheFirstCountsBeforeVersionFour) {
  for (const int64_t version : {2, 4}) {
    MlNode node("LabelEncoder", version, {"3"}, kInt64);
    node.ints("keys_int64s", {1, 1, 2}).strings("values_strings", {"a", "b", "c"});
    EXPECT_EQ(strings_of(node.run(ints({1, 2, 3}))),
              (Strings{version == 2 ? "a" : "b", "c", "_Unused"}));
  }
}

TEST(CategoryMapper, MapsBothWays) {
  MlNode words("CategoryMapper", 1, {"2"}, kString);
  words.ints("cats_int64s", {10, 20}).strings("cats_strings", {"x", "y"});
  EXPECT_EQ(ints_of(words.run(strings({"y", "q"}))), (std::vector<int64_t>{20, -1}));
  MlNode numbers("CategoryMapper", 1, {"2"}, kInt64);
  numbers.ints("cats_int64s", {10, 20}).strings("cats_strings", {"x", "y"});
  EXPECT_EQ(strings_of(numbers.run(ints({10, 11}))), (Strings{"x", "_Unused"}));
}

std::string attribute_of(ModelText& model, const std::string& name) {
  model.output("y");
  const auto imported = import_text(model);
  EXPECT_TRUE(imported.is_ok()) << imported.status().message();
  if (!imported.is_ok()) return "";
  return imported->graph->nodes().front()->attributes.get_string(name);
}

TEST(OldSampling, ModesHaveTheirNewNames) {
  for (const auto& [old, name] : {std::pair<std::string, std::string>{"bilinear", "linear"},
                                  {"bicubic", "cubic"},
                                  {"nearest", "nearest"}}) {
    ModelText model(16);
    model.input("x", {"1", "1", "3", "3"});
    model.input("g", {"1", "2", "2", "2"});
    model.node("GridSample", {"x", "g"}, {"y"}).set("mode", old);
    EXPECT_EQ(attribute_of(model, "mode"), name);
  }
}

TEST(OldSampling, RoiAlignDidNotShiftByHalfAPixel) {
  for (const int64_t opset : {10, 16}) {
    ModelText model(opset);
    model.input("x", {"1", "1", "3", "3"});
    model.input("r", {"2", "4"});
    model.input("b", {"2"}, kInt64);
    model.node("RoiAlign", {"x", "r", "b"}, {"y"});
    EXPECT_EQ(attribute_of(model, "coordinate_transformation_mode"),
              opset == 10 ? "output_half_pixel" : "half_pixel");
  }
}

}  // namespace
}  // namespace stoker::test
