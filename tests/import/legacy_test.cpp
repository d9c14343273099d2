// Each form that older opsets had is imported and evaluated; the expected numbers follow from the
// text of that opset's operator, worked by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "import/onnx/op_table.h"
#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

// Output 0 of a model whose only graph input is x.
Tensor run(const ModelText& model, const Tensor& x) {
  const auto imported = import_text(model);
  EXPECT_TRUE(imported.is_ok()) << imported.status().message();
  if (!imported.is_ok()) return {};
  const Status valid = verify(*imported->graph);
  EXPECT_TRUE(valid.is_ok()) << valid.message();
  const auto outputs = evaluate(*imported->graph, {{"x", x}});
  EXPECT_TRUE(outputs.is_ok()) << outputs.status().message();
  return outputs.is_ok() ? (*outputs)[0] : Tensor();
}

void expect_floats(const Tensor& tensor, const Shape& shape, const std::vector<float>& values) {
  ASSERT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_EQ(tensor.shape(), shape);
  ASSERT_EQ(tensor.count(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(tensor.values<float>()[i], values[i], 1e-6) << "element " << i;
  }
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::from<float>(shape, values);
}

ModelText one_node(int64_t opset, const Names& extents) {
  ModelText model(opset);
  model.input("x", extents);
  model.output("y");
  return model;
}

TEST(Legacy, NamesFollowTheRule) {
  EXPECT_EQ(ir_op_name("Conv"), "conv");
  EXPECT_EQ(ir_op_name("GlobalAveragePool"), "global_average_pool");
  EXPECT_EQ(ir_op_name("QLinearMatMul"), "qlinear_matmul");
  EXPECT_EQ(ir_op_name("MatMulInteger"), "matmul_integer");
  EXPECT_EQ(ir_op_name("LSTM"), "lstm");
  EXPECT_EQ(ir_op_name("PRelu"), "prelu");
  EXPECT_EQ(ir_op_name("RMSNormalization"), "rms_normalization");
  EXPECT_EQ(ir_op_name("GatherND"), "gather_nd");
  EXPECT_EQ(ir_op_name("ReduceL2"), "reduce_l2");
  EXPECT_EQ(ir_op_name("IsNaN"), "is_nan");
  EXPECT_EQ(ir_op_name("TopK"), "top_k");
}

TEST(Legacy, AddBroadcastsByAxis) {
  ModelText model = one_node(6, {"1", "2", "2"});
  model.initializer<float>("b", {2}, {10, 20});
  model.node("Add", {"x", "b"}, {"y"}).set("broadcast", int64_t{1}).set("axis", int64_t{1});
  expect_floats(run(model, floats({1, 2, 2}, {1, 2, 3, 4})), {1, 2, 2}, {11, 12, 23, 24});
}

TEST(Legacy, AddBroadcastsSuffix) {
  ModelText model = one_node(6, {"2", "2"});
  model.initializer<float>("b", {2}, {10, 20});
  model.node("Add", {"x", "b"}, {"y"}).set("broadcast", int64_t{1});
  expect_floats(run(model, floats({2, 2}, {1, 2, 3, 4})), {2, 2}, {11, 22, 13, 24});
}

TEST(Legacy, BroadcastAxisOutsideIsAnError) {
  ModelText model = one_node(6, {"2", "2"});
  model.initializer<float>("b", {2}, {10, 20});
  model.node("Add", {"x", "b"}, {"y"}).set("broadcast", int64_t{1}).set("axis", int64_t{2});
  EXPECT_FALSE(import_text(model).is_ok());
}

TEST(Legacy, ReshapeAttribute) {
  ModelText model = one_node(4, {"2", "2"});
  model.node("Reshape", {"x"}, {"y"}).ints("shape", {4}).ints("consumed_inputs", {0});
  expect_floats(run(model, floats({2, 2}, {1, 2, 3, 4})), {4}, {1, 2, 3, 4});
}

TEST(Legacy, SqueezeAndUnsqueezeAttributes) {
  ModelText model = one_node(11, {"1", "2"});
  model.node("Squeeze", {"x"}, {"s"}).ints("axes", {0});
  model.node("Unsqueeze", {"s"}, {"y"}).ints("axes", {1});
  expect_floats(run(model, floats({1, 2}, {1, 2})), {2, 1}, {1, 2});
}

TEST(Legacy, ReduceAxesAttribute) {
  ModelText model = one_node(11, {"2", "2"});
  model.node("ReduceSum", {"x"}, {"y"}).ints("axes", {0}).set("keepdims", int64_t{0});
  expect_floats(run(model, floats({2, 2}, {1, 2, 3, 4})), {2}, {4, 6});
  ModelText mean = one_node(13, {"2", "2"});
  mean.node("ReduceMean", {"x"}, {"y"}).ints("axes", {1});
  expect_floats(run(mean, floats({2, 2}, {1, 2, 3, 4})), {2, 1}, {1.5, 3.5});
}

TEST(Legacy, SliceAttributes) {
  ModelText model = one_node(9, {"2", "3"});
  model.node("Slice", {"x"}, {"y"}).ints("axes", {1}).ints("starts", {1}).ints("ends", {3});
  expect_floats(run(model, floats({2, 3}, {1, 2, 3, 4, 5, 6})), {2, 2}, {2, 3, 5, 6});
}

TEST(Legacy, PadAttributes) {
  ModelText model = one_node(10, {"1", "2"});
  model.node("Pad", {"x"}, {"y"}).ints("pads", {0, 1, 0, 0}).set("value", 7.0f);
  expect_floats(run(model, floats({1, 2}, {1, 2})), {1, 3}, {7, 1, 2});
}

TEST(Legacy, ClipAttributes) {
  ModelText model = one_node(6, {"3"});
  model.node("Clip", {"x"}, {"y"}).set("max", 1.5f);
  expect_floats(run(model, floats({3}, {-9, 1, 2})), {3}, {-9, 1, 1.5});
}

TEST(Legacy, DropoutIsIdentityAndMaskIsTrue) {
  ModelText model = one_node(10, {"2"});
  model.output("m");
  model.node("Dropout", {"x"}, {"y", "m"}).set("ratio", 0.5f);
  expect_floats(run(model, floats({2}, {1, 2})), {2}, {1, 2});
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok());
  const auto outputs = evaluate(*imported->graph, {{"x", floats({2}, {1, 2})}});
  ASSERT_TRUE(outputs.is_ok());
  ASSERT_EQ((*outputs)[1].dtype(), DType::kBool);
  EXPECT_TRUE((*outputs)[1].values<bool>()[0] && (*outputs)[1].values<bool>()[1]);
}

TEST(Legacy, SoftmaxFlattens) {
  ModelText model = one_node(11, {"1", "2", "2"});
  model.node("Softmax", {"x"}, {"y"});  // axis 1: over all four
  expect_floats(run(model, floats({1, 2, 2}, {0, 0, 0, 0})), {1, 2, 2}, {0.25, 0.25, 0.25, 0.25});
  ModelText newest = one_node(13, {"1", "2", "2"});
  newest.node("Softmax", {"x"}, {"y"});  // the last axis
  expect_floats(run(newest, floats({1, 2, 2}, {0, 0, 0, 0})), {1, 2, 2}, {0.5, 0.5, 0.5, 0.5});
}

TEST(Legacy, UpsampleRepeats) {
  for (const int64_t opset : {7, 9}) {
    ModelText model = one_node(opset, {"1", "1", "1", "2"});
    if (opset == 7) {
      model.node("Upsample", {"x"}, {"y"})
          .floats("scales", {1, 1, 2, 2})
          .set("mode", std::string("nearest"));
    } else {
      model.initializer<float>("s", {4}, {1, 1, 2, 2});
      model.node("Upsample", {"x", "s"}, {"y"});
    }
    expect_floats(run(model, floats({1, 1, 1, 2}, {1, 2})), {1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2});
  }
}

TEST(Legacy, ResizeTenShrinksToThePixelAbove) {
  ModelText model = one_node(10, {"1", "1", "2", "4"});
  model.initializer<float>("s", {4}, {1, 1, 0.6f, 0.6f});
  model.node("Resize", {"x", "s"}, {"y"});
  // The example of the standard's page of opset 10.
  expect_floats(run(model, floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})), {1, 1, 1, 2}, {1, 3});
}

TEST(Legacy, ResizeTenGrowsAndShrinksAtOnceByRunTimeScales) {
  ModelText model(10);
  model.input("x", {"1", "1", "2", "4"});
  model.input("s", {"4"});
  model.node("Resize", {"x", "s"}, {"y"});
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const auto outputs = evaluate(
      *imported->graph,
      {{"x", floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, {"s", floats({4}, {1, 1, 2, 0.6f})}});
  ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
  expect_floats((*outputs)[0], {1, 1, 4, 2}, {1, 3, 1, 3, 5, 7, 5, 7});
}

TEST(Legacy, ResizeElevenSkipsEmptyTensors) {
  ModelText model = one_node(11, {"1", "1", "1", "2"});
  model.initializer<float>("none", {0}, {});
  model.initializer<int64_t>("size", {4}, {1, 1, 2, 4});
  model.node("Resize", {"x", "none", "none", "size"}, {"y"})
      .set("coordinate_transformation_mode", std::string("asymmetric"))
      .set("nearest_mode", std::string("floor"));
  expect_floats(run(model, floats({1, 1, 1, 2}, {1, 2})), {1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2});
}

TEST(Legacy, BatchNormalization) {
  ModelText model = one_node(7, {"1", "2"});
  model.initializer<float>("scale", {2}, {1, 2});
  model.initializer<float>("bias", {2}, {0, 1});
  model.initializer<float>("mean", {2}, {1, 1});
  model.initializer<float>("var", {2}, {4, 4});
  model.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"})
      .set("spatial", int64_t{1})
      .set("epsilon", 0.0f)
      .set("momentum", 0.9f);
  expect_floats(run(model, floats({1, 2}, {3, 3})), {1, 2}, {1, 3});
}

// More outputs than one mean training: the batch's statistics, and what they make of the running
// ones.
TEST(Legacy, BatchNormalizationTrains) {
  ModelText model = one_node(9, {"2", "2"});
  model.initializer<float>("scale", {2}, {1, 2});
  model.initializer<float>("bias", {2}, {0, 1});
  model.initializer<float>("mean", {2}, {1, 1});
  model.initializer<float>("var", {2}, {4, 4});
  const Names statistics = {"running_mean", "running_var", "batch_mean", "batch_var"};
  for (const auto& name : statistics) model.output(name);
  model
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "var"},
            {"y", statistics[0], statistics[1], statistics[2], statistics[3]})
      .set("epsilon", 0.0f)
      .set("momentum", 0.75f);
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const auto outputs = evaluate(*imported->graph, {{"x", floats({2, 2}, {3, 3, 1, 5})}});
  ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 5u);
  expect_floats((*outputs)[0], {2, 2}, {1, -1, -1, 3});
  expect_floats((*outputs)[1], {2}, {1.25, 1.75});
  expect_floats((*outputs)[2], {2}, {3.25, 3.25});
  expect_floats((*outputs)[3], {2}, {2, 4});
  expect_floats((*outputs)[4], {2}, {1, 1});
  ModelText newest = one_node(15, {"2", "2"});
  for (const char* name : {"scale", "bias", "mean", "var"})
    newest.initializer<float>(name, {2}, {1, 1});
  newest.output("m");
  newest.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "m"});
  expect_in(failure(import_text(newest)), "2 outputs without training_mode");
}

// Before opset 7 dropping was the default; the mask had the type of the data.
TEST(Legacy, DropoutTrainsUnlessToldNotTo) {
  for (const int64_t is_test : {0, 1}) {
    ModelText model = one_node(6, {"64"});
    model.output("m");
    model.node("Dropout", {"x"}, {"y", "m"}).set("ratio", 0.5f).set("is_test", is_test);
    const std::vector<float> ones(64, 1.0f);
    const auto imported = import_text(model);
    ASSERT_TRUE(imported.is_ok()) << imported.status().message();
    const auto outputs = evaluate(*imported->graph, {{"x", floats({64}, ones)}});
    ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
    ASSERT_EQ((*outputs)[1].dtype(), DType::kF32);
    double kept = 0;
    for (size_t i = 0; i < 64; ++i) {
      const float mask = (*outputs)[1].values<float>()[i];
      EXPECT_EQ((*outputs)[0].values<float>()[i], is_test ? 1 : 2 * mask);
      kept += static_cast<double>(mask);
    }
    EXPECT_EQ(kept == 64, is_test == 1);
  }
}

TEST(Legacy, DftAxisAttribute) {
  ModelText model = one_node(17, {"1", "2", "1"});
  model.node("DFT", {"x"}, {"y"}).set("axis", int64_t{1});
  expect_floats(run(model, floats({1, 2, 1}, {3, 5})), {1, 2, 2}, {8, 0, -2, 0});
}

TEST(Legacy, SplitAttributeAndEqualParts) {
  ModelText model = one_node(2, {"3"});
  model.node("Split", {"x"}, {"a", "y"}).ints("split", {1, 2}).set("axis", int64_t{0});
  expect_floats(run(model, floats({3}, {1, 2, 3})), {2}, {2, 3});
  ModelText equal = one_node(13, {"4"});
  equal.node("Split", {"x"}, {"a", "y"});
  expect_floats(run(equal, floats({4}, {1, 2, 3, 4})), {2}, {3, 4});
}

TEST(Legacy, SplitCountsUnnamedParts) {
  ModelText model = one_node(18, {"6"});
  model.node("Split", {"x"}, {"", "y", ""}).set("num_outputs", int64_t{3});
  expect_floats(run(model, floats({6}, {1, 2, 3, 4, 5, 6})), {2}, {3, 4});
}

TEST(Legacy, TopKAttribute) {
  ModelText model = one_node(1, {"3"});
  model.node("TopK", {"x"}, {"y", "i"}).set("k", int64_t{2});
  expect_floats(run(model, floats({3}, {1, 3, 2})), {2}, {3, 2});
}

TEST(Legacy, CastToATypeName) {
  ModelText model = one_node(1, {"2"});
  model.node("Cast", {"x"}, {"i"}).set("to", std::string("INT64"));
  model.node("Cast", {"i"}, {"y"}).set("to", std::string("FLOAT"));
  expect_floats(run(model, floats({2}, {1.9f, -1.9f})), {2}, {1, -1});
  ModelText bad = one_node(1, {"2"});
  bad.node("Cast", {"x"}, {"y"}).set("to", std::string("NUMBER"));
  EXPECT_FALSE(import_text(bad).is_ok());
}

TEST(Legacy, ConcatDefaultAxis) {
  ModelText model = one_node(1, {"1", "2"});
  model.node("Concat", {"x", "x"}, {"y"});
  expect_floats(run(model, floats({1, 2}, {1, 2})), {1, 4}, {1, 2, 1, 2});
}

TEST(Legacy, GemmWithoutC) {
  ModelText model = one_node(11, {"1", "2"});
  model.initializer<float>("w", {2, 1}, {3, 4});
  model.node("Gemm", {"x", "w"}, {"y"});
  expect_floats(run(model, floats({1, 2}, {1, 2})), {1, 1}, {11});
}

TEST(Legacy, PReluSlopePerChannel) {
  ModelText model = one_node(6, {"1", "2", "2"});
  model.initializer<float>("s", {2}, {0.5f, 2});
  model.node("PRelu", {"x", "s"}, {"y"});
  expect_floats(run(model, floats({1, 2, 2}, {-1, 1, -1, 1})), {1, 2, 2}, {-0.5, 1, -2, 1});
}

TEST(Legacy, TileAlongOneAxis) {
  ModelText model = one_node(5, {"1", "2"});
  model.initializer<int64_t>("t", {1}, {2});
  model.initializer<int64_t>("a", {1}, {0});
  model.node("Tile", {"x", "t", "a"}, {"y"});
  expect_floats(run(model, floats({1, 2}, {1, 2})), {2, 2}, {1, 2, 1, 2});
}

TEST(Legacy, SumAndMeanOfThree) {
  ModelText model = one_node(8, {"2"});
  model.node("Sum", {"x", "x", "x"}, {"s"});
  model.node("Mean", {"s", "x"}, {"y"});
  expect_floats(run(model, floats({2}, {1, 2})), {2}, {2, 4});
}

TEST(Legacy, CompositesByTheirBody) {
  ModelText model = one_node(13, {"3"});
  model.node("ThresholdedRelu", {"x"}, {"t"}).set("alpha", 1.0f);
  model.node("Softsign", {"t"}, {"y"});
  expect_floats(run(model, floats({3}, {0.5f, 1, 3})), {3}, {0, 0, 0.75});
  ModelText l1 = one_node(13, {"2", "2"});
  l1.node("ReduceL1", {"x"}, {"y"}).ints("axes", {1}).set("keepdims", int64_t{0});
  expect_floats(run(l1, floats({2, 2}, {-1, 2, -3, 4})), {2}, {3, 7});
}

TEST(Legacy, GroupNormalization) {
  ModelText model = one_node(18, {"1", "2", "2"});
  model.initializer<float>("s", {1}, {2});
  model.initializer<float>("b", {1}, {1});
  model.node("GroupNormalization", {"x", "s", "b"}, {"y"})
      .set("num_groups", int64_t{1})
      .set("epsilon", 0.0f);
  expect_floats(run(model, floats({1, 2, 2}, {-1, 1, -1, 1})), {1, 2, 2}, {-1, 3, -1, 3});
}

TEST(Legacy, ConstantForms) {
  ModelText model = one_node(13, {"2"});
  fill_tensor(model.node("Constant", {}, {"a"}).tensor("value"), {2}, std::vector<float>{1, 1});
  model.node("Constant", {}, {"b"}).set("value_float", 2.0f);
  model.node("Constant", {}, {"c"}).floats("value_floats", {3, 4});
  model.node("Constant", {}, {"d"}).set("value_int", int64_t{5});
  model.node("Constant", {}, {"e"}).ints("value_ints", {6, 7});
  model.node("Cast", {"d"}, {"df"}).set("to", int64_t{kFloat});
  model.node("Cast", {"e"}, {"ef"}).set("to", int64_t{kFloat});
  model.node("Sum", {"x", "a", "b", "c", "df", "ef"}, {"y"});
  expect_floats(run(model, floats({2}, {100, 200})), {2}, {117, 219});
  ModelText none = one_node(13, {"2"});
  none.node("Constant", {}, {"y"});
  EXPECT_FALSE(import_text(none).is_ok());
}

TEST(Legacy, ConstantOfShapeValue) {
  ModelText model = one_node(9, {"2"});
  model.initializer<int64_t>("shape", {1}, {2});
  fill_tensor(model.node("ConstantOfShape", {"shape"}, {"c"}).tensor("value"), {1},
              std::vector<float>{9});
  model.node("Add", {"x", "c"}, {"y"});
  expect_floats(run(model, floats({2}, {1, 2})), {2}, {10, 11});
}

TEST(Legacy, QuantizeWithoutZeroPoint) {
  ModelText model = one_node(13, {"2"});
  model.initializer<float>("scale", {}, {0.5f});
  model.node("QuantizeLinear", {"x", "scale"}, {"q"});
  model.node("DequantizeLinear", {"q", "scale"}, {"y"});
  expect_floats(run(model, floats({2}, {1.2f, -3})), {2}, {1, 0});
}

}  // namespace
}  // namespace stoker::test
