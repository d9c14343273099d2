// Sets elements to 0 at random and scales the others, when training; otherwise the input itself.
// Output 1 says which elements are kept.
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "ops/support.h"

namespace stoker {

namespace {

constexpr DTypeSet kData =
    kFloats | dtypes({DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ});

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "dropout", 0, "data", kData));
  if (c.has(1)) STOKER_TRY(check_input(c, "dropout", 1, "ratio", kData));
  if (c.has(2)) STOKER_TRY(check_input(c, "dropout", 2, "training_mode", kBools));
  c.outputs[0] = c.outputs[1] = c.type(0);
  c.outputs[1].dtype = DType::kBool;
  return Status::ok();
}

// The generator is std::mt19937, whose numbers the C++ standard fixes. The first run with a seed
// drops what the standard's reference evaluation (numpy's RandomState) drops.
std::mt19937 make_generator(const ValueContext& c) {
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  const RandomKey& key = c.random;
  if (!c.attributes.has("seed")) {
    std::seed_seq seed = {low(key.node), high(key.node), low(key.run), high(key.run)};
    return std::mt19937(seed);
  }
  const uint64_t given = static_cast<uint64_t>(c.attributes.get_int("seed"));
  if (key.run == 0) return std::mt19937(low(given));
  std::seed_seq seed = {low(given), high(given), low(key.run), high(key.run)};
  return std::mt19937(seed);
}

// Uniform in [0, 1), 53 bits.
double uniform(std::mt19937& generator) {
  const double high = generator() >> 5, low = generator() >> 6;
  return (high * 0x1p26 + low) * 0x1p-53;
}

Result<double> scalar(const ValueContext& c, size_t i, const char* what) {
  const Tensor& tensor = c.tensor(i);
  if (tensor.count() != 1)
    return invalid_argument("dropout: {} has shape {}, expected 1 element", what,
                            shape_text(tensor.shape()));
  return load_double(tensor.dtype())(tensor.data(), 0);
}

Status evaluate_values(ValueContext& c) {
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (i == 0 ? !c.has(0) || !c.inputs[0].is_tensor() : c.has(i) && !c.inputs[i].is_tensor())
      return invalid_argument("dropout: input {} is no tensor", i);
  }
  const Tensor& x = c.tensor(0);
  double ratio = 0.5, training = 0;
  if (c.has(1)) {
    STOKER_ASSIGN(ratio, scalar(c, 1, "ratio"));
  }
  if (c.has(2)) {
    STOKER_ASSIGN(training, scalar(c, 2, "training_mode"));
  }
  if (training == 0) ratio = 0;
  if (!(ratio >= 0 && ratio < 1))
    return invalid_argument("dropout: ratio is {}, expected 0 or more and below 1", ratio);
  STOKER_ASSIGN(Tensor mask, Tensor::allocate(DType::kBool, x.shape()));
  bool* kept = mask.values<bool>().data();
  if (ratio == 0) {
    std::fill_n(kept, x.count(), true);
    c.outputs[0] = x;
  } else {
    STOKER_ASSIGN(Tensor y, Tensor::allocate(x.dtype(), x.shape()));
    const LoadDouble load = load_double(x.dtype());
    const StoreDouble store = store_double(x.dtype());
    std::mt19937 generator = make_generator(c);
    const double scale = 1 / (1 - ratio);
    for (int64_t i = 0; i < x.count(); ++i) {
      kept[i] = uniform(generator) >= ratio;
      store(y.data(), i, kept[i] ? load(x.data(), i) * scale : 0);
    }
    c.outputs[0] = std::move(y);
  }
  if (c.outputs.size() > 1) c.outputs[1] = std::move(mask);
  return Status::ok();
}

}  // namespace

extern const Op op_dropout;
const Op op_dropout = {
    .name = "dropout",
    .min_inputs = 1,
    .max_inputs = 3,
    .output_count = 2,
    .attributes = {{"seed", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate_values,
    .deterministic = false,
};

}  // namespace stoker
