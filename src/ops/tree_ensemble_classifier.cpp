// The votes of decision trees for classes. Outputs: the label of the top class, the scores.
// Two classes of which the trees score only one: its score decides, against one half when all
// weights are positive, otherwise against zero; the other class gets the complement.
// SPDX-License-Identifier: Apache-2.0
#include "ops/forest.h"

namespace stoker {

namespace {

constexpr const char* kName = "tree_ensemble_classifier";

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_TRY(post_transform_of(c.attributes, kName).status());
  STOKER_ASSIGN(const ClassLabels labels, class_labels(c.attributes, kName, "classlabels_int64s"));
  set_output(c, 0, labels.dtype(), {rows});
  set_output(c, 1, DType::kF32, {rows, Dim(labels.size())});
  return Status::ok();
}

struct Classifier {
  Forest forest;
  ClassLabels labels;
  PostTransform transform;
  std::optional<int64_t> only;  // of two classes the one that is scored
  bool positive = true;         // all weights are
};

Result<Classifier> classifier_of(const Attributes& attributes) {
  Classifier made;
  STOKER_ASSIGN(made.transform, post_transform_of(attributes, kName));
  STOKER_ASSIGN(made.labels, class_labels(attributes, kName, "classlabels_int64s"));
  const int64_t classes = made.labels.size();
  STOKER_ASSIGN(made.forest, forest_of_tuples(attributes, kName, "class", classes));
  const Forest& forest = made.forest;
  const auto& votes = forest.votes;
  made.positive = std::all_of(votes.begin(), votes.end(),
                              [](const TreeVote& vote) { return vote.weight >= 0; });
  const bool one = !votes.empty() && std::all_of(votes.begin(), votes.end(), [&](const auto& vote) {
    return vote.target == votes[0].target;
  });
  if (classes == 2 && one && forest.base.size() < 2) made.only = votes[0].target;
  const size_t bases = made.only ? 1 : static_cast<size_t>(classes);
  if (!forest.base.empty() && forest.base.size() != bases) {
    return invalid_model("{}: base_values holds {} numbers, expected {}", kName, forest.base.size(),
                         bases);
  }
  return made;
}

// A class that no leaf votes for and that has no base value is no candidate.
int64_t top_class(const std::vector<double>& scores, const std::vector<bool>& scored) {
  std::optional<size_t> best;
  for (size_t k = 0; k < scores.size(); ++k) {
    if (scored[k] && (!best || scores[k] > scores[*best])) best = k;
  }
  return static_cast<int64_t>(best.value_or(0));
}

// Turns the sums of one row into its scores and writes the label.
void finish_row(const Classifier& made, const TensorView& x, int64_t row,
                std::vector<double>& scores, std::vector<bool>& scored, const LabelWriter& label) {
  const std::vector<double>& base = made.forest.base;
  if (made.only) {
    double score = scores[*made.only] + (base.empty() ? 0 : base[0]);
    round_scores(x, std::span(&score, 1));
    label.yes_no(row, score > (made.positive ? 0.5 : 0));
    // Votes for the second class leave the first at zero.
    if (*made.only == 1) {
      scores = {0, score};
      transform_scores(made.transform, scores);
    } else {
      const auto both = two_scores(made.transform, score, made.positive);
      scores.assign(both.begin(), both.end());
    }
    return;
  }
  for (size_t k = 0; k < base.size(); ++k) {
    scores[k] += base[k];
    scored[k] = true;
  }
  round_scores(x, scores);
  if (made.labels.size() == 1) {
    label.yes_no(row, scores[0] > 0);
  } else {
    label(row, top_class(scores, scored));
  }
  transform_scores(made.transform, scores);
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &z = c.outputs[1];
  STOKER_ASSIGN(const Classifier made, classifier_of(c.attributes));
  const Forest& forest = made.forest;
  STOKER_TRY(check_features(forest, kName, x));
  const Rows rows = rows_of(x);
  const int64_t classes = made.labels.size();
  STOKER_TRY(check_count(y, rows.count, kName, "the output of labels"));
  STOKER_TRY(check_count(z, rows.count * classes, kName, "the output of scores"));
  const std::vector<double> values = to_doubles(x);
  const LabelWriter label(y, made.labels);
  const Writer write(z);
  for (int64_t n = 0; n < rows.count; ++n) {
    std::vector<double> scores(static_cast<size_t>(classes), 0.0);
    std::vector<bool> scored(scores.size());
    const double* row = values.data() + n * rows.features;
    STOKER_TRY(for_each_leaf(forest, kName, row, [&](const TreeNode& leaf) {
      for (size_t i = leaf.first; i < leaf.first + leaf.count; ++i) {
        scores[forest.votes[i].target] += forest.votes[i].weight;
        scored[forest.votes[i].target] = true;
      }
    }));
    finish_row(made, x, n, scores, scored, label);
    for (int64_t k = 0; k < classes; ++k) write.number(n * classes + k, scores[k]);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_tree_ensemble_classifier;
const Op op_tree_ensemble_classifier = {
    .name = kName,
    .output_count = 2,
    .attributes = forest_attributes({{"class_ids", AttributeKind::kInts},
                                     {"class_nodeids", AttributeKind::kInts},
                                     {"class_treeids", AttributeKind::kInts},
                                     {"class_weights", AttributeKind::kFloats},
                                     {"class_weights_as_tensor", AttributeKind::kTensor},
                                     {"classlabels_int64s", AttributeKind::kInts},
                                     {"classlabels_strings", AttributeKind::kStrings}}),
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
