// What the tables of cases must hold for every op: each of its attributes, each dtype that its
// inference takes, a negative axis, a zero size, and operands that broadcast.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace stoker
