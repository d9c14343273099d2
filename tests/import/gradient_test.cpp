// Gradient nodes: the derivatives agree with differences of the function itself, in f64, and with
// sums worked by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

constexpr auto kDouble = onnx::TensorProto::DOUBLE;
constexpr const char* kDomain = "ai.onnx.preview.training";

ModelText training_model() {
  ModelText model(13);
  auto* set = model.model.add_opset_import();
  set->set_domain(kDomain);
  set->set_version(1);
  return model;
}

void add_gradient(ModelText& model, const Names& xs, const Names& zs, const Names& inputs,
                  const Names& outputs) {
  NodeText node = model.node("Gradient", inputs, outputs);
  node.domain(kDomain).set("y", std::string("y"));
  auto& proto = *model.graph().mutable_node(model.graph().node_size() - 1);
  for (const auto& [name, names] : {std::pair("xs", xs), std::pair("zs", zs)}) {
    auto* attribute = proto.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRINGS);
    for (const auto& text : names) attribute->add_strings(text);
  }
}

std::vector<Tensor> run(const ModelText& model, const TensorMap& inputs) {
  const auto imported = import_text(model);
  EXPECT_TRUE(imported.is_ok()) << imported.status().message();
  if (!imported.is_ok()) return {};
  const Status valid = verify(*imported->graph);
  EXPECT_TRUE(valid.is_ok()) << valid.message();
  const auto outputs = evaluate(*imported->graph, inputs);
  EXPECT_TRUE(outputs.is_ok()) << outputs.status().message();
  return outputs.is_ok() ? *outputs : std::vector<Tensor>();
}

double total(const Tensor& tensor) {
  double sum = 0;
  for (const double v : tensor.values<double>()) sum += v;
  return sum;
}

// A model y = f(a, b) with outputs y, da, db; the gradients are checked against differences of the
// sum of y.
void check_differences(ModelText& model, const TensorMap& inputs) {
  for (const char* name : {"y", "da", "db"}) model.output(name);
  add_gradient(model, {"a", "b"}, {}, {"a", "b"}, {"da", "db"});
  const std::vector<Tensor> outputs = run(model, inputs);
  ASSERT_EQ(outputs.size(), 3u);
  constexpr double kStep = 1e-5;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const std::string name = k == 0 ? "a" : "b";
    const Tensor& x = inputs.at(name);
    ASSERT_EQ(outputs[1 + k].shape(), x.shape());
    for (int64_t i = 0; i < x.count(); ++i) {
      double sums[2];
      for (const int side : {0, 1}) {
        std::vector<double> moved(x.values<double>().begin(), x.values<double>().end());
        moved[static_cast<size_t>(i)] += side ? kStep : -kStep;
        TensorMap all = inputs;
        all[name] = Tensor::from<double>(x.shape(), moved);
        sums[side] = total(run(model, all)[0]);
      }
      const double expected = (sums[1] - sums[0]) / (2 * kStep);
      EXPECT_NEAR(outputs[1 + k].values<double>()[static_cast<size_t>(i)], expected,
                  1e-7 * std::max(1.0, std::fabs(expected)))
          << "d/d" << name << "[" << i << "]";
    }
  }
}

const Shape kA = {2, 3}, kB = {3};
TensorMap operands() {
  return {{"a", Tensor::from<double>(kA, {0.5, 1.25, -0.75, 2, -1.5, 0.3})},
          {"b", Tensor::from<double>(kB, {0.7, 1.5, 2.25})}};
}
ModelText two_operands() {
  ModelText model = training_model();
  model.input("a", {"2", "3"}, kDouble);
  model.input("b", {"3"}, kDouble);
  return model;
}

TEST(Gradient, BroadcastArithmetic) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    SCOPED_TRACE(op);
    ModelText model = two_operands();
    model.node(op, {"a", "b"}, {"y"});
    check_differences(model, operands());
  }
}

TEST(Gradient, PowerOfPositives) {
  ModelText model = two_operands();
  model.node("Abs", {"a"}, {"p"});
  model.node("Pow", {"p", "b"}, {"y"});
  check_differences(model, operands());
}

TEST(Gradient, FunctionsOfOneOperand) {
  for (const char* op : {"Exp", "Sigmoid", "Tanh", "Relu", "LeakyRelu", "Neg", "Sin", "Cos", "Abs",
                         "Softplus", "Erf", "Reciprocal", "Identity", "Softmax", "LogSoftmax"}) {
    SCOPED_TRACE(op);
    ModelText model = two_operands();
    model.node(op, {"a"}, {"f"});
    model.node("Mul", {"f", "b"}, {"y"});
    check_differences(model, operands());
  }
  for (const char* op : {"Log", "Sqrt"}) {
    SCOPED_TRACE(op);
    ModelText model = two_operands();
    model.node("Mul", {"a", "a"}, {"s"});
    model.node(op, {"s"}, {"f"});
    model.node("Mul", {"f", "b"}, {"y"});
    check_differences(model, operands());
  }
}

TEST(Gradient, MatrixProducts) {
  ModelText model = two_operands();
  model.node("MatMul", {"a", "b"}, {"v"});  // a vector on the right
  model.node("Mul", {"v", "v"}, {"y"});
  check_differences(model, operands());

  ModelText left = two_operands();
  left.node("Transpose", {"a"}, {"t"});
  left.node("MatMul", {"b", "t"}, {"v"});  // and on the left
  left.node("Exp", {"v"}, {"y"});
  check_differences(left, operands());

  for (const int64_t turn : {0, 1}) {
    ModelText gemm = two_operands();
    gemm.node("Tanh", {"a"}, {"w"});
    gemm.node(turn ? "Identity" : "Transpose", {"w"}, {"right"});
    gemm.node("Transpose", {"a"}, {"turned"});
    gemm.node("Gemm", {turn ? "turned" : "a", "right"}, {"m"})
        .set("alpha", 0.5f)
        .set("transA", turn)
        .set("transB", turn);
    gemm.node("ReduceSum", {"b"}, {"scale"});
    gemm.node("Mul", {"m", "scale"}, {"y"});
    check_differences(gemm, operands());
  }
}

TEST(Gradient, ReductionsAndShapes) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare"}) {
    for (const int64_t keep : {0, 1}) {
      SCOPED_TRACE(std::string(op) + (keep ? " kept" : ""));
      ModelText model = two_operands();
      model.node("Mul", {"a", "b"}, {"p"});
      NodeText node = model.node(op, {"p"}, {"r"}).set("keepdims", keep);
      if (op == std::string("ReduceSum")) {
        model.graph().mutable_node(1)->add_input("axes");
      } else {
        node.ints("axes", {1});
      }
      model.initializer<int64_t>("axes", {1}, {1});
      model.node("Exp", {"r"}, {"y"});
      check_differences(model, operands());
    }
  }
  ModelText model = two_operands();
  model.initializer<int64_t>("shape", {2}, {3, 2});
  model.node("Reshape", {"a", "shape"}, {"r"});
  model.node("Transpose", {"r"}, {"t"});
  model.node("Mul", {"t", "b"}, {"m"});
  model.node("Mul", {"m", "t"}, {"y"});
  check_differences(model, operands());
}

// y = a * b + a at a = 2, b = 5: dy/da = b + 1, dy/db = a. The node's inputs are other values.
TEST(Gradient, AtOtherValues) {
  ModelText model = training_model();
  for (const char* name : {"a", "b", "other"}) model.input(name, {"1"}, kDouble);
  add_gradient(model, {"a"}, {"b"}, {"other", "b"},
               {"da"});  // stands before what it differentiates
  model.node("Mul", {"a", "b"}, {"p"});
  model.node("Mul", {"p", "a"}, {"y"});
  for (const char* name : {"y", "da"}) model.output(name);
  const auto number = [](double v) { return Tensor::from<double>({1}, {v}); };
  const auto outputs = run(model, {{"a", number(2)}, {"b", number(5)}, {"other", number(3)}});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].values<double>()[0], 20);
  EXPECT_EQ(outputs[1].values<double>()[0], 30);  // 2 a b at a = 3
}

TEST(Gradient, ZeroWhereNothingDepends) {
  ModelText model = two_operands();
  model.node("Exp", {"a"}, {"y"});
  check_differences(model, operands());
}

TEST(Gradient, NamesWhatHasNoRule) {
  ModelText model = two_operands();
  model.node("Floor", {"a"}, {"f"});
  model.node("Mul", {"f", "b"}, {"y"});
  model.output("da");
  add_gradient(model, {"a"}, {"b"}, {"a", "b"}, {"da"});
  expect_in(failure(import_text(model)), "op floor has no gradient here");
  ModelText unknown = two_operands();
  unknown.node("Mul", {"a", "b"}, {"z"});
  unknown.output("da");
  add_gradient(unknown, {"a"}, {"b"}, {"a", "b"}, {"da"});
  expect_in(failure(import_text(unknown)), "'y' is no tensor of this graph");
}

}  // namespace
}  // namespace stoker::test
