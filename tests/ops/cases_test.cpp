// Runs every case of tests/ops/*.cases through the reference evaluations: inference and evaluation
// agree with the table, wanted elements equal the full evaluation, strided inputs equal dense ones,
// the evaluation in f64 agrees within the dtype's precision, and given values come out.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/numeric.h"
#include "tests/ops/cases.h"

namespace stoker {
namespace {

// Relative step of a dtype; integers that come from rounding may differ by one.
double precision(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 1e-13;
    case DType::kF32: return 2e-6;
    case DType::kF16: return 2e-3;
    case DType::kBF16: return 1.6e-2;
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ: return 0.13;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ: return 0.26;
    case DType::kF8E8M0: return 1.0;
    case DType::kF4E2M1: return 0.6;
    default: return 0;
  }
}

double number_at(const Tensor& t, int64_t i) { return load_double(t.dtype())(t.data(), i); }

std::string element_text(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kString) return '"' + t.strings()[static_cast<size_t>(i)] + '"';
  return is_integer(t.dtype()) ? std::to_string(load_int(t.dtype())(t.data(), i))
                               : fmt::format("{}", number_at(t, i));
}

bool same_element(const Tensor& a, const Tensor& b, int64_t i, double relative) {
  if (a.dtype() == DType::kString)
    return a.strings()[static_cast<size_t>(i)] == b.strings()[static_cast<size_t>(i)];
  if (is_integer(a.dtype()) && is_integer(b.dtype()) && relative == 0) {
    return load_int(a.dtype())(a.data(), i) == load_int(b.dtype())(b.data(), i);
  }
  const double x = number_at(a, i), y = number_at(b, i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
  if (x == y) return true;
  return std::isfinite(x) && std::isfinite(y) &&
         std::fabs(x - y) <= relative * std::max({std::fabs(x), std::fabs(y), 1.0});
}

// The first element that differs, or "".
std::string difference(const Tensor& got, const Tensor& want, double relative) {
  if (got.shape() != want.shape())
    return "shape " + shape_text(got.shape()) + ", expected " + shape_text(want.shape());
  for (int64_t i = 0; i < got.count(); ++i) {
    if (same_element(got, want, i, relative)) continue;
    return fmt::format("element {} is {}, expected {}", i, element_text(got, i),
                       element_text(want, i));
  }
  return "";
}

Result<std::vector<Tensor>> evaluate(const OpCase& op_case, const std::vector<Tensor>& inputs) {
  return evaluate_op(*op_case.op, op_case.attributes, inputs,
                     static_cast<int>(op_case.outputs.size()));
}

// Evaluates on views into outputs of the given types, with inputs and wanted positions of the
// caller.
Result<std::vector<Tensor>> evaluate_views(const OpCase& op_case,
                                           const std::vector<TensorView>& inputs,
                                           const std::vector<Tensor>& like,
                                           std::span<const int64_t> wanted, bool in_f64) {
  std::vector<Tensor> outputs;
  std::vector<TensorView> views;
  for (const Tensor& tensor : like) {
    const DType dtype = in_f64 && is_float(tensor.dtype()) ? DType::kF64 : tensor.dtype();
    STOKER_ASSIGN(Tensor output, Tensor::allocate(dtype, tensor.shape()));
    outputs.push_back(std::move(output));
    views.push_back(view_of(outputs.back()));
  }
  STOKER_TRY(op_case.op->evaluate({op_case.attributes, inputs, views, wanted}));
  return outputs;
}

Tensor to_f64(const Tensor& t) {
  if (!t.defined() || !is_float(t.dtype())) return t;
  auto result = Tensor::allocate(DType::kF64, t.shape());
  for (int64_t i = 0; i < t.count(); ++i)
    result->values<double>()[static_cast<size_t>(i)] = number_at(t, i);
  return *result;
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.defined() ? view_of(t) : TensorView{});
  return views;
}

// The same elements spread over twice the storage, every axis with a gap.
std::pair<Tensor, TensorView> spread(const Tensor& t) {
  Shape shape = t.shape();
  for (int64_t& extent : shape) extent *= 2;
  auto storage = Tensor::allocate(t.dtype(), shape);
  TensorView view = view_of(*storage);
  view.shape = t.shape();
  for (int64_t& stride : view.strides) stride *= 2;
  Shape at(t.shape().size(), 0);
  for (int64_t i = 0; i < t.count(); ++i) {
    int64_t rest = i, offset = 0;
    for (size_t d = at.size(); d-- > 0;) {
      offset += rest % t.shape()[d] * view.strides[d];
      rest /= t.shape()[d];
    }
    if (t.dtype() == DType::kString) {
      (*view.strings)[static_cast<size_t>(offset)] = t.strings()[static_cast<size_t>(i)];
    } else if (is_float(t.dtype())) {
      store_double(t.dtype())(view.data, offset, number_at(t, i));
    } else {
      store_int(t.dtype())(view.data, offset, load_int(t.dtype())(t.data(), i));
    }
  }
  return {*storage, view};
}

std::vector<int64_t> some_positions(int64_t count) {
  std::set<int64_t> positions;
  for (const int64_t p : {int64_t{0}, count / 3, count / 2, count - 1}) {
    if (p >= 0 && p < count) positions.insert(p);
  }
  return {positions.begin(), positions.end()};
}

void check_wanted(const OpCase& op_case, const std::vector<Tensor>& inputs,
                  const std::vector<Tensor>& full) {
  const std::vector<int64_t> wanted = some_positions(full[0].count());
  if (wanted.empty()) return;
  auto part = evaluate_views(op_case, views_of(inputs), full, wanted, false);
  ASSERT_TRUE(part.is_ok()) << part.status().message();
  for (const int64_t i : wanted) {
    EXPECT_TRUE(same_element((*part)[0], full[0], i, 0))
        << "wanted element " << i << " is " << element_text((*part)[0], i) << ", in full "
        << element_text(full[0], i);
  }
}

void check_strided(const OpCase& op_case, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& full) {
  std::vector<Tensor> keep;
  std::vector<TensorView> views;
  for (const Tensor& t : inputs) {
    if (!t.defined()) {
      views.emplace_back();
      continue;
    }
    auto [storage, view] = spread(t);
    keep.push_back(storage);
    views.push_back(view);
  }
  auto strided = evaluate_views(op_case, views, full, {}, false);
  ASSERT_TRUE(strided.is_ok()) << strided.status().message();
  for (size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(difference((*strided)[i], full[i], 0), "") << "strided inputs, output " << i;
  }
}

// Where the exact result, rounded or saturated once, is what came out, there is nothing to compare:
// that settles overflow to infinity, to NaN and to the largest number.
void accept_rounded(const Tensor& got, Tensor& exact) {
  if (!is_float(got.dtype())) return;
  for (int64_t i = 0; i < exact.count(); ++i) {
    double& value = exact.values<double>()[static_cast<size_t>(i)];
    const double found = number_at(got, i);
    for (const StoreDouble store :
         {store_double(got.dtype()), store_double_unsaturated(got.dtype())}) {
      uint64_t code = 0;
      store(&code, 0, value);
      const double rounded = load_double(got.dtype())(&code, 0);
      if (rounded == found || (std::isnan(rounded) && std::isnan(found))) {
        value = found;
        break;
      }
    }
  }
}

void check_f64(const OpCase& op_case, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& full) {
  std::vector<Tensor> wide;
  for (const Tensor& t : inputs) wide.push_back(to_f64(t));
  auto exact = evaluate_views(op_case, views_of(wide), full, {}, true);
  ASSERT_TRUE(exact.is_ok()) << exact.status().message();
  const bool from_floats = std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    return t.defined() && is_float(t.dtype());
  });
  for (size_t i = 0; i < full.size(); ++i) {
    double relative = precision(full[i].dtype());
    for (const Tensor& t : inputs) {
      if (is_float(full[i].dtype()) && t.defined())
        relative = std::max(relative, precision(t.dtype()));
    }
    // A quantized value may lie one step further.
    if (is_integer(full[i].dtype()) && from_floats) relative = 1;
    if (from_floats && full[i].dtype() == DType::kString) continue;  // more digits
    accept_rounded(full[i], (*exact)[i]);
    EXPECT_EQ(difference(full[i], (*exact)[i], relative), "") << "against f64, output " << i;
  }
}

// What inference says of a case's outputs, with the inputs' contents known or not.
Result<std::vector<ValueType>> infer(const OpCase& op_case, const std::vector<Tensor>& inputs,
                                     bool known) {
  std::vector<ValueType> types;
  for (const Tensor& t : inputs)
    types.push_back(ValueType::tensor(t.dtype(), Dims(t.shape().begin(), t.shape().end())));
  std::vector<InferContext::Input> operands(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) operands[i] = {&types[i], known ? &inputs[i] : nullptr, nullptr};
  }
  InferContext context{op_case.attributes, operands, {}, {}};
  context.outputs.resize(op_case.outputs.size());
  context.shape_values.resize(op_case.outputs.size());
  context.fresh_symbol = [](void*) { return Dim::symbol("_fresh"); };
  STOKER_TRY(op_case.op->infer(context));
  return context.outputs;
}

// Of ops that make their own outputs: what inference knows of these is true.
void check_inferred(const OpCase& op_case, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& outputs) {
  for (const bool known : {false, true}) {
    const auto types = infer(op_case, inputs, known);
    ASSERT_TRUE(types.is_ok()) << types.status().message();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueType& type = (*types)[i];
      EXPECT_EQ(dtype_name(type.dtype), dtype_name(outputs[i].dtype())) << "output " << i;
      if (!type.ranked) continue;
      ASSERT_EQ(type.rank(), outputs[i].rank()) << "output " << i;
      for (size_t d = 0; d < type.dims.size(); ++d) {
        const int64_t extent = outputs[i].shape()[d];
        EXPECT_EQ(type.dims[d].constant().value_or(extent), extent) << "output " << i;
      }
    }
  }
}

void run_case(const OpCase& op_case) {
  SCOPED_TRACE(op_case.where());
  auto inputs = make_inputs(op_case);
  ASSERT_TRUE(inputs.is_ok()) << inputs.status().message();
  auto outputs = evaluate(op_case, *inputs);
  if (!op_case.error.empty()) {
    // An op that makes its own outputs is not inferred when it is evaluated.
    if (op_case.op->evaluate_values) {
      const auto types = infer(op_case, *inputs, true);
      if (!types.is_ok()) outputs = types.status();
    }
    ASSERT_FALSE(outputs.is_ok()) << "expected an error with \"" << op_case.error << '"';
    EXPECT_NE(outputs.status().message().find(op_case.error), std::string::npos)
        << outputs.status().message();
    return;
  }
  ASSERT_TRUE(outputs.is_ok()) << outputs.status().message();
  for (size_t i = 0; i < outputs->size(); ++i) {
    const CaseTensor& expected = op_case.outputs[i];
    if (expected.dtype == DType::kInvalid) continue;
    const Tensor& got = (*outputs)[i];
    EXPECT_EQ(dtype_name(got.dtype()), dtype_name(expected.dtype)) << "output " << i;
    EXPECT_EQ(shape_text(got.shape()), shape_text(expected.shape)) << "output " << i;
    if (!expected.values || got.dtype() != expected.dtype) continue;
    EXPECT_EQ(
        difference(got, *expected.values, expected.tolerance.value_or(precision(got.dtype()))), "")
        << "output " << i;
  }
  if (op_case.op->evaluate_values) check_inferred(op_case, *inputs, *outputs);
  if (!op_case.op->evaluate) return;
  check_wanted(op_case, *inputs, *outputs);
  check_strided(op_case, *inputs, *outputs);
  check_f64(op_case, *inputs, *outputs);
}

const std::string kFolder = std::string(STOKER_SOURCE_DIR) + "/tests/ops";

// Names of the tables. They are listed before main, when the table of ops is not to be used yet.
std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STOKER_SOURCE_DIR) + "/tests/ops")) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class OpCases : public testing::TestWithParam<std::string> {};

TEST_P(OpCases, EvaluateAsTheTableSays) {
  auto cases = load_cases(kFolder + "/" + GetParam() + ".cases");
  ASSERT_TRUE(cases.is_ok()) << cases.status().message();
  EXPECT_FALSE(cases->empty());
  for (const OpCase& c : *cases) run_case(c);
}

INSTANTIATE_TEST_SUITE_P(All, OpCases, testing::ValuesIn(table_names()),
                         [](const auto& info) { return info.param; });

TEST(OpTable, EveryOpWithAnEvaluationHasACase) {
  std::set<std::string_view> covered;
  auto cases = load_all_cases(kFolder);
  ASSERT_TRUE(cases.is_ok()) << cases.status().message();
  for (const OpCase& c : *cases) covered.insert(c.op->name);
  // Sequences, optionals and maps are no tensors: sequence_test.cpp, map_test.cpp. Op custom:
  // custom_test.cpp.
  const std::set<std::string_view> elsewhere = {
      "cast_map",           "concat_from_sequence", "custom",         "dict_vectorizer",
      "optional",           "optional_get_element", "sequence_at",    "optional_has_element",
      "sequence_construct", "sequence_empty",       "sequence_erase", "sequence_insert",
      "sequence_length",    "split_to_sequence",    "zip_map"};
  for (const Op* op : all_ops()) {
    if ((!op->evaluate && !op->evaluate_values) || elsewhere.count(op->name)) continue;
    EXPECT_TRUE(covered.count(op->name)) << op->name << " has no case in tests/ops/*.cases";
  }
}

TEST(OpTable, FindsOpsByName) {
  EXPECT_EQ(find_op("relu")->name, "relu");
  EXPECT_EQ(find_op("rel"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
  for (const Op* op : all_ops()) EXPECT_EQ(find_op(op->name), op);
}

TEST(OpTable, NamesTheNearestAttribute) {
  const Status status =
      check_attributes(*find_op("conv"), Attributes{{"stride", std::vector<int64_t>{1, 1}}});
  EXPECT_NE(status.message().find("did you mean \"strides\""), std::string::npos)
      << status.message();
  const Status kind = check_attributes(*find_op("conv"), Attributes{{"group", 1.0}});
  EXPECT_NE(kind.message().find("is of kind float, expected int"), std::string::npos)
      << kind.message();
}

}  // namespace
}  // namespace stoker
