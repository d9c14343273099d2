// Classification by support vectors: one decision for each pair of classes, which vote; without
// support vectors, one linear score per class. Outputs: labels; the decisions, or with prob_a and
// prob_b probabilities per class.
// SPDX-License-Identifier: Apache-2.0
#include "ops/svm.h"

#include <numeric>

namespace stoker {

namespace {

constexpr const char* kName = "svm_classifier";
constexpr int64_t kMaxClasses = 65535;

struct Classifier {
  ClassLabels labels;
  SvmKernel kernel;
  PostTransform transform;
  std::vector<double> coefficients, vectors, rho, prob_a, prob_b;
  std::vector<int64_t> per_class;  // support vectors of each class
  int64_t supports = 0;
  bool positive = true;  // all coefficients are

  int64_t classes() const { return labels.size(); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
  bool linear() const { return supports == 0; }
  bool probabilities() const { return !linear() && !prob_a.empty(); }
  // Of one row of the output; one decision is written for both of its classes.
  int64_t scores() const {
    if (linear() || probabilities()) return classes();
    return classes() > 2 ? pairs() : 2;
  }
};

Status check_least(const char* what, size_t found, int64_t least) {
  if (static_cast<int64_t>(found) >= least) return Status::ok();
  return invalid_model("{}: {} holds {} numbers, expected {}", kName, what, found, least);
}

Result<Classifier> classifier_of(const Attributes& attributes) {
  Classifier m;
  STOKER_ASSIGN(m.labels, class_labels(attributes, kName, "classlabels_ints"));
  STOKER_ASSIGN(m.kernel, svm_kernel(attributes, kName));
  STOKER_ASSIGN(m.transform, post_transform_of(attributes, kName));
  m.coefficients = attributes.get_floats("coefficients");
  m.vectors = attributes.get_floats("support_vectors");
  m.rho = attributes.get_floats("rho");
  m.prob_a = attributes.get_floats("prob_a");
  m.prob_b = attributes.get_floats("prob_b");
  m.per_class = attributes.get_ints("vectors_per_class");
  for (const int64_t count : m.per_class) {
    if (count < 0 || count > (int64_t{1} << 31))
      return invalid_model("{}: vectors_per_class holds {}", kName, count);
    m.supports += count;
  }
  m.positive =
      std::all_of(m.coefficients.begin(), m.coefficients.end(), [](double v) { return v >= 0; });
  if (m.classes() > kMaxClasses) return invalid_model("{}: {} classes", kName, m.classes());
  STOKER_TRY(check_least("rho", m.rho.size(), m.linear() ? 1 : m.pairs()));
  if (m.linear()) {
    m.kernel.type = SvmKernel::Type::kLinear;
    return m;
  }
  if (static_cast<int64_t>(m.per_class.size()) != m.classes() || m.classes() < 2) {
    return invalid_model("{}: vectors_per_class holds {} numbers for {} labels", kName,
                         m.per_class.size(), m.classes());
  }
  STOKER_TRY(check_least("coefficients", m.coefficients.size(), (m.classes() - 1) * m.supports));
  if (m.prob_a.size() != m.prob_b.size())
    return invalid_model("{}: prob_a and prob_b differ in length", kName);
  if (!m.prob_a.empty()) STOKER_TRY(check_least("prob_a", m.prob_a.size(), m.pairs()));
  return m;
}

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_ASSIGN(const Classifier m, classifier_of(c.attributes));
  set_output(c, 0, m.labels.dtype(), {rows});
  set_output(c, 1, DType::kF32, {rows, Dim(m.scores())});
  return Status::ok();
}

// The decision of every pair of classes (i, j), i < j, and the votes they make.
std::vector<double> decide(const Classifier& m, const double* row, int64_t features,
                           std::vector<int64_t>& votes) {
  std::vector<double> kernels(static_cast<size_t>(m.supports));
  for (int64_t v = 0; v < m.supports; ++v)
    kernels[v] = m.kernel(row, m.vectors.data() + v * features, features);
  std::vector<int64_t> start(m.per_class.size() + 1, 0);
  std::partial_sum(m.per_class.begin(), m.per_class.end(), start.begin() + 1);
  std::vector<double> decisions;
  // Row r of the coefficients of a vector of class k is against class r, or r + 1 from k on.
  const auto sum = [&](int64_t of, int64_t line) {
    double total = 0;
    for (int64_t v = start[of]; v < start[of + 1]; ++v)
      total += m.coefficients[line * m.supports + v] * kernels[v];
    return total;
  };
  for (int64_t i = 0; i < m.classes(); ++i) {
    for (int64_t j = i + 1; j < m.classes(); ++j) {
      const double decision = m.rho[decisions.size()] + sum(i, j - 1) + sum(j, i);
      ++votes[decision > 0 ? i : j];
      decisions.push_back(decision);
    }
  }
  return decisions;
}

// Class probabilities from those of the pairs, after Wu, Lin and Weng: Probability estimates for
// multi-class classification by pairwise coupling, JMLR 5 (2004), algorithm 2.
std::vector<double> couple(const std::vector<double>& r, int64_t n) {
  std::vector<double> q(static_cast<size_t>(n * n), 0.0), qp(static_cast<size_t>(n));
  std::vector<double> p(static_cast<size_t>(n), 1.0 / static_cast<double>(n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  for (int round = 0; round < 100; ++round) {
    double pqp = 0, worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      qp[i] = 0;
      for (int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (const double value : qp) worst = std::max(worst, std::fabs(value - pqp));
    if (worst < 0.005 / static_cast<double>(n)) break;
    for (int64_t i = 0; i < n; ++i) {
      const double step = (pqp - qp[i]) / q[i * n + i], norm = 1 + step;
      p[i] += step;
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / norm / norm;
      for (int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[i * n + j]) / norm;
        p[j] /= norm;
      }
    }
  }
  return p;
}

std::vector<double> probabilities(const Classifier& m, const std::vector<double>& decisions) {
  const int64_t n = m.classes();
  std::vector<double> r(static_cast<size_t>(n * n), 0.0);
  size_t pair = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j, ++pair) {
      const double value = 1 - logistic(decisions[pair] * m.prob_a[pair] + m.prob_b[pair]);
      r[i * n + j] = std::clamp(value, 1e-7, 1 - 1e-7);
      r[j * n + i] = 1 - r[i * n + j];
    }
  }
  return couple(r, n);
}

// The scores of one row of x, whose label is written.
std::vector<double> score_row(const Classifier& m, const TensorView& x, const double* row,
                              int64_t features, const LabelWriter& label, int64_t n) {
  if (m.linear()) {
    std::vector<double> scores;
    for (int64_t k = 0; k < m.classes(); ++k) {
      scores.push_back(m.rho[0] + m.kernel(row, m.coefficients.data() + k * features, features));
    }
    round_scores(x, scores);
    const auto top = std::max_element(scores.begin(), scores.end());
    const int64_t best = top - scores.begin();
    // As ONNX Runtime has it for two classes: a positive top score names the second.
    const bool second = m.positive ? *top >= 0.5 : *top > 0;
    label(n, m.classes() == 2 && second ? 1 : best);
    transform_scores(m.transform, scores);
    return scores;
  }
  std::vector<int64_t> votes(static_cast<size_t>(m.classes()), 0);
  std::vector<double> decisions = decide(m, row, features, votes);
  label(n, std::max_element(votes.begin(), votes.end()) - votes.begin());
  if (m.probabilities()) decisions = probabilities(m, decisions);
  if (decisions.size() == 1) {
    const auto both = two_scores(m.transform, decisions[0], m.transform != PostTransform::kNone);
    return {both.begin(), both.end()};
  }
  transform_scores(m.transform, decisions);
  return decisions;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &z = c.outputs[1];
  STOKER_ASSIGN(const Classifier m, classifier_of(c.attributes));
  const Rows rows = rows_of(x);
  const int64_t numbers =
      static_cast<int64_t>(m.linear() ? m.coefficients.size() : m.vectors.size());
  const int64_t vectors = m.linear() ? m.classes() : m.supports;
  if (numbers % vectors != 0 || numbers / vectors != rows.features) {
    return invalid_argument("{}: {} numbers for {} vectors and an input of {} features", kName,
                            numbers, vectors, rows.features);
  }
  STOKER_TRY(check_count(y, rows.count, kName, "the output of labels"));
  STOKER_TRY(check_count(z, rows.count * m.scores(), kName, "the output of scores"));
  const std::vector<double> values = to_doubles(x);
  const LabelWriter label(y, m.labels);
  const Writer write(z);
  for (int64_t n = 0; n < rows.count; ++n) {
    const std::vector<double> scores =
        score_row(m, x, values.data() + n * rows.features, rows.features, label, n);
    for (int64_t k = 0; k < m.scores(); ++k) write.number(n * m.scores() + k, scores[k]);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_svm_classifier;
const Op op_svm_classifier = {
    .name = kName,
    .output_count = 2,
    .attributes = {{"classlabels_ints", AttributeKind::kInts},
                   {"classlabels_strings", AttributeKind::kStrings},
                   {"coefficients", AttributeKind::kFloats, true},
                   {"kernel_params", AttributeKind::kFloats},
                   {"kernel_type", AttributeKind::kString},
                   {"post_transform", AttributeKind::kString},
                   {"prob_a", AttributeKind::kFloats},
                   {"prob_b", AttributeKind::kFloats},
                   {"rho", AttributeKind::kFloats, true},
                   {"support_vectors", AttributeKind::kFloats},
                   {"vectors_per_class", AttributeKind::kInts}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
