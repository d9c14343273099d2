// Sequences and optionals: types that inference gives, elements that evaluation gives, and errors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"

namespace stoker {
namespace {

using Kind = AnyValue::Kind;

Tensor f32(Shape shape, std::vector<float> values) {
  return Tensor::from<float>(std::move(shape), values);
}
AnyValue sequence(std::vector<Tensor> tensors) {
  return AnyValue::sequence({tensors.begin(), tensors.end()});
}

Result<AnyValue> evaluate(const char* op, std::vector<AnyValue> inputs,
                          Attributes attributes = {}) {
  auto outputs = evaluate_op_values(*find_op(op), attributes, inputs, 1);
  if (!outputs.is_ok()) return outputs.status();
  return (*outputs)[0];
}

std::string text(const AnyValue& value) {
  switch (value.kind()) {
    case Kind::kNone: return "none";
    case Kind::kTensor: {
      const Tensor& t = value.tensor();
      std::string out = std::string(dtype_name(t.dtype())) + shape_text(t.shape());
      if (t.dtype() == DType::kF32) {
        for (const float v : t.values<float>()) out += fmt::format(" {}", v);
      } else if (t.dtype() == DType::kI64) {
        for (const int64_t v : t.values<int64_t>()) out += fmt::format(" {}", v);
      } else if (t.dtype() == DType::kString) {
        for (const std::string& v : t.strings()) out += " " + v;
      } else if (t.dtype() == DType::kBool) {
        for (const bool v : t.values<bool>()) out += v ? " true" : " false";
      }
      return out;
    }
    default: {
      std::string out = "(";
      for (const AnyValue& element : value.elements()) {
        out += (out.size() > 1 ? ", " : "") + text(element);
      }
      return out + ")";
    }
  }
}

// What comes out, or the error.
std::string run(const char* op, std::vector<AnyValue> inputs, Attributes attributes = {}) {
  const auto value = evaluate(op, std::move(inputs), std::move(attributes));
  return value.is_ok() ? text(*value) : "error: " + value.status().message();
}

// The type of output 0, or the error. A null type is an input left out.
std::string inferred(const char* op, std::vector<std::optional<ValueType>> types,
                     Attributes attributes = {}, std::optional<Tensor> second = std::nullopt) {
  std::vector<InferContext::Input> inputs(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i]) inputs[i].type = &*types[i];
  }
  if (second) inputs[1].constant = &*second;
  InferContext context{attributes, inputs, {}, {}};
  context.outputs.resize(1);
  context.shape_values.resize(1);
  context.fresh_symbol = [](void*) { return Dim::symbol("u"); };
  const Status status = find_op(op)->infer(context);
  return status.is_ok() ? type_text(context.outputs[0]) : "error: " + status.message();
}

ValueType tensor(DType dtype, Dims dims) { return ValueType::tensor(dtype, std::move(dims)); }
const ValueType kF32x3 = ValueType::tensor(DType::kF32, {Dim(3)});
const ValueType kI64 = ValueType::tensor(DType::kI64, {});
const ValueType kSequence = ValueType::sequence(DType::kF32);

ValueType ranked_sequence(Dims dims) {
  ValueType type = kSequence;
  type.ranked = true;
  type.dims = std::move(dims);
  return type;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Sequence, ConstructKeepsTheTensors) {
  EXPECT_EQ(run("sequence_construct", {f32({2}, {1, 2}), f32({}, {3})}), "(f32[2] 1 2, f32[] 3)");
  EXPECT_EQ(inferred("sequence_construct", {kF32x3, kF32x3}), "sequence f32[3]");
  EXPECT_EQ(inferred("sequence_construct", {kF32x3, tensor(DType::kF32, {Dim::symbol("N")})}),
            "sequence f32[?]");
  EXPECT_TRUE(contains(inferred("sequence_construct", {kF32x3, kI64}), "must have one dtype"));
  EXPECT_TRUE(contains(inferred("sequence_construct", {kSequence}), "expected a tensor"));
  EXPECT_TRUE(contains(run("sequence_construct", {sequence({})}), "input 0 is a sequence"));
}

TEST(Sequence, EmptyHasADtype) {
  EXPECT_EQ(run("sequence_empty", {}), "()");
  EXPECT_EQ(inferred("sequence_empty", {}), "sequence f32[?]");
  EXPECT_EQ(inferred("sequence_empty", {}, {{"dtype", DType::kString}}), "sequence string[?]");
}

TEST(Sequence, AtCountsFromEitherEnd) {
  const AnyValue s = sequence({f32({1}, {5}), f32({1}, {6}), f32({1}, {7})});
  EXPECT_EQ(run("sequence_at", {s, Tensor::scalar_i64(1)}), "f32[1] 6");
  EXPECT_EQ(run("sequence_at", {s, Tensor::scalar_i64(-1)}), "f32[1] 7");
  EXPECT_EQ(run("sequence_at", {s, Tensor::from<int32_t>({1}, {-3})}), "f32[1] 5");
  EXPECT_TRUE(contains(run("sequence_at", {s, Tensor::scalar_i64(3)}), "position 3 is outside"));
  EXPECT_TRUE(contains(run("sequence_at", {s, Tensor::scalar_i64(-4)}), "position -4 is outside"));
  EXPECT_TRUE(contains(run("sequence_at", {s, Tensor::scalar_i64(INT64_MIN)}), "is outside"));
  EXPECT_TRUE(contains(run("sequence_at", {s, Tensor::from<int64_t>({2}, {0, 1})}), "expected 1"));
  EXPECT_TRUE(contains(run("sequence_at", {s, f32({}, {0})}), "input 1 is f32"));
  EXPECT_TRUE(contains(run("sequence_at", {f32({}, {0}), f32({}, {0})}), "is a tensor"));
  EXPECT_EQ(inferred("sequence_at", {ranked_sequence({Dim(3)}), kI64}), "f32[3]");
  EXPECT_EQ(inferred("sequence_at", {kSequence, kI64}), "f32[?]");
  EXPECT_TRUE(contains(inferred("sequence_at", {kF32x3, kI64}), "expected a sequence of tensors"));
  EXPECT_TRUE(contains(inferred("sequence_at", {kSequence, kF32x3}), "expected one of i64, i32"));
}

TEST(Sequence, InsertGoesBeforeThePosition) {
  const AnyValue s = sequence({f32({}, {1}), f32({}, {2})});
  const Tensor x = f32({}, {9});
  EXPECT_EQ(run("sequence_insert", {s, x}), "(f32[] 1, f32[] 2, f32[] 9)");
  EXPECT_EQ(run("sequence_insert", {s, x, Tensor::scalar_i64(0)}), "(f32[] 9, f32[] 1, f32[] 2)");
  EXPECT_EQ(run("sequence_insert", {s, x, Tensor::scalar_i64(-1)}), "(f32[] 1, f32[] 9, f32[] 2)");
  EXPECT_EQ(run("sequence_insert", {s, x, Tensor::scalar_i64(2)}), "(f32[] 1, f32[] 2, f32[] 9)");
  EXPECT_EQ(text(s), "(f32[] 1, f32[] 2)");
  EXPECT_TRUE(contains(run("sequence_insert", {s, x, Tensor::scalar_i64(3)}), "is outside"));
  EXPECT_TRUE(contains(run("sequence_insert", {s, Tensor::scalar_i64(3)}), "a tensor of i64"));
  EXPECT_EQ(inferred("sequence_insert", {kSequence, kF32x3}), "sequence f32[?]");
  EXPECT_EQ(inferred("sequence_insert", {ranked_sequence({Dim(3)}), kF32x3}), "sequence f32[3]");
  EXPECT_EQ(inferred("sequence_insert", {ranked_sequence({Dim(2)}), kF32x3}), "sequence f32[?]");
  EXPECT_TRUE(contains(inferred("sequence_insert", {kSequence, kI64}), "must have one dtype"));
}

TEST(Sequence, EraseTakesTheLastWithoutAPosition) {
  const AnyValue s = sequence({f32({}, {1}), f32({}, {2}), f32({}, {3})});
  EXPECT_EQ(run("sequence_erase", {s}), "(f32[] 1, f32[] 2)");
  EXPECT_EQ(run("sequence_erase", {s, Tensor::scalar_i64(0)}), "(f32[] 2, f32[] 3)");
  EXPECT_EQ(run("sequence_erase", {s, Tensor::scalar_i64(-2)}), "(f32[] 1, f32[] 3)");
  EXPECT_TRUE(contains(run("sequence_erase", {sequence({})}), "outside a sequence of 0"));
  EXPECT_EQ(inferred("sequence_erase", {ranked_sequence({Dim(3)})}), "sequence f32[3]");
}

TEST(Sequence, LengthCounts) {
  EXPECT_EQ(run("sequence_length", {sequence({})}), "i64[] 0");
  EXPECT_EQ(run("sequence_length", {sequence({f32({}, {1}), f32({}, {2})})}), "i64[] 2");
  EXPECT_EQ(inferred("sequence_length", {kSequence}), "i64[]");
}

TEST(Sequence, SplitBySizeBySizesAndIntoSlices) {
  const Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("split_to_sequence", {x, Tensor::scalar_i64(2)}),
            "(f32[2,2] 1 2 3 4, f32[1,2] 5 6)");
  EXPECT_EQ(run("split_to_sequence", {x, Tensor::from<int64_t>({2}, {1, 2})}),
            "(f32[1,2] 1 2, f32[2,2] 3 4 5 6)");
  EXPECT_EQ(run("split_to_sequence", {x, Tensor::from<int32_t>({2}, {1, 1})},
                {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}),
            "(f32[3,1] 1 3 5, f32[3,1] 2 4 6)");
  EXPECT_EQ(run("split_to_sequence", {x}, {{"axis", int64_t{1}}}),
            "(f32[3,1] 1 3 5, f32[3,1] 2 4 6)");
  EXPECT_EQ(run("split_to_sequence", {x}, {{"keepdims", int64_t{0}}}),
            "(f32[2] 1 2, f32[2] 3 4, f32[2] 5 6)");
  EXPECT_EQ(run("split_to_sequence", {*Tensor::from_strings({2}, {"a", "b"})}),
            "(string[1] a, string[1] b)");
  EXPECT_EQ(run("split_to_sequence", {f32({0, 2}, {})}), "()");
  const auto fails = [&](Tensor split, const char* with) {
    EXPECT_TRUE(contains(run("split_to_sequence", {x, std::move(split)}), with)) << with;
  };
  fails(Tensor::scalar_i64(0), "parts of 0");
  fails(Tensor::from<int64_t>({2}, {1, 1}), "leave 1 of 3");
  fails(Tensor::from<int64_t>({2}, {4, -1}), "of an extent of 3");
  fails(Tensor::from<int64_t>({2}, {INT64_MAX, INT64_MAX}), "of an extent of 3");
  EXPECT_TRUE(contains(run("split_to_sequence", {f32({}, {1})}), "axis 0 is outside"));
}

TEST(Sequence, SplitInfersTheParts) {
  const ValueType x = tensor(DType::kF32, {Dim(6), Dim::symbol("N")});
  EXPECT_EQ(inferred("split_to_sequence", {x}), "sequence f32[1,N]");
  EXPECT_EQ(inferred("split_to_sequence", {x}, {{"keepdims", int64_t{0}}}), "sequence f32[N]");
  EXPECT_EQ(inferred("split_to_sequence", {x, kI64}, {}, Tensor::scalar_i64(3)),
            "sequence f32[3,N]");
  EXPECT_EQ(inferred("split_to_sequence", {x, kI64}, {}, Tensor::scalar_i64(4)), "sequence f32[?]");
  EXPECT_EQ(inferred("split_to_sequence", {x, kI64}, {{"axis", int64_t{1}}}, Tensor::scalar_i64(1)),
            "sequence f32[6,1]");
  EXPECT_EQ(inferred("split_to_sequence", {x, kI64}, {{"axis", int64_t{1}}}, Tensor::scalar_i64(2)),
            "sequence f32[?]");
  EXPECT_EQ(inferred("split_to_sequence", {x, kI64}), "sequence f32[?]");
  EXPECT_EQ(inferred("split_to_sequence", {x, tensor(DType::kI64, {Dim(2)})}, {},
                     Tensor::from<int64_t>({2}, {3, 3})),
            "sequence f32[3,N]");
  EXPECT_EQ(inferred("split_to_sequence", {ValueType::unranked(DType::kI8)}), "sequence i8[?]");
  EXPECT_TRUE(contains(inferred("split_to_sequence", {x, tensor(DType::kI64, {Dim(1), Dim(2)})}),
                       "expected rank 0 or 1"));
}

TEST(Sequence, ConcatJoinsAlongOldAndNewAxes) {
  const AnyValue s = sequence({f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})});
  const auto concat = [&](int64_t axis, int64_t new_axis, const AnyValue& value) {
    return run("concat_from_sequence", {value}, {{"axis", axis}, {"new_axis", new_axis}});
  };
  EXPECT_EQ(concat(0, 0, s), "f32[2,2] 1 2 3 4");
  EXPECT_EQ(concat(-1, 0, s), "f32[1,4] 1 2 3 4");
  EXPECT_EQ(concat(0, 1, s), "f32[2,1,2] 1 2 3 4");
  EXPECT_EQ(concat(-1, 1, s), "f32[1,2,2] 1 3 2 4");
  EXPECT_EQ(concat(1, 0, sequence({f32({1, 1}, {5}), f32({1, 2}, {6, 7})})), "f32[1,3] 5 6 7");
  EXPECT_EQ(concat(0, 1, sequence({f32({}, {1}), f32({}, {2})})), "f32[2] 1 2");
  EXPECT_TRUE(contains(concat(0, 0, sequence({})), "the sequence is empty"));
  EXPECT_TRUE(contains(concat(2, 0, s), "axis 2 is outside"));
  EXPECT_TRUE(contains(concat(0, 0, sequence({f32({1, 1}, {5}), f32({1, 2}, {6, 7})})),
                       "element 1 has shape [1,2]"));
  EXPECT_TRUE(contains(concat(0, 0, sequence({f32({1}, {5}), f32({1, 1}, {6})})), "differ"));
  EXPECT_TRUE(
      contains(concat(0, 0, sequence({f32({1}, {5}), Tensor::from<int64_t>({1}, {6})})), "differ"));
  const Attributes join = {{"axis", int64_t{1}}};
  const Attributes stack = {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}};
  EXPECT_EQ(inferred("concat_from_sequence", {ranked_sequence({Dim(3), Dim(4)})}, join),
            "f32[3,u]");
  EXPECT_EQ(inferred("concat_from_sequence", {ranked_sequence({Dim(3), Dim(4)})}, stack),
            "f32[3,4,u]");
  EXPECT_EQ(inferred("concat_from_sequence", {kSequence}, join), "f32[?]");
}

TEST(Optional, HoldsWhatItIsGiven) {
  EXPECT_EQ(run("optional", {f32({1}, {4})}), "f32[1] 4");
  EXPECT_EQ(run("optional", {sequence({f32({1}, {4})})}), "(f32[1] 4)");
  EXPECT_EQ(run("optional", {}, {{"dtype", DType::kF32}}), "none");
  EXPECT_EQ(inferred("optional", {kF32x3}), "optional f32[3]");
  EXPECT_EQ(inferred("optional", {kSequence}), "optional sequence f32[?]");
  EXPECT_EQ(inferred("optional", {}, {{"dtype", DType::kI8}}), "optional i8[?]");
  EXPECT_EQ(inferred("optional", {}, {{"dtype", DType::kI8}, {"holds", std::string("sequence")}}),
            "optional sequence i8[?]");
  EXPECT_TRUE(contains(inferred("optional", {}), "no dtype of what it could hold"));
  EXPECT_TRUE(
      contains(inferred("optional", {ValueType::sequence(DType::kF32, ValueType::Kind::kMap)}),
               "expected a tensor or a sequence of tensors"));
}

TEST(Optional, GivesItsElement) {
  EXPECT_EQ(run("optional_get_element", {f32({1}, {4})}), "f32[1] 4");
  EXPECT_TRUE(contains(run("optional_get_element", {AnyValue()}), "the optional holds nothing"));
  ValueType optional = kF32x3;
  optional.kind = ValueType::Kind::kOptional;
  EXPECT_EQ(inferred("optional_get_element", {optional}), "f32[3]");
  optional.inner = ValueType::Kind::kSequence;
  EXPECT_EQ(inferred("optional_get_element", {optional}), "sequence f32[3]");
  EXPECT_EQ(inferred("optional_get_element", {kSequence}), "sequence f32[?]");
  EXPECT_EQ(inferred("optional_get_element", {kF32x3}), "f32[3]");
}

TEST(Optional, SaysWhetherItHoldsAnything) {
  EXPECT_EQ(run("optional_has_element", {}), "bool[] false");
  EXPECT_EQ(run("optional_has_element", {AnyValue()}), "bool[] false");
  EXPECT_EQ(run("optional_has_element", {f32({0}, {})}), "bool[] true");
  EXPECT_EQ(run("optional_has_element", {sequence({})}), "bool[] true");
  EXPECT_EQ(inferred("optional_has_element", {std::nullopt}), "bool[]");
}

TEST(Identity, PassesEveryKind) {
  EXPECT_EQ(run("identity", {sequence({f32({1}, {4})})}), "(f32[1] 4)");
  EXPECT_EQ(run("identity", {AnyValue()}), "none");
  EXPECT_EQ(run("identity", {f32({1}, {4})}), "f32[1] 4");
  EXPECT_EQ(inferred("identity", {kSequence}), "sequence f32[?]");
}

}  // namespace
}  // namespace stoker
