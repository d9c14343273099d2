// (x - offset) * scale in f32, with numbers per feature (the last axis) or one for all.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, "scaler", kFeatures, DType::kF32));
  for (const char* name : {"offset", "scale"}) {
    const size_t count = c.attributes.get_floats(name).size();
    if (count < 2 || !c.type(0).ranked) continue;
    const Dim features = c.type(0).rank() == 0 ? Dim(1) : c.type(0).dims.back();
    if (features.is_const() && features != Dim(static_cast<int64_t>(count))) {
      return invalid_model("scaler: {} holds {} numbers, expected 1 or {}", name, count,
                           features.text());
    }
  }
  return Status::ok();
}

// One number per feature.
Result<std::vector<double>> per_feature(const Attributes& attributes, const char* name,
                                        int64_t features, double fallback) {
  std::vector<double> numbers = attributes.get_floats(name, {fallback});
  if (numbers.empty()) numbers = {fallback};
  if (numbers.size() == 1) numbers.assign(static_cast<size_t>(features), numbers[0]);
  if (static_cast<int64_t>(numbers.size()) == features) return numbers;
  return invalid_argument("scaler: {} holds {} numbers for {} features", name, numbers.size(),
                          features);
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(y, x.count(), "scaler", "the output"));
  const int64_t features = x.rank() == 0 ? 1 : x.shape.back();
  STOKER_ASSIGN(const auto offset, per_feature(c.attributes, "offset", features, 0));
  STOKER_ASSIGN(const auto scale, per_feature(c.attributes, "scale", features, 1));
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t i) {
    write.number(i, (read.number(i) - offset[i % features]) * scale[i % features]);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_scaler;
const Op op_scaler = {
    .name = "scaler",
    .attributes = {{"offset", AttributeKind::kFloats}, {"scale", AttributeKind::kFloats}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
