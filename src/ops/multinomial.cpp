// Classes drawn `sample_size` times a row, from the unnormalized log-probabilities of the row.
// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

DType output_dtype(const Attributes& attributes) {
  return attributes.get_dtype("dtype", DType::kI32);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "multinomial", 0, "log-probabilities", kFloats));
  const DType dtype = output_dtype(c.attributes);
  if (!contains(kIndices, dtype))
    return invalid_model("multinomial: dtype is {}, expected i32 or i64", dtype_name(dtype));
  const int64_t samples = c.attributes.get_int("sample_size", 1);
  if (samples < 1)
    return invalid_model("multinomial: sample_size is {}, expected 1 or more", samples);
  const ValueType& x = c.type(0);
  if (x.ranked && x.rank() != 2)
    return invalid_model("multinomial: input is {}, expected rank 2", type_text(x));
  set_output(c, 0, dtype, {x.ranked ? x.dims[0] : c.fresh(), Dim(samples)});
  return Status::ok();
}

// Running sums of the classes' weights, each weight relative to the largest.
Result<std::vector<double>> running_sums(const Tensor& x, int64_t row, int64_t classes) {
  const LoadDouble load = load_double(x.dtype());
  std::vector<double> sums(static_cast<size_t>(classes));
  double largest = -HUGE_VAL;
  for (int64_t k = 0; k < classes; ++k) {
    const double value = load(x.data(), row * classes + k);
    if (std::isnan(value)) return invalid_argument("multinomial: row {} holds NaN", row);
    largest = std::max(largest, value);
    sums[static_cast<size_t>(k)] = value;
  }
  if (largest == -HUGE_VAL)
    return invalid_argument("multinomial: no class of row {} has a probability above 0", row);
  double sum = 0;
  for (double& value : sums) {
    sum += value == largest ? 1 : portable_exp(value - largest);  // also where both are infinite
    value = sum;
  }
  return sums;
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "multinomial", 0, kFloats));
  const Tensor& x = c.tensor(0);
  if (x.rank() != 2)
    return invalid_argument("multinomial: input has rank {}, expected 2", x.rank());
  const int64_t rows = x.shape()[0], classes = x.shape()[1];
  const int64_t samples = c.attributes.get_int("sample_size", 1);
  const DType dtype = output_dtype(c.attributes);
  if (!contains(kIndices, dtype) || samples < 1)
    return invalid_argument("multinomial: {} samples of {}", samples, dtype_name(dtype));
  STOKER_ASSIGN(Tensor y, Tensor::allocate(dtype, {rows, samples}));
  const StoreInt store = store_int(dtype);
  RandomStream stream = RandomStream::of(c);
  for (int64_t row = 0; row < rows; ++row) {
    STOKER_ASSIGN(const std::vector<double> sums, running_sums(x, row, classes));
    for (int64_t i = 0; i < samples; ++i) {
      const double at = stream.uniform() * sums.back();
      const auto found = std::upper_bound(sums.begin(), sums.end() - 1, at);
      store(y.data(), row * samples + i, found - sums.begin());
    }
  }
  c.outputs[0] = std::move(y);
  return Status::ok();
}

}  // namespace

extern const Op op_multinomial;
const Op op_multinomial = {
    .name = "multinomial",
    .attributes = {{"sample_size", AttributeKind::kInt},
                   {"dtype", AttributeKind::kDType},
                   {"seed", AttributeKind::kFloat}},
    .infer = infer,
    .evaluate_values = evaluate,
    .deterministic = false,
};

}  // namespace stoker
