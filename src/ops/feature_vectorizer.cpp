// The features of all inputs side by side in f32. Each input gets the width that inputdimensions
// says: longer ones are cut off, shorter ones filled up with zeros.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

namespace stoker {

namespace {

constexpr const char* kName = "feature_vectorizer";

Status infer(InferContext& c) {
  const std::vector<int64_t> widths = c.attributes.get_ints("inputdimensions");
  if (widths.size() != c.inputs.size()) {
    return invalid_model("{}: inputdimensions holds {} numbers for {} inputs", kName, widths.size(),
                         c.inputs.size());
  }
  int64_t total = 0;
  std::optional<Dim> rows;
  for (size_t i = 0; i < widths.size(); ++i) {
    STOKER_TRY(check_input(c, kName, i, "input", kFeatures));
    if (widths[i] < 0 || __builtin_add_overflow(total, widths[i], &total))
      return invalid_model("{}: inputdimensions holds {}", kName, widths[i]);
    const ValueType& type = c.type(i);
    if (!type.ranked) continue;
    if (type.rank() == 0)
      return invalid_model("{}: input {} is {}, expected rank 1 or more", kName, i,
                           type_text(type));
    const Dim own = type.rank() == 1 ? Dim(1) : type.dims[0];
    STOKER_ASSIGN(rows, same_dim(kName, "the rows of the inputs", rows.value_or(own), own));
  }
  set_output(c, 0, DType::kF32, {rows ? *rows : c.fresh(), Dim(total)});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const std::vector<int64_t> widths = c.attributes.get_ints("inputdimensions");
  const Writer write(y);
  int64_t start = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorView& x = c.inputs[i];
    const int64_t rows = x.rank() == 1 ? 1 : x.shape[0];
    if (rows != y.shape[0] || start + widths[i] > y.shape[1]) {
      return invalid_argument("{}: input {} of shape {} does not fit the output {}", kName, i,
                              shape_text(x.shape), shape_text(y.shape));
    }
    const int64_t features = rows == 0 ? 0 : x.count() / rows;
    const Reader read(x);
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t k = 0; k < widths[i]; ++k) {
        write.number(n * y.shape[1] + start + k, k < features ? read.number(n * features + k) : 0);
      }
    }
    start += widths[i];
  }
  return Status::ok();
}

}  // namespace

extern const Op op_feature_vectorizer;
const Op op_feature_vectorizer = {
    .name = kName,
    .max_inputs = -1,
    .attributes = {{"inputdimensions", AttributeKind::kInts, true}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
