// Regression by support vectors; without support vectors, by one vector of coefficients. One-class
// models say 1 or -1.
// SPDX-License-Identifier: Apache-2.0
#include "ops/svm.h"

namespace stoker {

namespace {

constexpr const char* kName = "svm_regressor";

Status infer(InferContext& c) {
  STOKER_ASSIGN(const Dim rows, infer_rows(c, kName));
  STOKER_TRY(post_transform_of(c.attributes, kName).status());
  STOKER_TRY(svm_kernel(c.attributes, kName).status());
  set_output(c, 0, DType::kF32, {rows, Dim(1)});
  return Status::ok();
}

struct Regressor {
  SvmKernel kernel;
  std::vector<double> vectors, coefficients;
  int64_t supports = 0;
  double rho = 0;

  double operator()(const double* row, int64_t features) const {
    if (supports == 0) return kernel(row, coefficients.data(), features) + rho;
    double sum = rho;
    for (int64_t j = 0; j < supports; ++j)
      sum += coefficients[j] * kernel(row, vectors.data() + j * features, features);
    return sum;
  }
};

Result<Regressor> regressor_of(const Attributes& attributes, int64_t features) {
  Regressor made;
  STOKER_ASSIGN(made.kernel, svm_kernel(attributes, kName));
  made.vectors = attributes.get_floats("support_vectors");
  made.coefficients = attributes.get_floats("coefficients");
  made.supports = attributes.get_int("n_supports");
  const std::vector<double> rho = attributes.get_floats("rho");
  if (rho.empty()) return invalid_model("{}: attribute \"rho\" is missing", kName);
  made.rho = rho[0];
  if (made.supports < 0 || made.supports > (int64_t{1} << 31))
    return invalid_model("{}: n_supports is {}", kName, made.supports);
  if (made.supports == 0) made.kernel.type = SvmKernel::Type::kLinear;
  const int64_t coefficients = made.supports == 0 ? features : made.supports;
  const int64_t vectors = made.supports * features;
  if (static_cast<int64_t>(made.coefficients.size()) == coefficients &&
      (made.supports == 0 || static_cast<int64_t>(made.vectors.size()) == vectors)) {
    return made;
  }
  return invalid_argument(
      "{}: {} coefficients and {} numbers of support vectors for {} supports and {} features",
      kName, made.coefficients.size(), made.vectors.size(), made.supports, features);
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const Rows rows = rows_of(x);
  STOKER_ASSIGN(const PostTransform transform, post_transform_of(c.attributes, kName));
  STOKER_ASSIGN(const Regressor regressor, regressor_of(c.attributes, rows.features));
  STOKER_TRY(check_count(y, rows.count, kName, "the output"));
  const bool one_class = c.attributes.get_int("one_class") != 0;
  const std::vector<double> values = to_doubles(x);
  const Writer write(y);
  for (int64_t n = 0; n < rows.count; ++n) {
    double score = regressor(values.data() + n * rows.features, rows.features);
    if (one_class) {
      score = score > 0 ? 1 : -1;
    } else {
      transform_scores(transform, std::span(&score, 1));
    }
    write.number(n, score);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_svm_regressor;
const Op op_svm_regressor = {
    .name = kName,
    .attributes = {{"coefficients", AttributeKind::kFloats, true},
                   {"kernel_params", AttributeKind::kFloats},
                   {"kernel_type", AttributeKind::kString},
                   {"n_supports", AttributeKind::kInt},
                   {"one_class", AttributeKind::kInt},
                   {"post_transform", AttributeKind::kString},
                   {"rho", AttributeKind::kFloats, true},
                   {"support_vectors", AttributeKind::kFloats}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
