// Inference with symbols: the expressions of a symbolic inference, evaluated for sizes, must be
// what inference gives for those sizes; shape arithmetic is followed by value; unknown ranks pass
// through.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"

namespace stoker {
namespace {

struct Operand {
  ValueType type;
  std::optional<Tensor> constant;
  std::optional<Dims> elements;
};

Operand tensor(DType dtype, Dims dims) {
  return {ValueType::tensor(dtype, std::move(dims)), {}, {}};
}
Operand f32(Dims dims) { return tensor(DType::kF32, std::move(dims)); }
Operand ints(const std::vector<int64_t>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return {ValueType::tensor(DType::kI64, {Dim(n)}), Tensor::from<int64_t>({n}, values), {}};
}
Operand scalar(int64_t value) {
  return {ValueType::tensor(DType::kI64, {}), Tensor::scalar_i64(value), {}};
}
Operand shape_value(Dims elements) {
  const int64_t n = static_cast<int64_t>(elements.size());
  return {ValueType::tensor(DType::kI64, {Dim(n)}), {}, std::move(elements)};
}

struct Inferred {
  Status status;
  std::vector<ValueType> outputs;
  std::vector<std::optional<Dims>> elements;
};

Inferred infer(const std::string& name, const Attributes& attributes,
               const std::vector<Operand>& operands, size_t outputs = 1) {
  const Op* op = find_op(name);
  std::vector<InferContext::Input> inputs;
  for (const Operand& operand : operands) {
    if (operand.type.dtype == DType::kInvalid) {
      inputs.push_back({});
      continue;
    }
    inputs.push_back({&operand.type, operand.constant ? &*operand.constant : nullptr,
                      operand.elements ? &*operand.elements : nullptr});
  }
  int fresh = 0;
  InferContext context{attributes, inputs, std::vector<ValueType>(outputs),
                       std::vector<std::optional<Dims>>(outputs)};
  context.graph = &fresh;
  context.fresh_symbol = [](void* count) {
    return Dim::symbol("_" + std::to_string((*static_cast<int*>(count))++));
  };
  Inferred result;
  result.status = op->infer(context);
  result.outputs = context.outputs;
  result.elements = context.shape_values;
  return result;
}

std::string type_of(const Inferred& inferred, size_t i = 0) {
  return inferred.status.is_ok() ? type_text(inferred.outputs[i]) : inferred.status.message();
}
std::string elements_of(const Inferred& inferred, size_t i = 0) {
  return inferred.elements[i] ? dims_text(*inferred.elements[i]) : "unknown";
}

const Dim kN = Dim::symbol("N"), kH = Dim::symbol("H"), kW = Dim::symbol("W");

Operand with_sizes(const Operand& operand, const SymbolValues& sizes) {
  Operand result = operand;
  const auto numbers = [&](Dims& dims) {
    for (Dim& d : dims) d = Dim(*d.evaluate(sizes));
  };
  numbers(result.type.dims);
  if (result.elements) numbers(*result.elements);
  return result;
}

// The symbolic result, evaluated, against the inference on numbers.
void expect_same_for_sizes(const std::string& op, const Attributes& attributes,
                           const std::vector<Operand>& operands, size_t outputs = 1,
                           const std::vector<int64_t>& extents = {4, 5, 7, 8, 9, 16, 31}) {
  const Inferred symbolic = infer(op, attributes, operands, outputs);
  ASSERT_TRUE(symbolic.status.is_ok()) << op << ": " << symbolic.status.message();
  for (const int64_t h : extents) {
    const SymbolValues sizes = {{"N", 2}, {"H", h}, {"W", h + 3}};
    std::vector<Operand> numbers;
    for (const Operand& operand : operands) numbers.push_back(with_sizes(operand, sizes));
    const Inferred concrete = infer(op, attributes, numbers, outputs);
    ASSERT_TRUE(concrete.status.is_ok()) << op << ": " << concrete.status.message();
    for (size_t i = 0; i < outputs; ++i) {
      auto evaluated = evaluate_dims(symbolic.outputs[i].dims, sizes);
      ASSERT_TRUE(evaluated.is_ok()) << op << ": " << evaluated.status().message();
      EXPECT_EQ(shape_text(*evaluated), dims_text(concrete.outputs[i].dims))
          << op << " H=" << h << " from " << type_text(symbolic.outputs[i]);
      if (!symbolic.elements[i] || !concrete.elements[i]) continue;
      auto elements = evaluate_dims(*symbolic.elements[i], sizes);
      ASSERT_TRUE(elements.is_ok()) << op << ": " << elements.status().message();
      EXPECT_EQ(shape_text(*elements), dims_text(*concrete.elements[i])) << op << " H=" << h;
    }
  }
}

using Ints = std::vector<int64_t>;

TEST(SymbolicInference, WindowsAgreeWithNumbers) {
  const Operand image = f32({kN, Dim(4), kH, kW}), weight = f32({Dim(8), Dim(4), Dim(3), Dim(3)});
  expect_same_for_sizes("conv", {}, {image, weight});
  expect_same_for_sizes("conv", {{"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 3}}},
                        {image, weight});
  expect_same_for_sizes("conv", {{"dilations", Ints{1, 2}}, {"pads", Ints{0, 2, 0, 2}}},
                        {image, weight});
  expect_same_for_sizes("conv", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 3}}},
                        {image, weight});
  expect_same_for_sizes("conv", {{"auto_pad", std::string("VALID")}}, {image, weight});
  for (const int64_t ceil : {0, 1}) {
    for (const int64_t pad : {0, 1}) {
      const Attributes attributes = {{"kernel_shape", Ints{3, 2}},
                                     {"strides", Ints{2, 3}},
                                     {"pads", Ints{pad, 0, 1, pad}},
                                     {"ceil_mode", ceil}};
      expect_same_for_sizes("max_pool", attributes, {image}, 2);
      expect_same_for_sizes("average_pool", attributes, {image});
    }
  }
  const Operand transposed = f32({Dim(4), Dim(2), Dim(3), Dim(3)});
  expect_same_for_sizes("conv_transpose", {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}},
                        {image, transposed});
  expect_same_for_sizes("conv_transpose",
                        {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}},
                        {image, transposed});
}

TEST(SymbolicInference, SlicesAgreeWithNumbers) {
  const Operand x = f32({kH, kW});
  const int64_t far = INT64_MAX;
  const struct {
    int64_t start, end, step;
  } cases[] = {{0, far, 1},     {1, far, 1},      {0, -1, 1},    {-3, far, 1},   {0, 3, 1},
               {2, 6, 2},       {0, far, 2},      {-6, -1, 3},   {1, -1, 1},     {-1, -far, -1},
               {far, -far, -2}, {9, 2, 1},        {5, far, 4},   {-100, far, 1}, {0, 1, far},
               {-2, 0, -1},     {5, -4, -3},      {3, -far, -1}, {-1, 2, -2},    {0, far, 5},
               {-4, -9, -1},    {-far, -far, -1}, {-2, -far, -2}};
  const std::vector<int64_t> extents = {-3, -2, -1, 0, 1, 2, 3, 4, 5, 9, 31};  // axis 1 is H + 3
  for (const auto& c : cases) {
    const std::vector<Operand> operands = {x, ints({c.start}), ints({c.end}), ints({1}),
                                           ints({c.step})};
    expect_same_for_sizes("slice", {}, operands, 1, extents);
  }
  const std::vector<Dims> bounds = {
      {kH}, {kH - Dim(1)}, {Dim(2) - kW}, {kW - Dim(4)}, {Dim(0) - kH}};
  for (const Dims& bound : bounds) {
    for (const int64_t step : {1, 2, -1, -3}) {
      expect_same_for_sizes("slice", {},
                            {x, ints({0}), shape_value(bound), ints({1}), ints({step})});
      expect_same_for_sizes("slice", {},
                            {x, shape_value(bound), ints({far}), ints({1}), ints({step})});
      expect_same_for_sizes("slice", {},
                            {x, shape_value(bound), shape_value({kH}), ints({1}), ints({step})});
    }
  }
}

TEST(SymbolicInference, MovesAgreeWithNumbers) {
  const Operand x = f32({kN, kH, kW, Dim(6)});
  expect_same_for_sizes("flatten", {{"axis", int64_t{2}}}, {x});
  expect_same_for_sizes("transpose", {{"perm", Ints{0, 3, 1, 2}}}, {x});
  expect_same_for_sizes("reshape", {}, {x, ints({0, -1, 3, 2})});
  expect_same_for_sizes("reshape", {}, {x, shape_value({kN, kH * kW, Dim(6)})});
  expect_same_for_sizes("reshape", {}, {x, shape_value({kN, Dim(-1), Dim(6)})});
  expect_same_for_sizes("concat", {{"axis", int64_t{1}}}, {x, x});
  expect_same_for_sizes("expand", {}, {f32({kN, Dim(1)}), shape_value({kN, kH})});
  expect_same_for_sizes("tile", {}, {f32({kN, kH}), ints({2, 3})});
  expect_same_for_sizes("pad", {}, {f32({kN, kH}), ints({0, 1, 0, 2})});
  expect_same_for_sizes("split", {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}}, {x}, 2);
  expect_same_for_sizes("range", {}, {scalar(0), shape_value({kH}), scalar(1)});
  expect_same_for_sizes("unsqueeze", {}, {x, ints({0, -1})});
  expect_same_for_sizes("reduce_mean", {{"keepdims", int64_t{0}}}, {x, ints({1, 2})});
  expect_same_for_sizes("matmul", {}, {f32({kN, Dim(1), kH, Dim(6)}), f32({Dim(3), Dim(6), kW})});
  expect_same_for_sizes("gather", {{"axis", int64_t{3}}}, {x, ints({0, 1})});
  const Operand scales = {
      ValueType::tensor(DType::kF32, {Dim(4)}), Tensor::from<float>({4}, {1, 1, 2, 1.5f}), {}};
  expect_same_for_sizes("resize", {}, {f32({kN, Dim(3), kH, kW}), Operand{}, scales});
  expect_same_for_sizes("depth_to_space", {{"blocksize", int64_t{2}}}, {f32({kN, Dim(8), kH, kW})});
}

TEST(SymbolicInference, KeepsExpressionsSimple) {
  EXPECT_EQ(type_of(infer("reshape", {}, {f32({kN, Dim(16), Dim(4), Dim(4)}), ints({-1, 256})})),
            "f32[N,256]");
  EXPECT_EQ(type_of(infer("reshape", {}, {f32({kN, kH, kW}), shape_value({kN, Dim(-1)})})),
            "f32[N,H*W]");
  EXPECT_EQ(type_of(infer("conv", {{"pads", Ints{1, 1, 1, 1}}},
                          {f32({kN, Dim(3), kH, kW}), f32({Dim(8), Dim(3), Dim(3), Dim(3)})})),
            "f32[N,8,H,W]");
  EXPECT_EQ(type_of(infer("slice", {}, {f32({kN, kH}), ints({0}), ints({INT64_MAX}), ints({1})})),
            "f32[N,H]");
  EXPECT_EQ(type_of(infer("add", {}, {f32({kN, Dim(1)}), f32({kN, kH})})), "f32[N,H]");
  EXPECT_EQ(type_of(infer("add", {}, {f32({kN}), f32({Dim(5)})})), "f32[5]");
}

TEST(ShapeValues, AreFollowedThroughShapeArithmetic) {
  const Operand x = f32({kN, Dim(3), kH, kW});
  const Inferred shape = infer("shape", {}, {x});
  EXPECT_EQ(elements_of(shape), "[N,3,H,W]");
  const Operand whole = shape_value(*shape.elements[0]);
  EXPECT_EQ(elements_of(infer("gather", {}, {whole, ints({2, -1})})), "[H,W]");
  const Inferred one = infer("gather", {}, {whole, scalar(0)});
  EXPECT_EQ(type_of(one), "i64[]");
  EXPECT_EQ(elements_of(one), "[N]");
  const Operand n = {one.outputs[0], {}, one.elements[0]};
  EXPECT_EQ(elements_of(infer("unsqueeze", {}, {n, ints({0})})), "[N]");
  EXPECT_EQ(elements_of(infer("slice", {}, {whole, ints({2}), ints({4}), ints({0})})), "[H,W]");
  EXPECT_EQ(elements_of(infer("concat", {{"axis", int64_t{0}}}, {shape_value({kN}), ints({-1})})),
            "[N,-1]");
  EXPECT_EQ(elements_of(infer("mul", {}, {shape_value({kH, kW}), scalar(2)})), "[2*H,2*W]");
  EXPECT_EQ(elements_of(infer("div", {}, {shape_value({kH * Dim(4)}), ints({4})})), "[H]");
  EXPECT_EQ(elements_of(infer("cast", {{"to", DType::kI32}}, {whole})), "[N,3,H,W]");
  EXPECT_EQ(elements_of(infer("cast", {{"to", DType::kF32}}, {whole})), "unknown");
  EXPECT_EQ(elements_of(infer("reduce_prod", {}, {shape_value({kH, kW})})), "[H*W]");
  EXPECT_EQ(elements_of(infer("equal", {}, {shape_value({kN, Dim(4)}), ints({-1, 4})})), "[0,1]");
  const Operand mask = {ValueType::tensor(DType::kBool, {Dim(2)}), {}, Dims{Dim(0), Dim(1)}};
  EXPECT_EQ(elements_of(infer("where", {}, {mask, ints({1, 1}), shape_value({kN, kH})})), "[N,1]");
  EXPECT_EQ(elements_of(infer("size", {}, {x})), "[3*H*N*W]");
  EXPECT_EQ(type_of(infer("constant_of_shape", {}, {shape_value({kN, kH})})), "f32[N,H]");
}

TEST(ShapeValues, AreFollowedThroughChoicesAndReplacements) {
  const Operand hw = shape_value({kH, kW}), five = ints({5});
  for (const char* op : {"greater", "less", "greater_or_equal", "less_or_equal", "max", "min",
                         "sub", "mod", "div"}) {
    expect_same_for_sizes(op, {}, {hw, five});
    expect_same_for_sizes(op, {}, {five, hw});
  }
  expect_same_for_sizes("max", {}, {hw, five, shape_value({kN, kH}), ints({1, 9})});
  expect_same_for_sizes("mod", {{"fmod", int64_t{1}}}, {hw, five});
  expect_same_for_sizes("abs", {}, {shape_value({kH - Dim(8)})});
  expect_same_for_sizes("sign", {}, {shape_value({kH - Dim(8), kN})});
  expect_same_for_sizes("clip", {}, {hw, scalar(5), scalar(9)});
  const Inferred wide = infer("greater", {}, {hw, five});
  const Operand mask = {wide.outputs[0], {}, wide.elements[0]};
  expect_same_for_sizes("where", {}, {mask, hw, ints({1})});
  expect_same_for_sizes("not", {}, {mask});
  for (const char* op : {"and", "or", "xor"}) expect_same_for_sizes(op, {}, {mask, mask});
  EXPECT_NE(elements_of(infer("where", {}, {mask, hw, ints({1})})), "unknown");

  const Operand whole = shape_value({kN, Dim(3), kH, kW});
  const Operand places = {
      ValueType::tensor(DType::kI64, {Dim(2), Dim(1)}), Tensor::from<int64_t>({2, 1}, {1, -1}), {}};
  EXPECT_EQ(elements_of(infer("scatter_nd", {}, {whole, places, hw})), "[N,H,H,W]");
  EXPECT_EQ(elements_of(infer("scatter_elements", {{"reduction", std::string("mul")}},
                              {whole, ints({0, -1}), ints({2, 3})})),
            "[2*N,3,H,3*W]");
  EXPECT_EQ(elements_of(infer("gather_elements", {}, {whole, ints({-1, 0})})), "[W,N]");
  EXPECT_EQ(elements_of(infer("expand", {}, {shape_value({kN}), ints({3})})), "[N,N,N]");
  EXPECT_EQ(elements_of(infer("tile", {}, {hw, ints({2})})), "[H,W,H,W]");
  const Inferred parts = infer("split", {{"num_outputs", int64_t{2}}}, {whole}, 2);
  EXPECT_EQ(elements_of(parts, 1), "[H,W]");
  EXPECT_EQ(elements_of(infer("squeeze", {}, {shape_value({kN}), ints({0})})), "[N]");
  EXPECT_EQ(
      elements_of(infer("range", {}, {shape_value({kH}), shape_value({kH + Dim(2)}), scalar(1)})),
      "[H,H+1]");
  EXPECT_EQ(elements_of(infer("reduce_max", {{"keepdims", int64_t{0}}}, {hw})), "[max(H,W)]");
}

TEST(ShapeValues, GiveUpWhereTheValueIsNotCertain) {
  EXPECT_EQ(elements_of(infer("equal", {}, {shape_value({kN}), ints({3})})), "unknown");
  EXPECT_EQ(elements_of(infer("div", {}, {shape_value({kN}), ints({0})})), "unknown");
  EXPECT_EQ(type_of(infer("non_zero", {}, {f32({kN, kH})})), "i64[2,_0]");
  EXPECT_EQ(type_of(infer("reshape", {}, {f32({kN}), tensor(DType::kI64, {Dim(2)})})),
            "f32[_0,_1]");
  EXPECT_EQ(type_of(infer("expand", {}, {f32({Dim(1)}), tensor(DType::kI64, {Dim(1)})})),
            "f32[_0]");
}

// Operands whose values only the run tells leave sizes open; they are no errors.
TEST(OpenSizes, FollowFromOperandsKnownAtRunTime) {
  const Operand x = f32({kN, Dim(3), Dim(1)});
  const auto later = [](Dims dims) { return tensor(DType::kI64, std::move(dims)); };
  const Operand some = later({Dim::symbol("K")}), two = later({Dim(2)}), one = later({});
  const Attributes drop = {{"keepdims", int64_t{0}}};
  EXPECT_EQ(type_of(infer("reduce_sum", {}, {x, two})), "f32[_0,_1,1]");
  EXPECT_EQ(type_of(infer("reduce_sum", {}, {x, later({Dim(3)})})), "f32[1,1,1]");
  EXPECT_EQ(type_of(infer("reduce_sum", drop, {x, two})), "f32[_0]");
  EXPECT_EQ(type_of(infer("reduce_max", drop, {x, some})), "f32[?]");
  EXPECT_EQ(type_of(infer("reduce_l2", drop, {x, later({Dim(0)})})), "f32[]");
  EXPECT_EQ(type_of(infer("squeeze", {}, {x, two})), "f32[_0]");
  EXPECT_EQ(type_of(infer("squeeze", {}, {x, some})), "f32[?]");
  EXPECT_EQ(type_of(infer("squeeze", {}, {x})), "f32[?]");  // N may be 1
  EXPECT_EQ(type_of(infer("squeeze", {}, {f32({Dim(2), Dim(1)})})), "f32[2]");
  EXPECT_EQ(type_of(infer("unsqueeze", {}, {f32({kN}), two})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("unsqueeze", {}, {x, some})), "f32[?]");
  EXPECT_EQ(type_of(infer("slice", {}, {x, two, two, two})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("slice", {}, {x, some, some})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("slice", {}, {x, ints({0}), ints({2}), ints({1}), later({Dim(1)})})),
            "f32[N,_0,1]");
  EXPECT_EQ(type_of(infer("pad", {}, {x, later({Dim(2)}), Operand{}, later({Dim(1)})})),
            "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("pad", {}, {x, later({Dim(2)}), Operand{}, ints({1})})), "f32[N,_0,1]");
  EXPECT_EQ(type_of(infer("split", {}, {f32({kN}), two}, 2), 1), "f32[_1]");
  EXPECT_EQ(type_of(infer("top_k", {}, {x, later({Dim(1)})}, 2), 1), "i64[N,3,_0]");
  EXPECT_EQ(type_of(infer("expand", {}, {x, two})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("expand", {}, {x, some})), "f32[?]");
  EXPECT_EQ(type_of(infer("tile", {}, {x, some})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("reshape", {}, {x, some})), "f32[?]");
  EXPECT_EQ(type_of(infer("one_hot", {}, {ints({1}), one, f32({Dim(2)})})), "f32[1,_0]");
  EXPECT_EQ(type_of(infer("range", {}, {one, one, one})), "i64[_0]");
  EXPECT_EQ(type_of(infer("constant_of_shape", {}, {two})), "f32[_0,_1]");
  EXPECT_EQ(type_of(infer("constant_of_shape", {}, {some})), "f32[?]");
  EXPECT_EQ(type_of(infer("cum_sum", {}, {x, one})), "f32[N,3,1]");
  EXPECT_EQ(type_of(infer("gather_nd", {}, {x, later({Dim(2), Dim::symbol("K")})})), "f32[?]");
  EXPECT_EQ(type_of(infer("scatter_nd", {}, {x, later({Dim(2), Dim::symbol("K")}), f32({kN})})),
            "f32[N,3,1]");
  const Operand scales = f32({Dim(3)}), sizes = later({Dim(3)});
  EXPECT_EQ(type_of(infer("resize", {}, {x, Operand{}, scales})), "f32[_0,_1,_2]");
  EXPECT_EQ(type_of(infer("resize", {}, {x, Operand{}, Operand{}, sizes})), "f32[_0,_1,_2]");
  const Operand image = f32({kN, Dim(3), kH, kW}), weight = f32({Dim(8), Dim(3), kH, kW});
  EXPECT_EQ(type_of(infer("conv", {}, {image, weight})), "f32[N,8,_0,_1]");
  EXPECT_EQ(type_of(infer("conv_transpose", {}, {image, f32({Dim(3), Dim(2), kH, kW})})),
            "f32[N,2,_0,_1]");
}

// A branch that is never taken may split what does not fit; it must not keep the model from being
// read.
TEST(SymbolicInference, PartsOfASplitRunOut) {
  const auto four = [](int64_t extent) {
    return infer("split", {{"num_outputs", int64_t{4}}}, {f32({Dim(extent)})}, 4);
  };
  EXPECT_EQ(type_of(four(6), 3), "f32[0]");
  EXPECT_EQ(type_of(four(7), 3), "f32[1]");
  EXPECT_EQ(type_of(four(5), 2), "f32[1]");
  EXPECT_EQ(type_of(four(5), 3), "f32[0]");
}

TEST(UnknownRank, PassesThroughEveryOpThatAllowsIt) {
  const Operand any = {ValueType::unranked(DType::kF32), {}, {}};
  for (const char* op : {"relu", "add", "matmul", "softmax", "transpose", "global_average_pool",
                         "identity", "reduce_mean", "flatten"}) {
    std::vector<Operand> operands(static_cast<size_t>(find_op(op)->min_inputs), any);
    const Inferred inferred = infer(op, {}, operands);
    ASSERT_TRUE(inferred.status.is_ok()) << op << ": " << inferred.status.message();
    EXPECT_EQ(inferred.outputs[0].dtype, DType::kF32) << op;
  }
  EXPECT_EQ(type_of(infer("reshape", {}, {any, ints({2, 3})})), "f32[2,3]");
  EXPECT_EQ(type_of(infer("reshape", {}, {any, ints({0, -1})})), "f32[_0,_1]");
  EXPECT_EQ(type_of(infer("tile", {}, {any, ints({2, 3})})), "f32[_0,_1]");
}

}  // namespace
}  // namespace stoker
