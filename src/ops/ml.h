// What the ops of ai.onnx.ml share: rows of features, class labels, scores and their transforms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/support.h"

namespace stoker {

inline constexpr DTypeSet kFeatures = kFloats | kInts;

// ---- Rows.

// x is [N,F], or [F] for one row.
struct Rows {
  int64_t count = 0, features = 0;
};
Rows rows_of(const TensorView& x);
// Checks input 0 and gives the number of rows; an error for other ranks than 1 and 2.
Result<Dim> infer_rows(InferContext& c, const char* op);

// ---- Scores.

// The order is that of TreeEnsemble's integers.
enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
Result<PostTransform> post_transform_of(const Attributes& attributes, const char* op);

double logistic(double score);
double probit(double score);

// Transforms the scores of one row. A single score is not a distribution: only PROBIT changes it,
// as in ONNX Runtime.
void transform_scores(PostTransform transform, std::span<double> scores);

// Both scores of a model that has one score for two classes. `complement`: the first is one minus
// the second, otherwise its negative.
std::array<double, 2> two_scores(PostTransform transform, double score, bool complement);

// ---- Labels.

// One of the two lists holds the labels; scores beyond the list have no name.
struct ClassLabels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;

  bool text() const { return !strings.empty(); }
  int64_t size() const { return static_cast<int64_t>(text() ? strings.size() : ints.size()); }
  DType dtype() const { return text() ? DType::kString : DType::kI64; }
};
// The attributes classlabels_strings and `ints`; exactly one must be given.
Result<ClassLabels> class_labels(const Attributes& attributes, const char* op, const char* ints);

class LabelWriter {
 public:
  LabelWriter(const TensorView& view, const ClassLabels& labels)
      : view_(view), labels_(labels), writer_(view) {}
  // The label of class `index`.
  void operator()(int64_t row, int64_t index) const;
  // Of the two classes of a model that decides yes or no: the labels when there are two, otherwise
  // 1 and 0.
  void yes_no(int64_t row, bool yes) const;

 private:
  const TensorView& view_;
  const ClassLabels& labels_;
  Writer writer_;
};

std::vector<std::string> attribute_strings(const Attributes& attributes, const std::string& name);
// Numbers of the attribute `name`, or of the tensor `name` + "_as_tensor".
std::vector<double> attribute_numbers(const Attributes& attributes, const std::string& name);
std::vector<double> tensor_numbers(const Tensor& tensor);

}  // namespace stoker
