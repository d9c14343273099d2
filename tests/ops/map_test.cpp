// Ops on maps: types that inference gives, values that evaluation gives (those of ONNX Runtime 1.32
// where it can run them), and errors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;

Tensor f32(Shape shape, std::vector<float> values) {
  return Tensor::from<float>(std::move(shape), values);
}
Tensor i64(const Ints& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}
Tensor strings(Strings values) {
  const int64_t count = static_cast<int64_t>(values.size());
  return *Tensor::from_strings({count}, std::move(values));
}

std::string text(const AnyValue& value) {
  switch (value.kind()) {
    case AnyValue::Kind::kNone: return "none";
    case AnyValue::Kind::kTensor: {
      const Tensor& t = value.tensor();
      std::string out = std::string(dtype_name(t.dtype())) + shape_text(t.shape());
      for (int64_t i = 0; i < t.count(); ++i) {
        const size_t at = static_cast<size_t>(i);
        out += t.dtype() == DType::kString ? " " + t.strings()[at]
               : t.dtype() == DType::kI64  ? fmt::format(" {}", t.values<int64_t>()[at])
                                           : fmt::format(" {}", t.values<float>()[at]);
      }
      return out;
    }
    default: {
      std::string out = value.kind() == AnyValue::Kind::kMap ? "map(" : "sequence(";
      for (const AnyValue& element : value.elements()) out += text(element) + "; ";
      return out + ")";
    }
  }
}

std::string run(const char* op, AnyValue input, const Attributes& attributes) {
  const std::vector<AnyValue> inputs = {std::move(input)};
  const auto outputs = evaluate_op_values(*find_op(op), attributes, inputs, 1);
  return outputs.is_ok() ? text((*outputs)[0]) : "error: " + outputs.status().message();
}

std::string infer(const char* op, const ValueType& type, const Attributes& attributes) {
  const std::vector<InferContext::Input> inputs = {{&type, nullptr, nullptr}};
  InferContext context{attributes, inputs, {}, {}};
  context.outputs.resize(1);
  context.shape_values.resize(1);
  context.fresh_symbol = [](void*) { return Dim::symbol("u"); };
  const Status status = find_op(op)->infer(context);
  if (!status.is_ok()) return "error: " + status.message();
  return type_text(context.outputs[0]);
}

ValueType map_type(DType key, DType value) {
  ValueType type = ValueType::unranked(value);
  type.kind = ValueType::Kind::kMap;
  type.key = key;
  return type;
}

bool fails(const std::string& got, const char* with) {
  return got.rfind("error: ", 0) == 0 && got.find(with) != std::string::npos;
}

TEST(ZipMap, GivesOneMapPerRowInTheOrderOfTheLabels) {
  const Attributes ints = {{"classlabels_int64s", Ints{5, 2}}};
  const Attributes names = {{"classlabels_strings", Strings{"b", "a"}}};
  EXPECT_EQ(run("zip_map", f32({2, 2}, {1, 9, 3, 7}), ints),
            "sequence(map(i64[2] 2 5; f32[2] 9 1; ); map(i64[2] 2 5; f32[2] 7 3; ); )");
  EXPECT_EQ(run("zip_map", f32({2}, {1, 9}), names),
            "sequence(map(string[2] a b; f32[2] 9 1; ); )");
  EXPECT_EQ(run("zip_map", f32({0, 2}, {}), names), "sequence()");
  EXPECT_EQ(infer("zip_map", ValueType::tensor(DType::kF32, {Dim::symbol("N"), Dim(2)}), ints),
            "sequence map i64 f32[?]");
}

TEST(ZipMap, NeedsAsManyColumnsAsLabels) {
  const Attributes three = {{"classlabels_int64s", Ints{1, 2, 3}}};
  EXPECT_TRUE(fails(run("zip_map", f32({2, 2}, {1, 9, 3, 7}), three), "there are 3 labels"));
  EXPECT_TRUE(fails(infer("zip_map", ValueType::tensor(DType::kF32, {Dim(2), Dim(2)}), three),
                    "there are 3 labels"));
  EXPECT_TRUE(fails(run("zip_map", f32({2}, {1, 9}), {}), "found neither"));
}

TEST(DictVectorizer, FollowsTheVocabulary) {
  const Attributes names = {{"string_vocabulary", Strings{"a", "c", "b", "z"}}};
  const Attributes ints = {{"int64_vocabulary", Ints{2, 1}}};
  EXPECT_EQ(run("dict_vectorizer", AnyValue::map(strings({"c", "a"}), f32({2}, {8, 4})), names),
            "f32[1,4] 4 8 0 0");
  EXPECT_EQ(run("dict_vectorizer", AnyValue::map(i64({1}), strings({"x"})), ints),
            "string[1,2]  x");
  EXPECT_EQ(run("dict_vectorizer", AnyValue::map(strings({"a", "q"}), i64({4, 1})), names),
            "i64[1,4] 4 0 0 0");
  EXPECT_EQ(infer("dict_vectorizer", map_type(DType::kString, DType::kF32), names), "f32[1,4]");
  EXPECT_TRUE(fails(infer("dict_vectorizer", map_type(DType::kI64, DType::kF32), names),
                    "the keys are i64"));
  EXPECT_TRUE(fails(run("dict_vectorizer", f32({1}, {1}), names), "is no map"));
  EXPECT_TRUE(
      fails(run("dict_vectorizer", AnyValue::map(i64({1}), f32({1}, {1})), {}), "expected one"));
}

TEST(CastMap, OrdersByKey) {
  const AnyValue map = AnyValue::map(i64({3, 1}), f32({2}, {1.5f, -2.25f}));
  EXPECT_EQ(run("cast_map", map, {}), "f32[1,2] -2.25 1.5");
  EXPECT_EQ(run("cast_map", map, {{"cast_to", std::string("TO_INT64")}}), "i64[1,2] -2 1");
  EXPECT_EQ(run("cast_map", map,
                {{"cast_to", std::string("TO_STRING")},
                 {"map_form", std::string("SPARSE")},
                 {"max_map", int64_t{5}}}),
            "string[1,5] 0.f -2.250000 0.f 1.500000 0.f");
  const AnyValue words = AnyValue::map(i64({2, 0}), strings({"15", "7"}));
  EXPECT_EQ(run("cast_map", words,
                {{"cast_to", std::string("TO_INT64")},
                 {"map_form", std::string("SPARSE")},
                 {"max_map", int64_t{4}}}),
            "i64[1,4] 7 0 15 0");
  EXPECT_EQ(run("cast_map", words, {}), "f32[1,2] 7 15");
  EXPECT_EQ(infer("cast_map", map_type(DType::kI64, DType::kF32), {}), "f32[1,u]");
}

TEST(CastMap, RefusesWhatDoesNotFit) {
  const AnyValue map = AnyValue::map(i64({3}), f32({1}, {1}));
  EXPECT_TRUE(
      fails(run("cast_map", map, {{"map_form", std::string("SPARSE")}, {"max_map", int64_t{3}}}),
            "key 3 is outside of max_map 3"));
  EXPECT_TRUE(fails(run("cast_map", map, {{"map_form", std::string("LOOSE")}}), "DENSE or SPARSE"));
  EXPECT_TRUE(fails(run("cast_map", map, {{"cast_to", std::string("TO_BOOL")}}), "cast_to"));
  EXPECT_TRUE(fails(run("cast_map", AnyValue::map(strings({"a"}), f32({1}, {1})), {}),
                    "is not one that the op takes"));
  EXPECT_TRUE(fails(run("cast_map", AnyValue::map(i64({1}), strings({"x"})), {}), "not a number"));
}

}  // namespace
}  // namespace stoker
