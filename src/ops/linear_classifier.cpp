// Linear classification. Outputs: the label of the top class before the transform, the scores. One
// score for two classes says yes or no.
// SPDX-License-Identifier: Apache-2.0
#include "ops/linear_model.h"

namespace stoker {

namespace {

constexpr const char* kName = "linear_classifier";

// How many scores the model computes: as many as intercepts, otherwise one per label.
int64_t scores_of(const Attributes& attributes, const ClassLabels& labels) {
  const size_t intercepts = attributes.get_floats("intercepts").size();
  return intercepts > 0 ? static_cast<int64_t>(intercepts) : labels.size();
}

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_TRY(post_transform_of(c.attributes, kName).status());
  STOKER_ASSIGN(const ClassLabels labels, class_labels(c.attributes, kName, "classlabels_ints"));
  const int64_t scores = scores_of(c.attributes, labels);
  if (scores != labels.size() && !(scores == 1 && labels.size() == 2))
    return invalid_model("{}: {} scores for {} labels", kName, scores, labels.size());
  set_output(c, 0, labels.dtype(), {rows});
  set_output(c, 1, DType::kF32, {rows, Dim(labels.size())});
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &z = c.outputs[1];
  STOKER_ASSIGN(const PostTransform transform, post_transform_of(c.attributes, kName));
  STOKER_ASSIGN(const ClassLabels labels, class_labels(c.attributes, kName, "classlabels_ints"));
  const LinearModel model{c.attributes.get_floats("coefficients"),
                          c.attributes.get_floats("intercepts"), scores_of(c.attributes, labels)};
  const Rows rows = rows_of(x);
  STOKER_TRY(model.check(kName, rows));
  STOKER_TRY(check_count(y, rows.count, kName, "the output of labels"));
  STOKER_TRY(check_count(z, rows.count * labels.size(), kName, "the output of scores"));
  const std::vector<double> values = to_doubles(x);
  const LabelWriter label(y, labels);
  const Writer write(z);
  for (int64_t n = 0; n < rows.count; ++n) {
    std::vector<double> scores = model.scores(values.data() + n * rows.features, rows.features);
    round_scores(x, scores);
    if (model.targets == 1) {
      label.yes_no(n, scores[0] > 0);
    } else {
      label(n, std::max_element(scores.begin(), scores.end()) - scores.begin());
    }
    if (model.targets == 1 && labels.size() == 2) {
      const auto both = two_scores(transform, scores[0], true);
      scores.assign(both.begin(), both.end());
    } else {
      transform_scores(transform, scores);
    }
    for (int64_t k = 0; k < labels.size(); ++k) write.number(n * labels.size() + k, scores[k]);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_linear_classifier;
const Op op_linear_classifier = {
    .name = kName,
    .output_count = 2,
    .attributes = {{"classlabels_ints", AttributeKind::kInts},
                   {"classlabels_strings", AttributeKind::kStrings},
                   {"coefficients", AttributeKind::kFloats, true},
                   {"intercepts", AttributeKind::kFloats},
                   {"multi_class", AttributeKind::kInt},
                   {"post_transform", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
