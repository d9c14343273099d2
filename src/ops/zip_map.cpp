// Each row of scores as a map from the class labels to the scores, in the order of the labels.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ops/ml.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "zip_map", 0, "input", kFloats));
  STOKER_TRY(infer_rows(c, "zip_map").status());
  STOKER_ASSIGN(const ClassLabels labels,
                class_labels(c.attributes, "zip_map", "classlabels_int64s"));
  const ValueType& x = c.type(0);
  if (x.ranked && x.dims.back().is_const() && x.dims.back() != Dim(labels.size())) {
    return invalid_model("zip_map: input is {}, there are {} labels", type_text(x), labels.size());
  }
  c.outputs[0] = ValueType::sequence(x.dtype, ValueType::Kind::kMap);
  c.outputs[0].key = labels.dtype();
  return Status::ok();
}

// The columns that become entries, by their label; of equal labels the last counts.
std::vector<int64_t> columns_of(const ClassLabels& labels) {
  std::vector<int64_t> columns;
  const auto collect = [&](const auto& list) {
    std::map<typename std::decay_t<decltype(list)>::value_type, int64_t> sorted;
    for (size_t k = 0; k < list.size(); ++k) sorted[list[k]] = static_cast<int64_t>(k);
    for (const auto& [label, column] : sorted) columns.push_back(column);
  };
  if (labels.text()) {
    collect(labels.strings);
  } else {
    collect(labels.ints);
  }
  return columns;
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "zip_map", 0, kFloats));
  STOKER_ASSIGN(const ClassLabels labels,
                class_labels(c.attributes, "zip_map", "classlabels_int64s"));
  const TensorView x = view_of(c.tensor(0));
  if (x.rank() < 1 || x.rank() > 2 || x.shape.back() != labels.size()) {
    return invalid_argument("zip_map: input has shape {}, there are {} labels", shape_text(x.shape),
                            labels.size());
  }
  const std::vector<int64_t> columns = columns_of(labels);
  const int64_t count = static_cast<int64_t>(columns.size());
  STOKER_ASSIGN(Tensor keys, Tensor::allocate(labels.dtype(), {count}));
  const TensorView key_view = view_of(keys);
  const LabelWriter label(key_view, labels);
  for (int64_t k = 0; k < count; ++k) label(k, columns[k]);
  const Rows rows = rows_of(x);
  std::vector<AnyValue> maps;
  for (int64_t n = 0; n < rows.count; ++n) {
    STOKER_ASSIGN(Tensor values, Tensor::allocate(x.dtype, {count}));
    const TensorView view = view_of(values);
    const Mover move(view, x);
    for (int64_t k = 0; k < count; ++k) move(k, n * rows.features + columns[k]);
    maps.push_back(AnyValue::map(keys, std::move(values)));
  }
  c.outputs[0] = AnyValue::sequence(std::move(maps));
  return Status::ok();
}

}  // namespace

extern const Op op_zip_map;
const Op op_zip_map = {
    .name = "zip_map",
    .attributes = {{"classlabels_int64s", AttributeKind::kInts},
                   {"classlabels_strings", AttributeKind::kStrings}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
