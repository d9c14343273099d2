// Each row divided by its largest element, the sum of its magnitudes or its length; rows for which
// that is zero stay as they are.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_rows(c, "normalizer").status());
  const std::string norm = c.attributes.get_string("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return invalid_model("normalizer: norm is \"{}\", expected MAX, L1 or L2", norm);
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = DType::kF32;
  return Status::ok();
}

double divisor_of(std::span<const double> row, const std::string& norm) {
  double result = norm == "MAX" && !row.empty() ? row[0] : 0;
  for (const double value : row) {
    if (norm == "MAX") {
      result = std::max(result, value);
    } else {
      result += norm == "L1" ? std::fabs(value) : value * value;
    }
  }
  return norm == "L2" ? std::sqrt(result) : result;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(y, x.count(), "normalizer", "the output"));
  const std::string norm = c.attributes.get_string("norm", "MAX");
  const Rows rows = rows_of(x);
  const std::vector<double> values = to_doubles(x);
  const Writer write(y);
  for (int64_t n = 0; n < rows.count; ++n) {
    const std::span<const double> row(values.data() + n * rows.features,
                                      static_cast<size_t>(rows.features));
    const double divisor = divisor_of(row, norm);
    for (int64_t k = 0; k < rows.features; ++k)
      write.number(n * rows.features + k, divisor == 0 ? row[k] : row[k] / divisor);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_normalizer;
const Op op_normalizer = {
    .name = "normalizer",
    .attributes = {{"norm", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
