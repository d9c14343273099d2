// How imported models' sizes come out: the idioms in which exporters compute shapes, declared types
// that the nodes contradict, and initializers that a caller might want to replace.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

std::string output_type(const Result<ImportedModel>& imported, size_t i = 0) {
  if (!imported.is_ok()) return imported.status().message();
  return type_text(imported->graph->outputs[i]->type);
}

// x f32[N,3,H,W] and a node that gives "s", the values of its axes 2 and 3.
ModelText with_sizes() {
  ModelText model(17);
  model.input("x", {"N", "3", "H", "W"});
  model.node("Shape", {"x"}, {"whole"});
  model.initializer<int64_t>("two", {1}, {2});
  model.initializer<int64_t>("four", {1}, {4});
  model.initializer<int64_t>("front", {1}, {0});
  model.node("Slice", {"whole", "two", "four", "front"}, {"s"});
  model.node("Slice", {"whole", "front", "two", "front"}, {"nc"});
  return model;
}

// Resize to what `sizes` holds for the last two axes.
void resize_to(ModelText& model, const std::string& sizes) {
  model.node("Concat", {"nc", sizes}, {"target"}).set("axis", int64_t{0});
  model.node("Resize", {"x", "", "", "target"}, {"y"});
  model.output("y");
}

TEST(ImportedSizes, FloatingPointDetoursAreIntegerArithmetic) {
  ModelText model = with_sizes();
  model.initializer<float>("half", {}, {0.5f});
  model.node("Cast", {"s"}, {"f"}).set("to", int64_t{kFloat});
  model.node("Mul", {"f", "half"}, {"scaled"});
  model.node("Floor", {"scaled"}, {"floored"});
  model.node("Cast", {"floored"}, {"sizes"}).set("to", int64_t{kInt64});
  resize_to(model, "sizes");
  EXPECT_EQ(output_type(import_text(model)), "f32[N,3,floor_div(H,2),floor_div(W,2)]");
}

TEST(ImportedSizes, FactorsMayDifferAndFractionsBeCutOff) {
  ModelText model = with_sizes();
  model.initializer<float>("factors", {2}, {2.0f, 1.25f});
  model.node("Cast", {"s"}, {"f"}).set("to", int64_t{kFloat});
  model.node("Mul", {"factors", "f"}, {"scaled"});
  model.node("Cast", {"scaled"}, {"sizes"}).set("to", int64_t{kInt64});
  resize_to(model, "sizes");
  EXPECT_EQ(output_type(import_text(model)), "f32[N,3,2*H,floor_div(5*W,4)]");
}

TEST(ImportedSizes, RoundingUpToAMultiple) {
  ModelText model = with_sizes();
  model.initializer<float>("stride", {1}, {32.0f});
  model.node("Cast", {"s"}, {"f"}).set("to", int64_t{kFloat});
  model.node("Div", {"f", "stride"}, {"parts"});
  model.node("Ceil", {"parts"}, {"whole_parts"});
  model.node("Mul", {"whole_parts", "stride"}, {"scaled"});
  model.node("Cast", {"scaled"}, {"sizes"}).set("to", int64_t{kInt64});
  resize_to(model, "sizes");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const Dims& dims = imported->graph->outputs[0]->type.dims;
  for (const int64_t h : {1, 31, 32, 33, 640}) {
    const auto size = dims[2].evaluate({{"H", h}});
    ASSERT_TRUE(size.is_ok()) << size.status().message();
    EXPECT_EQ(*size, (h + 31) / 32 * 32);
  }
}

TEST(ImportedSizes, WhatRoundsInFloatingPointStaysOpen) {
  ModelText model = with_sizes();
  model.initializer<float>("tenth", {}, {0.1f});
  model.node("Cast", {"s"}, {"f"}).set("to", int64_t{kFloat});
  model.node("Mul", {"f", "tenth"}, {"scaled"});
  model.node("Cast", {"scaled"}, {"sizes"}).set("to", int64_t{kInt64});
  resize_to(model, "sizes");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  std::vector<std::string> symbols;
  imported->graph->outputs[0]->type.dims[2].collect_symbols(symbols);
  EXPECT_EQ(symbols.size(), 1u);
  EXPECT_NE(symbols[0], "H");
}

// The anchors of a detector: 0, 1, ... of a size that was cast to float.
TEST(ImportedSizes, RangesOfFloatsFollowSizes) {
  for (const float delta : {1.0f, 2.0f, 0.5f}) {
    ModelText model(17);
    model.input("x", {"N", "5"});
    model.node("Shape", {"x"}, {"s"});
    model.initializer<int64_t>("first", {}, {0});
    model.node("Gather", {"s", "first"}, {"n"});
    model.node("Cast", {"n"}, {"f"}).set("to", int64_t{kFloat});
    model.initializer<float>("start", {}, {0.0f});
    model.initializer<float>("delta", {}, {delta});
    model.node("Range", {"start", "f", "delta"}, {"y"});
    model.output("y");
    const auto imported = import_text(model);
    ASSERT_TRUE(imported.is_ok()) << imported.status().message();
    const std::string type = output_type(imported);
    EXPECT_EQ(type == "f32[N]" || type == "f32[ceil_div(N,2)]", delta >= 1) << type;
    for (const int64_t n : {0, 1, 7}) {
      const Tensor x = Tensor::from<float>({n, 5}, std::vector<float>(static_cast<size_t>(n * 5)));
      const auto outputs = evaluate(*imported->graph, {{"x", x}});
      ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
      const auto values = (*outputs)[0].values<float>();
      ASSERT_EQ(values.size(), std::ceil(static_cast<float>(n) / delta));
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], static_cast<float>(i) * delta);
    }
  }
}

TEST(ImportedSizes, TheDetourComputesTheSameNumbers) {
  ModelText model(17);
  model.input("x", {"N", "5"});
  model.node("Shape", {"x"}, {"s"});
  model.initializer<float>("seven", {}, {7.0f});
  model.node("Cast", {"s"}, {"f"}).set("to", int64_t{kFloat});
  model.node("Cast", {"f"}, {"back"}).set("to", int64_t{kInt64});
  model.node("Div", {"f", "seven"}, {"part"});
  model.node("Ceil", {"part"}, {"up"});
  model.node("Cast", {"up"}, {"ceiling"}).set("to", int64_t{kInt64});
  for (const char* name : {"s", "back", "ceiling"}) model.output(name);
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  for (const int64_t n : {0, 6, 7, 8, 70}) {
    const Tensor x = Tensor::from<float>({n, 5}, std::vector<float>(static_cast<size_t>(n * 5)));
    const auto outputs = evaluate(*imported->graph, {{"x", x}});
    ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
    EXPECT_EQ((*outputs)[1].values<int64_t>()[0], n);
    EXPECT_EQ((*outputs)[2].values<int64_t>()[0], (n + 6) / 7);
    EXPECT_EQ((*outputs)[2].values<int64_t>()[1], 1);
  }
}

// Expand(x, Where(Equal(shape, -1), ones, shape)) and a Range over a size.
TEST(ImportedSizes, ExpandAndRange) {
  ModelText model(17);
  model.input("x", {"N", "1"});
  model.input("other", {"B", "S"});
  model.node("Shape", {"other"}, {"whole"});
  model.initializer<int64_t>("minus", {2}, {-1, -1});
  model.node("Equal", {"whole", "minus"}, {"open"});
  model.node("Shape", {"whole"}, {"rank"});
  fill_tensor(model.node("ConstantOfShape", {"rank"}, {"ones"}).tensor("value"), {1},
              std::vector<int64_t>{1});
  model.node("Where", {"open", "ones", "whole"}, {"target"});
  model.node("Expand", {"x", "target"}, {"y"});
  model.initializer<int64_t>("zero", {}, {0});
  model.initializer<int64_t>("one", {}, {1});
  model.node("Gather", {"whole", "one"}, {"length"}).set("axis", int64_t{0});
  model.node("Range", {"zero", "length", "one"}, {"positions"});
  model.output("y");
  model.output("positions");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const auto& dims = imported->graph->outputs[0]->type.dims;
  EXPECT_EQ(*dims[0].evaluate({{"N", 1}, {"B", 4}, {"S", 7}}), 4);
  EXPECT_EQ(*dims[1].evaluate({{"N", 1}, {"B", 4}, {"S", 7}}), 7);
  EXPECT_EQ(output_type(imported, 1), "i64[S]");
}

TEST(ImportedSizes, AxesThatAreInputs) {
  ModelText model(18);
  model.input("x", {"2", "3", "4"});
  model.input("axes", {"1"}, kInt64);
  model.node("ReduceSum", {"x", "axes"}, {"kept"});
  model.node("ReduceMax", {"x", "axes"}, {"dropped"}).set("keepdims", int64_t{0});
  model.node("Unsqueeze", {"x", "axes"}, {"longer"});
  model.node("Slice", {"x", "axes", "axes", "axes"}, {"part"});
  for (const char* name : {"kept", "dropped", "longer", "part"}) model.output(name);
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  const std::vector<int> ranks = {3, 2, 4, 3};
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_TRUE(imported->graph->outputs[i]->type.ranked);
    EXPECT_EQ(imported->graph->outputs[i]->type.rank(), ranks[i]) << i;
  }
}

ModelText declared(const Names& extents, int type = kFloat) {
  ModelText model(17);
  model.input("x", {"N", "3"});
  model.node("Relu", {"x"}, {"y"});
  model.input("y", extents, type);  // written as an input, moved to the outputs
  *model.graph().add_output() = model.graph().input(1);
  model.graph().mutable_input()->RemoveLast();
  return model;
}

std::string warning(const ModelText& model, const ImportOptions& options = {}) {
  const auto imported = import_text(model, options);
  EXPECT_TRUE(imported.is_ok()) << imported.status().message();
  if (!imported || imported->warnings.empty()) return "";
  EXPECT_EQ(imported->warnings.size(), 1u);
  EXPECT_EQ(type_text(imported->graph->outputs[0]->type).substr(0, 4), "f32[");
  return imported->warnings[0];
}

TEST(DeclaredTypes, OfOutputsGiveWayToTheNodes) {
  EXPECT_EQ(warning(declared({"N", "3"})), "");
  EXPECT_EQ(warning(declared({"batch", ""})), "");
  EXPECT_EQ(warning(declared({"5", "3"})), "");  // N may be 5
  expect_in(warning(declared({"N", "3", "1"})),
            "value 'y' is declared as f32[N,3,1], but is f32[N,3]");
  expect_in(warning(declared({"N", "4"})), "is declared as f32[N,4]");
  expect_in(failure(import_text(declared({"N", "3"}, kInt64))), "is declared as i64[N,3]");
  ImportOptions options;  // a replaced shape makes declared extents stale
  options.input_shapes["x"] = {Dim(8), Dim(4)};
  EXPECT_EQ(warning(declared({"N", "3"}), options), "");
  EXPECT_EQ(warning(declared({"N"}), options), "");
}

TEST(DeclaredTypes, InsideTheGraphAreWarnedAbout) {
  ModelText model(17);
  model.input("x", {"N", "3"});
  model.node("Relu", {"x"}, {"h"});
  model.node("Relu", {"h"}, {"y"});
  model.output("y");
  model.input("h", {"N", "4"});
  *model.graph().add_value_info() = model.graph().input(1);
  model.graph().mutable_input()->RemoveLast();
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  ASSERT_EQ(imported->warnings.size(), 1u);
  expect_in(imported->warnings[0], "'h' is declared as f32[N,4], but is f32[N,3]");
}

TEST(Initializers, ThatAreDefaultsOfInputsAreWarnedAbout) {
  ModelText model(17);
  model.input("x", {"2"});
  model.input("w", {"2"});
  model.initializer<float>("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  model.output("y");
  const auto imported = import_text(model);
  ASSERT_TRUE(imported.is_ok()) << imported.status().message();
  EXPECT_EQ(imported->graph->inputs.size(), 1u);
  ASSERT_EQ(imported->warnings.size(), 1u);
  expect_in(imported->warnings[0], "1 input(s) have a default value and keep it");
  expect_in(imported->warnings[0], "'w'");
  model.model.set_ir_version(3);  // there every initializer had to be an input
  EXPECT_TRUE(import_text(model)->warnings.empty());
}

}  // namespace
}  // namespace stoker::test
