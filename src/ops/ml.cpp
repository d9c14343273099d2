// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

#include <numbers>

namespace stoker {

Rows rows_of(const TensorView& x) {
  if (x.rank() == 1) return {1, x.shape[0]};
  return {x.shape[0], x.shape[1]};
}

Result<Dim> infer_rows(InferContext& c, const char* op) {
  STOKER_TRY(check_input(c, op, 0, "input", kFeatures));
  const ValueType& x = c.type(0);
  if (!x.ranked) return c.fresh();
  if (x.rank() == 1) return Dim(1);
  if (x.rank() == 2) return x.dims[0];
  return invalid_model("{}: input is {}, expected [rows, features] or [features]", op,
                       type_text(x));
}

Result<PostTransform> post_transform_of(const Attributes& attributes, const char* op) {
  const std::string name = attributes.get_string("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  return invalid_model(
      "{}: post_transform is \"{}\", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", op,
      name);
}

double logistic(double score) {
  const double value = 1 / (1 + std::exp(-std::fabs(score)));
  return score < 0 ? 1 - value : value;
}

// Winitzki's approximation of the inverse error function, which the implementations of the standard
// agree on; infinite at 0 and 1, undefined beyond.
double probit(double score) {
  constexpr double a = 0.147;
  const double x = 2 * score - 1;
  const double log = std::log((1 - x) * (1 + x));
  const double half = 2 / (std::numbers::pi * a) + 0.5 * log;
  const double value = std::sqrt(-half + std::sqrt(half * half - log / a));
  return std::numbers::sqrt2 * (x < 0 ? -value : value);
}

namespace {

// `skip_zeros`: scores of zero stay zero.
void softmax(std::span<double> scores, bool skip_zeros) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    const bool skipped = skip_zeros && std::fabs(score) <= 1e-7;
    score = skipped ? 0 : std::exp(score - most);
    sum += score;
  }
  // All are skipped: nothing tells the classes apart.
  for (double& score : scores)
    score = sum == 0 ? 1 / static_cast<double>(scores.size()) : score / sum;
}

}  // namespace

void transform_scores(PostTransform transform, std::span<double> scores) {
  if (transform == PostTransform::kProbit) {
    for (double& score : scores) score = probit(score);
  } else if (scores.size() < 2) {
    return;
  } else if (transform == PostTransform::kLogistic) {
    for (double& score : scores) score = logistic(score);
  } else if (transform != PostTransform::kNone) {
    softmax(scores, transform == PostTransform::kSoftmaxZero);
  }
}

std::array<double, 2> two_scores(PostTransform transform, double score, bool complement) {
  if (transform == PostTransform::kLogistic) return {logistic(-score), logistic(score)};
  if (transform == PostTransform::kProbit) return {-probit(score), probit(score)};
  return {complement ? 1 - score : -score, score};
}

Result<ClassLabels> class_labels(const Attributes& attributes, const char* op, const char* ints) {
  ClassLabels labels{attributes.get_ints(ints),
                     attribute_strings(attributes, "classlabels_strings")};
  if (labels.ints.empty() != labels.strings.empty()) return labels;
  return invalid_model("{}: expected labels in one of {} and classlabels_strings, found {}", op,
                       ints, labels.ints.empty() ? "neither" : "both");
}

void round_scores(const TensorView& x, std::span<double> scores) {
  if (x.dtype == DType::kF64) return;
  for (double& score : scores) score = static_cast<double>(static_cast<float>(score));
}

void LabelWriter::operator()(int64_t row, int64_t index) const {
  if (labels_.text()) {
    (*view_.strings)[static_cast<size_t>(writer_.offset(row))] =
        labels_.strings[static_cast<size_t>(index)];
  } else {
    writer_.integer(row, labels_.ints[static_cast<size_t>(index)]);
  }
}

void LabelWriter::yes_no(int64_t row, bool yes) const {
  if (labels_.size() == 2) return (*this)(row, yes ? 1 : 0);
  if (labels_.text()) {
    (*view_.strings)[static_cast<size_t>(writer_.offset(row))].assign(1, yes ? '1' : '0');
  } else {
    writer_.integer(row, yes ? 1 : 0);
  }
}

std::vector<std::string> attribute_strings(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.all().find(name);
  if (found == attributes.all().end()) return {};
  const auto* strings = std::get_if<std::vector<std::string>>(&found->second);
  return strings ? *strings : std::vector<std::string>();
}

std::vector<double> tensor_numbers(const Tensor& tensor) {
  return load_double(tensor.dtype()) ? to_doubles(view_of(tensor)) : std::vector<double>();
}

std::vector<double> attribute_numbers(const Attributes& attributes, const std::string& name) {
  const Tensor* tensor = attributes.get_tensor(name + "_as_tensor");
  return tensor && tensor->count() > 0 ? tensor_numbers(*tensor) : attributes.get_floats(name);
}

}  // namespace stoker
