// Elements that equal one value (NaN too) replaced by another, given per feature (the last axis) or
// once for all.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

namespace stoker {

namespace {

constexpr const char* kName = "imputer";

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, kName, kFeatures));
  const bool whole = is_integer(c.type(0).dtype);
  const char* name = whole ? "imputed_value_int64s" : "imputed_value_floats";
  const size_t count =
      whole ? c.attributes.get_ints(name).size() : c.attributes.get_floats(name).size();
  if (count == 0) {
    return invalid_model("{}: {} is missing for an input of {}", kName, name,
                         dtype_name(c.type(0).dtype));
  }
  if (count == 1 || !c.type(0).ranked) return Status::ok();
  const Dim features = c.type(0).rank() == 0 ? Dim(1) : c.type(0).dims.back();
  if (!features.is_const() || features == Dim(static_cast<int64_t>(count))) return Status::ok();
  return invalid_model("{}: {} holds {} values, expected 1 or {}", kName, name, count,
                       features.text());
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(y, x.count(), kName, "the output"));
  const int64_t features = x.rank() == 0 ? 1 : x.shape.back();
  const bool whole = is_integer(x.dtype);
  const std::vector<int64_t> ints = c.attributes.get_ints("imputed_value_int64s");
  const std::vector<double> floats = c.attributes.get_floats("imputed_value_floats");
  const int64_t count = static_cast<int64_t>(whole ? ints.size() : floats.size());
  if (count != 1 && count != features)
    return invalid_argument("{}: {} values for {} features", kName, count, features);
  const int64_t missing_int = c.attributes.get_int("replaced_value_int64");
  const double missing = c.attributes.get_float("replaced_value_float");
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t i) {
    const int64_t place = count == 1 ? 0 : i % features;
    if (whole) {
      const int64_t value = read.integer(i);
      return write.integer(i, value == missing_int ? ints[place] : value);
    }
    const double value = read.number(i);
    const bool replaced = std::isnan(missing) ? std::isnan(value) : value == missing;
    write.number(i, replaced ? floats[place] : value);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_imputer;
const Op op_imputer = {
    .name = kName,
    .attributes = {{"imputed_value_floats", AttributeKind::kFloats},
                   {"imputed_value_int64s", AttributeKind::kInts},
                   {"replaced_value_float", AttributeKind::kFloat},
                   {"replaced_value_int64", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
