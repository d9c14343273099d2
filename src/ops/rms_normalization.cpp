// x / sqrt(mean of x^2 + epsilon) * scale over the axes from `axis` on.
// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "rms_normalization", 1, "scale", kFloats));
  STOKER_TRY(infer_unary(c, "rms_normalization", kFloats));
  // The result has the dtype of the scale.
  c.outputs[0].dtype = c.type(1).dtype;
  if (!all_ranked(c)) return Status::ok();
  const ValueType& x = c.type(0);
  STOKER_TRY(
      normalize_axis("rms_normalization", c.attributes.get_int("axis", -1), x.rank()).status());
  auto dims = broadcast_dims(x.dims, c.type(1).dims);
  if (!dims.is_ok()) return dims.status().at("rms_normalization");
  if (dims->size() != x.dims.size()) {
    return invalid_model("rms_normalization: scale {} has a higher rank than the input {}",
                         type_text(c.type(1)), type_text(x));
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &scale = c.inputs[1];
  const std::vector<int64_t> axes =
      axes_from(wrap_axis(c.attributes.get_int("axis", -1), x.rank()), x.rank());
  const double epsilon = c.attributes.get_float("epsilon", 1e-5f);
  STOKER_TRY(check_broadcast(x.shape, {&scale}));
  const SplitWalk walk = split_walk(broadcast_walk(x.shape, {&x, &y, &scale}), axes);
  const LoadDouble load = load_double(x.dtype), load_scale = load_double(scale.dtype);
  const StoreDouble store = store_double(y.dtype);
  const double n = static_cast<double>(walk.inner.count());
  for_each_wanted(walk.kept, wanted_kept(x.shape, axes, c.wanted), [&](const int64_t* k) {
    double squares = 0;
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      const double v = load(x.data, k[0] + o[0]);
      squares += v * v;
    });
    const double inverse = 1.0 / std::sqrt(squares / n + epsilon);
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      store(y.data, k[1] + o[1],
            load(x.data, k[0] + o[0]) * inverse * load_scale(scale.data, k[2] + o[2]));
    });
  });
  return Status::ok();
}

}  // namespace

extern const Op op_rms_normalization;
const Op op_rms_normalization = {
    .name = "rms_normalization",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"axis", AttributeKind::kInt},
                   {"epsilon", AttributeKind::kFloat},
                   {"stash_type", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
