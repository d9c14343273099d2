// Operators of domain com.microsoft: which ops they are written out in, and numbers worked by hand.
// tests/system/contrib_test.py compares many more forms with ONNX Runtime.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

using Ops = std::vector<std::string>;

// A model with one node of the domain and a float input x; outputs are those of the node.
struct OneNode {
  ModelText model{17};
  onnx::NodeProto* proto;
  NodeText node;

  OneNode(const std::string& op, const Names& inputs, const Names& outputs = {"y"})
      : node(model.node(op, inputs, outputs)) {
    proto = model.graph().mutable_node(0);
    node.domain("com.microsoft");
    for (const auto& name : outputs) {
      if (!name.empty()) model.output(name);
    }
    auto* opset = model.model.add_opset_import();
    opset->set_domain("com.microsoft");
    opset->set_version(1);
  }

  void bytes(const std::string& name, const Shape& shape, const std::vector<int>& values,
             int type = onnx::TensorProto::UINT8) {
    auto* tensor = model.graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int64_t extent : shape) tensor->add_dims(extent);
    for (const int value : values) tensor->add_int32_data(value);
  }

  std::vector<Tensor> run(const TensorMap& inputs) const {
    const auto imported = import_text(model);
    EXPECT_TRUE(imported.is_ok()) << imported.status().message();
    if (!imported.is_ok()) return std::vector<Tensor>(8);
    const Status valid = verify(*imported->graph);
    EXPECT_TRUE(valid.is_ok()) << valid.message();
    const auto outputs = evaluate(*imported->graph, inputs);
    EXPECT_TRUE(outputs.is_ok()) << outputs.status().message();
    return outputs.is_ok() ? *outputs : std::vector<Tensor>(8);
  }

  Ops ops() const {
    const auto imported = import_text(model);
    EXPECT_TRUE(imported.is_ok()) << imported.status().message();
    Ops names;
    if (!imported.is_ok()) return names;
    for (const auto& made : imported->graph->nodes()) names.emplace_back(made->op->name);
    return names;
  }
};

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::from<float>(shape, values);
}

void expect_floats(const Tensor& tensor, const Shape& shape, const std::vector<float>& values) {
  ASSERT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_EQ(tensor.shape(), shape);
  ASSERT_EQ(tensor.count(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(tensor.values<float>()[i], values[i], 1e-5) << "element " << i;
  }
}

bool holds(const Ops& ops, const std::string& name) {
  return std::find(ops.begin(), ops.end(), name) != ops.end();
}

TEST(Contrib, ProductOfMatricesIsOneGemm) {
  OneNode m("FusedMatMul", {"x", "w"});
  m.model.input("x", {"2", "1"});
  m.model.initializer<float>("w", {2, 2}, {1, 2, 3, 4});
  m.node.set("transA", int64_t{1}).set("transB", int64_t{1}).set("alpha", 0.5f);
  EXPECT_EQ(m.ops(), Ops{"gemm"});
  // [1 2] times the transpose of [[1 2] [3 4]], halved.
  expect_floats(m.run({{"x", floats({2, 1}, {1, 2})}})[0], {1, 2}, {2.5, 5.5});
}

TEST(Contrib, BatchedProductTransposesFirst) {
  OneNode m("FusedMatMul", {"x", "w"});
  m.model.input("x", {"1", "2", "2"});
  m.model.initializer<float>("w", {2, 2, 1}, {1, 1, 1, 1});
  m.node.set("transBatchA", int64_t{1});
  EXPECT_EQ(m.ops(), (Ops{"transpose", "matmul"}));
  // Row 0 holds the batches: [1 2] and [3 4].
  expect_floats(m.run({{"x", floats({1, 2, 2}, {1, 2, 3, 4})}})[0], {2, 1, 1}, {3, 7});
}

TEST(Contrib, ActivationOfAFusedConvolution) {
  OneNode m("FusedConv", {"x", "w"});
  m.model.input("x", {"1", "1", "3"});
  m.model.initializer<float>("w", {1, 1, 1}, {2});
  m.node.set("activation", std::string("Clip")).floats("activation_params", {-1, 3});
  EXPECT_EQ(m.ops(), (Ops{"conv", "clip"}));
  expect_floats(m.run({{"x", floats({1, 1, 3}, {-4, 1, 5})}})[0], {1, 1, 3}, {-1, 2, 3});
  m.proto->mutable_attribute(0)->set_s("Wobble");
  expect_in(failure(import_text(m.model)), "activation 'Wobble' with 2 parameters is not known");
}

TEST(Contrib, ResidualNormGivesTheSumToo) {
  OneNode m("SkipLayerNormalization", {"x", "skip", "gamma", "", "bias"}, {"y", "", "", "sum"});
  m.model.input("x", {"B", "2"});
  m.model.initializer<float>("skip", {1, 2}, {1, 0});
  m.model.initializer<float>("gamma", {2}, {1, 10});
  m.model.initializer<float>("bias", {2}, {1, 1});
  EXPECT_EQ(m.ops(), (Ops{"add", "add", "layer_normalization"}));
  const auto outputs = m.run({{"x", floats({1, 2}, {0, 5})}});
  expect_floats(outputs[0], {1, 2}, {-1, 10});
  expect_floats(outputs[1], {1, 2}, {2, 6});
}

TEST(Contrib, RootMeanSquareNormStandsWithoutDomain) {
  OneNode m("SimplifiedLayerNormalization", {"x", "gamma"});
  m.node.domain("");
  m.model.input("x", {"1", "2"});
  m.model.initializer<float>("gamma", {2}, {1, 1});
  EXPECT_EQ(m.ops(), Ops{"rms_normalization"});
  expect_floats(m.run({{"x", floats({1, 2}, {1, 7})}})[0], {1, 2}, {0.2f, 1.4f});
}

TEST(Contrib, EmbeddingsCountTheMask) {
  OneNode m("EmbedLayerNormalization", {"ids", "", "words", "places", "", "g", "b", "mask"},
            {"y", "count", "sum"});
  m.model.input("ids", {"B", "S"}, onnx::TensorProto::INT32);
  m.model.input("mask", {"B", "S"}, onnx::TensorProto::INT32);
  m.model.initializer<float>("words", {2, 2}, {0, 1, 2, 3});
  m.model.initializer<float>("places", {3, 2}, {10, 10, 20, 20, 30, 30});
  m.model.initializer<float>("g", {2}, {1, 1});
  m.model.initializer<float>("b", {2}, {0, 1});
  const auto outputs = m.run({{"ids", Tensor::from<int32_t>({1, 2}, {1, 0})},
                              {"mask", Tensor::from<int32_t>({1, 2}, {1, 0})}});
  expect_floats(outputs[0], {1, 2, 2}, {-1, 2, -1, 2});
  EXPECT_EQ(outputs[1].values<int32_t>()[0], 1);
  expect_floats(outputs[2], {1, 2, 2}, {12, 13, 20, 21});
}

TEST(Contrib, QuantizedSum) {
  OneNode m("QLinearAdd", {"x", "xs", "", "b", "bs", "bz", "ys", "yz"});
  m.model.input("x", {"3"}, onnx::TensorProto::UINT8);
  m.model.initializer<float>("xs", {}, {0.5});
  m.model.initializer<float>("bs", {}, {1});
  m.model.initializer<float>("ys", {}, {2});
  m.bytes("b", {1}, {11});
  m.bytes("bz", {}, {10});
  m.bytes("yz", {}, {3});
  EXPECT_EQ(m.ops(), (Ops{"dequantize_linear", "dequantize_linear", "add", "quantize_linear"}));
  const Tensor y = m.run({{"x", Tensor::from<uint8_t>({3}, {0, 10, 255})}})[0];
  // (0 + 1) / 2 = 0.5, to even; (5 + 1) / 2 = 3; (127.5 + 1) / 2 = 64.25.
  EXPECT_EQ((std::vector<uint8_t>{3, 6, 67}),
            (std::vector<uint8_t>(y.values<uint8_t>().begin(), y.values<uint8_t>().end())));
}

TEST(Contrib, QuantizedPartsNeedThreeInputsEach) {
  OneNode m("QLinearConcat", {"ys", "yz", "x", "ys"});
  m.node.set("axis", int64_t{0});
  m.model.input("x", {"3"}, onnx::TensorProto::UINT8);
  m.model.initializer<float>("ys", {}, {2});
  m.bytes("yz", {}, {3});
  expect_in(failure(import_text(m.model)), "3 for each part, found 4");
}

// 16 columns of one row: the codes 0 to 15, low half of a byte first.
OneNode four_bits(bool constant) {
  OneNode m("MatMulNBits", {"x", "w", "s", "z"});
  m.model.input("x", {"B", "16"});
  if (!constant) m.model.input("w", {"1", "1", "8"}, onnx::TensorProto::UINT8);
  if (constant) m.bytes("w", {1, 1, 8}, {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE});
  m.model.initializer<float>("s", {1, 1}, {0.5});
  m.bytes("z", {1, 1}, {0xF4});  // one zero point, 4; the other half fills up the byte
  m.node.set("N", int64_t{1}).set("K", int64_t{16}).set("bits", int64_t{4});
  m.node.set("block_size", int64_t{16});
  return m;
}

std::vector<float> unit(size_t at) {
  std::vector<float> values(16, 0.0f);
  values[at] = 1;
  return values;
}

TEST(Contrib, ConstantWeightsStayNarrow) {
  const OneNode m = four_bits(true);
  const auto imported = import_text(m.model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  EXPECT_FALSE(holds(m.ops(), "bit_shift"));
  bool found = false;
  for (const auto& node : imported->graph->nodes()) {
    if (!node->is("dequantize_linear")) continue;
    found = true;
    EXPECT_EQ(type_text(node->inputs[0]->type), "u4[1,16]");
    EXPECT_EQ(type_text(node->inputs[2]->type), "u4[1,1]");
    EXPECT_EQ(node->attributes.get_int("block_size"), 16);
  }
  EXPECT_TRUE(found);
  expect_floats(m.run({{"x", floats({1, 16}, unit(1))}})[0], {1, 1}, {-1.5});
  expect_floats(m.run({{"x", floats({1, 16}, unit(14))}})[0], {1, 1}, {5});
}

TEST(Contrib, ComputedWeightsAreTakenApart) {
  const OneNode m = four_bits(false);
  EXPECT_TRUE(holds(m.ops(), "bit_shift"));
  const Tensor w =
      Tensor::from<uint8_t>({1, 1, 8}, {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE});
  expect_floats(m.run({{"x", floats({1, 16}, unit(1))}, {"w", w}})[0], {1, 1}, {-1.5});
  expect_floats(m.run({{"x", floats({1, 16}, unit(14))}, {"w", w}})[0], {1, 1}, {5});
}

TEST(Contrib, WeightWithoutElementsGivesZeros) {
  OneNode m("MatMulNBits", {"x", "w", "s", "", "", "bias"});
  m.model.input("x", {"B", "16"});
  m.bytes("w", {2, 0, 8}, {});
  m.model.initializer<float>("s", {2, 0}, {});
  m.model.initializer<float>("bias", {2}, {1, 2});
  m.node.set("N", int64_t{2}).set("K", int64_t{16}).set("block_size", int64_t{16});
  expect_floats(m.run({{"x", floats({1, 16}, std::vector<float>(16, NAN))}})[0], {1, 2}, {1, 2});
}

TEST(Contrib, WeightsThatCannotBe) {
  OneNode three = four_bits(true);
  three.proto->mutable_attribute(2)->set_i(3);
  expect_in(failure(import_text(three.model)), "weights of 3 bits, expected 2, 4 or 8");
  OneNode packed = four_bits(true);
  packed.node.set("weight_prepacked", int64_t{1});
  expect_in(failure(import_text(packed.model)), "weight_prepacked is 1");
  OneNode large = four_bits(true);
  large.proto->mutable_attribute(0)->set_i(INT64_MAX);
  expect_in(failure(import_text(large.model)), "expected numbers from 1 on");
  OneNode bare = four_bits(true);
  bare.proto->set_input(2, "");
  expect_in(failure(import_text(bare.model)), "input 2 (scales) is left out");
  OneNode gather("GatherBlockQuantized", {"w", "x", "s"});
  gather.model.input("x", {"1"}, onnx::TensorProto::INT64);
  gather.bytes("w", {1, 8}, std::vector<int>(8, 0));
  gather.model.initializer<float>("s", {1, 1}, {0.5});
  gather.node.set("bits", int64_t{0});
  expect_in(failure(import_text(gather.model)), "weights of 0 bits");
}

TEST(Contrib, PaddingThatIsComputedCutsTheWhole) {
  OneNode m("ConvTransposeWithDynamicPads", {"x", "w", "pads"});
  m.model.input("x", {"1", "1", "3"});
  m.model.input("pads", {"2"}, kInt64);
  m.model.initializer<float>("w", {1, 1, 2}, {1, 10});
  // Whole: 1, 12, 23, 30.
  expect_floats(
      m.run({{"x", floats({1, 1, 3}, {1, 2, 3})}, {"pads", Tensor::from<int64_t>({2}, {1, 0})}})[0],
      {1, 1, 3}, {12, 23, 30});
}

// Two experts that multiply by 1 and by 10; the larger of the router's numbers chooses.
TEST(Contrib, ExpertsThatAreChosen) {
  OneNode m("MoE", {"x", "router", "up", "", "down"});
  m.model.input("x", {"T", "2"});
  m.model.input("router", {"T", "2"});
  m.model.initializer<float>("up", {2, 1, 2}, {1, 1, 10, 10});
  m.model.initializer<float>("down", {2, 2, 1}, {1, 2, 1, 2});
  m.node.set("k", int64_t{1}).set("normalize_routing_weights", int64_t{1});
  m.node.set("activation_type", std::string("identity"));
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), router = floats({2, 2}, {5, 1, 0, 1});
  expect_floats(m.run({{"x", x}, {"router", router}})[0], {2, 2}, {3, 6, 70, 140});
  m.node.set("use_sparse_mixer", int64_t{1});
  expect_in(failure(import_text(m.model)), "use_sparse_mixer: expected 0, found 1");
}

TEST(Contrib, InputPassedThroughGetsANodeOfItsOwn) {
  OneNode m("Affine", {"x"});
  m.node.domain("");
  m.model.input("x", {"2"});
  EXPECT_EQ(m.ops(), Ops{"identity"});
  m.node.set("alpha", 2.0f).set("beta", 1.0f);
  expect_floats(m.run({{"x", floats({2}, {1, 2})}})[0], {2}, {3, 5});
}

TEST(Contrib, CroppedBorders) {
  OneNode m("Crop", {"x"});
  m.node.domain("");
  m.model.input("x", {"1", "1", "2", "3"});
  m.node.ints("border", {1, 0, 0, 1});
  expect_floats(m.run({{"x", floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})}})[0], {1, 1, 1, 2}, {2, 3});
}

}  // namespace
}  // namespace stoker::test
