// Linear regression for one or more targets.
// SPDX-License-Identifier: Apache-2.0
#include "ops/linear_model.h"

namespace stoker {

namespace {

constexpr const char* kName = "linear_regressor";

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_TRY(post_transform_of(c.attributes, kName).status());
  const int64_t targets = c.attributes.get_int("targets", 1);
  if (targets < 1) return invalid_model("{}: targets is {}", kName, targets);
  set_output(c, 0, DType::kF32, {rows, Dim(targets)});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const PostTransform transform, post_transform_of(c.attributes, kName));
  const LinearModel model{c.attributes.get_floats("coefficients"),
                          c.attributes.get_floats("intercepts"),
                          c.attributes.get_int("targets", 1)};
  const Rows rows = rows_of(x);
  STOKER_TRY(model.check(kName, rows));
  STOKER_TRY(check_count(y, rows.count * model.targets, kName, "the output"));
  const std::vector<double> values = to_doubles(x);
  const Writer write(y);
  for (int64_t n = 0; n < rows.count; ++n) {
    std::vector<double> scores = model.scores(values.data() + n * rows.features, rows.features);
    transform_scores(transform, scores);
    for (int64_t t = 0; t < model.targets; ++t) write.number(n * model.targets + t, scores[t]);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_linear_regressor;
const Op op_linear_regressor = {
    .name = kName,
    .attributes = {{"coefficients", AttributeKind::kFloats, true},
                   {"intercepts", AttributeKind::kFloats},
                   {"post_transform", AttributeKind::kString},
                   {"targets", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
