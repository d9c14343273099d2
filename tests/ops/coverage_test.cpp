// What the tables of cases must hold for every op: each of its attributes, each dtype that its
// inference takes, a negative axis, a zero size, and for pointwise ops all ranks and operands that
// broadcast. Complex numbers, which no table can write, move as the f64 of the tables do.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "tests/ops/cases.h"

namespace stoker {
namespace {

// Ops whose operands no table can write, and the tests that stand in for one.
const std::map<std::string_view, std::string_view> kElsewhere = {
    // Sequences, optionals and maps.
    {"cast_map", "map_test.cpp"},
    {"concat_from_sequence", "sequence_test.cpp"},
    {"dict_vectorizer", "map_test.cpp"},
    {"optional", "sequence_test.cpp"},
    {"optional_get_element", "sequence_test.cpp"},
    {"optional_has_element", "sequence_test.cpp"},
    {"sequence_at", "sequence_test.cpp"},
    {"sequence_construct", "sequence_test.cpp"},
    {"sequence_empty", "sequence_test.cpp"},
    {"sequence_erase", "sequence_test.cpp"},
    {"sequence_insert", "sequence_test.cpp"},
    {"sequence_length", "sequence_test.cpp"},
    {"split_to_sequence", "sequence_test.cpp"},
    {"zip_map", "map_test.cpp"},
    // Sub-graphs, which the runtime executes, and functions of the caller.
    {"custom", "custom_test.cpp"},
    {"fused", "the tests of passes and kernels"},
    {"if", "the tests of the runtime"},
    {"loop", "the tests of the runtime"},
    {"scan", "the tests of the runtime"},
    {"sequence_map", "the tests of the runtime"},
};

// The cases that succeed, by op. An op that takes no table has an empty list.
const std::map<const Op*, std::vector<OpCase>>& cases_by_op() {
  static const auto cases = [] {
    std::map<const Op*, std::vector<OpCase>> map;
    for (const Op* op : all_ops()) {
      if (!kElsewhere.count(op->name)) map[op];
    }
    auto all = load_all_cases(std::string(STOKER_SOURCE_DIR) + "/tests/ops");
    EXPECT_TRUE(all.is_ok()) << all.status().message();
    if (!all.is_ok()) return map;
    for (OpCase& c : *all) {
      if (c.error.empty()) map[c.op].push_back(std::move(c));
    }
    return map;
  }();
  return cases;
}

bool any(const std::vector<OpCase>& cases, const std::function<bool(const OpCase&)>& holds) {
  return std::any_of(cases.begin(), cases.end(), holds);
}

TEST(CaseCoverage, OpsWithoutATableHaveNone) {
  for (const auto& [name, where] : kElsewhere) {
    const Op* op = find_op(name);
    ASSERT_NE(op, nullptr) << name << " is no op: take it from the list";
    const auto found = cases_by_op().find(op);
    EXPECT_TRUE(found == cases_by_op().end()) << name << " has cases: take it from the list";
  }
}

TEST(CaseCoverage, EveryAttributeIsSet) {
  for (const auto& [op, cases] : cases_by_op()) {
    for (const AttributeDef& def : op->attributes) {
      EXPECT_TRUE(
          any(cases, [&](const OpCase& c) { return c.attributes.has(std::string(def.name)); }))
          << "no case of tests/ops/" << op->name << ".cases sets " << def.name;
    }
  }
}

TEST(CaseCoverage, ANegativeAxisWhereThereIsOne) {
  for (const auto& [op, cases] : cases_by_op()) {
    for (const AttributeDef& def : op->attributes) {
      const std::string name(def.name);
      if (name != "axis" && name != "axes") continue;
      EXPECT_TRUE(any(cases,
                      [&](const OpCase& c) {
                        if (def.kind == AttributeKind::kInt)
                          return c.attributes.get_int(name, 0) < 0;
                        const std::vector<int64_t> axes = c.attributes.get_ints(name);
                        return std::any_of(axes.begin(), axes.end(),
                                           [](int64_t axis) { return axis < 0; });
                      }))
          << "no case of tests/ops/" << op->name << ".cases has a negative " << name;
    }
  }
}

bool has_zero_size(const std::vector<CaseTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const CaseTensor& t) {
    return std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
  });
}

TEST(CaseCoverage, AZeroSize) {
  // The range of no elements is not defined; an image has some.
  const std::set<std::string_view> without = {"dynamic_quantize_linear", "image_decoder"};
  for (const auto& [op, cases] : cases_by_op()) {
    if (without.count(op->name)) continue;
    EXPECT_TRUE(any(
        cases, [](const OpCase& c) { return has_zero_size(c.inputs) || has_zero_size(c.outputs); }))
        << "no case of tests/ops/" << op->name << ".cases has a tensor without elements";
  }
}

TEST(CaseCoverage, OperandsThatBroadcast) {
  for (const auto& [op, cases] : cases_by_op()) {
    if (!op->pointwise || op->max_inputs == 1) continue;
    EXPECT_TRUE(any(cases,
                    [](const OpCase& c) {
                      return std::any_of(
                          c.inputs.begin(), c.inputs.end(), [&](const CaseTensor& t) {
                            return t.dtype != DType::kInvalid && t.shape != c.outputs[0].shape;
                          });
                    }))
        << "no case of tests/ops/" << op->name << ".cases broadcasts an operand";
  }
}

TEST(CaseCoverage, RanksOfPointwiseOps) {
  for (const auto& [op, cases] : cases_by_op()) {
    if (!op->pointwise) continue;
    for (size_t rank = 0; rank <= 6; ++rank) {
      EXPECT_TRUE(any(cases, [&](const OpCase& c) { return c.outputs[0].shape.size() == rank; }))
          << "no case of tests/ops/" << op->name << ".cases has rank " << rank;
    }
  }
}

// Whether inference takes the case when its inputs that share the dtype of the first have another.
bool takes(const OpCase& c, DType dtype) {
  auto tensors = make_inputs(c);
  if (!tensors.is_ok()) return false;
  const DType from = c.inputs[0].dtype;
  std::vector<ValueType> types;
  for (const Tensor& t : *tensors) {
    types.push_back(ValueType::tensor(t.dtype() == from ? dtype : t.dtype(),
                                      Dims(t.shape().begin(), t.shape().end())));
  }
  std::vector<InferContext::Input> operands(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& t = (*tensors)[i];
    if (t.defined()) operands[i] = {&types[i], t.dtype() == from ? nullptr : &t, nullptr};
  }
  InferContext context{c.attributes, operands, {}, {}};
  context.outputs.resize(c.outputs.size());
  context.shape_values.resize(c.outputs.size());
  context.fresh_symbol = [](void*) { return Dim::symbol("_fresh"); };
  return c.op->infer(context).is_ok();
}

TEST(CaseCoverage, EveryDTypeOfTheFirstInput) {
  for (const auto& [op, cases] : cases_by_op()) {
    std::set<DType> used;
    for (const OpCase& c : cases) {
      if (!c.inputs.empty()) used.insert(c.inputs[0].dtype);
    }
    // The last two, complex numbers, cannot be written in a table.
    for (int i = 1; i < static_cast<int>(DType::kC64); ++i) {
      const auto dtype = static_cast<DType>(i);
      if (used.count(dtype)) continue;
      EXPECT_FALSE(any(cases,
                       [&](const OpCase& c) {
                         return !c.inputs.empty() && c.inputs[0].dtype != DType::kInvalid &&
                                takes(c, dtype);
                       }))
          << op->name << " takes " << dtype_name(dtype) << ", but no case of tests/ops/" << op->name
          << ".cases gives it";
    }
  }
}

Tensor with_bits_of(const Tensor& t, DType from, DType to) {
  if (!t.defined() || t.dtype() != from) return t;
  auto same = Tensor::allocate(to, t.shape());
  std::memcpy(same->data(), t.data(), static_cast<size_t>(t.count()) * sizeof(double));
  return *same;
}

TEST(CaseCoverage, ComplexNumbersMoveLikeOthersOfTheirSize) {
  int moved = 0;
  for (const auto& [op, cases] : cases_by_op()) {
    if (op->name == "unique") continue;  // it compares: the next test
    for (const OpCase& c : cases) {
      if (c.inputs.empty() || c.inputs[0].dtype != DType::kF64 || !takes(c, DType::kC64)) continue;
      SCOPED_TRACE(c.where());
      const auto inputs = make_inputs(c);
      ASSERT_TRUE(inputs.is_ok()) << inputs.status().message();
      std::vector<Tensor> complex;
      for (const Tensor& t : *inputs) complex.push_back(with_bits_of(t, DType::kF64, DType::kC64));
      const int count = static_cast<int>(c.outputs.size());
      const auto expected = evaluate_op(*op, c.attributes, *inputs, count);
      const auto found = evaluate_op(*op, c.attributes, complex, count);
      ASSERT_TRUE(expected.is_ok()) << expected.status().message();
      ASSERT_TRUE(found.is_ok()) << found.status().message();
      for (size_t i = 0; i < found->size(); ++i) {
        const Tensor &want = (*expected)[i], &got = (*found)[i];
        ASSERT_EQ(got.shape(), want.shape());
        const auto bytes = static_cast<size_t>(want.count() * dtype_bits(want.dtype()) / 8);
        EXPECT_EQ(std::memcmp(got.data(), want.data(), bytes), 0) << "output " << i;
      }
      ++moved;
    }
  }
  EXPECT_GT(moved, 30);
}

TEST(CaseCoverage, UniqueComplexNumbersSortByRealThenImaginaryPart) {
  const std::vector<float> parts = {1, 2, 0, 5, 1, 2, 1, -2};
  auto x = Tensor::allocate(DType::kC64, {4});
  std::memcpy(x->data(), parts.data(), parts.size() * sizeof(float));
  const auto out = evaluate_op(*find_op("unique"), {}, {*x}, 4);
  ASSERT_TRUE(out.is_ok()) << out.status().message();
  ASSERT_EQ((*out)[0].shape(), Shape{3});
  const auto* y = static_cast<const float*>((*out)[0].data());
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{0, 5, 1, -2, 1, 2}));
  const std::vector<std::vector<int64_t>> expected = {{1, 3, 0}, {2, 0, 2, 1}, {1, 1, 2}};
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto found = (*out)[i + 1].values<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()), expected[i]) << "output " << i + 1;
  }
}

}  // namespace
}  // namespace stoker
