// (x - mean) / sqrt(var + epsilon) * scale + bias over the axes from `axis` on; mean and
// 1/deviation are further outputs.
// SPDX-License-Identifier: Apache-2.0
#include "base/onnx_dtype.h"
#include "ops/normalize.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "layer_normalization", 0, "input", kFloats));
  STOKER_TRY(check_input(c, "layer_normalization", 1, "scale", kFloats));
  STOKER_TRY(check_same_dtype(c, "layer_normalization", 0, 1));
  STOKER_TRY(check_same_dtype(c, "layer_normalization", 0, 2));
  const ValueType& x = c.type(0);
  // Of the mean and 1/deviation. That of f64 stays f64, as in ONNX Runtime.
  const int64_t given = c.attributes.get_int("stash_type", 1);
  const DType stash = x.dtype == DType::kF64 ? DType::kF64 : dtype_from_onnx(given);
  if (!contains(kFloats, stash)) {
    return invalid_model("layer_normalization: stash_type is {}, expected the number of a float",
                         given);
  }
  for (size_t i = 0; i < c.outputs.size(); ++i)
    c.outputs[i] = ValueType::unranked(i == 0 ? x.dtype : stash);
  c.outputs[0] = x;
  if (!x.ranked) return Status::ok();
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("layer_normalization", c.attributes.get_int("axis", -1), x.rank()));
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (!c.has(i) || !c.type(i).ranked) continue;
    auto dims = broadcast_dims(x.dims, c.type(i).dims);
    if (!dims.is_ok()) return dims.status().at("layer_normalization");
    if (dims->size() != x.dims.size()) {
      return invalid_model("layer_normalization: input {} {} has a higher rank than the input {}",
                           i, type_text(c.type(i)), type_text(x));
    }
  }
  Dims reduced = x.dims;
  for (int64_t d = axis; d < x.rank(); ++d) reduced[d] = Dim(1);
  for (size_t i = 1; i < c.outputs.size(); ++i) set_output(c, i, stash, reduced);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0], &scale = c.inputs[1];
  const bool biased = c.has(2);
  const TensorView& bias = biased ? c.inputs[2] : scale;
  const std::vector<int64_t> axes =
      axes_from(wrap_axis(c.attributes.get_int("axis", -1), x.rank()), x.rank());
  const double epsilon = c.attributes.get_float("epsilon", 1e-5f);
  // Scale and bias normally cover the normalized axes, but may be any shape that broadcasts to x.
  STOKER_TRY(check_broadcast(x.shape, {&scale, &bias}));
  const SplitWalk walk = split_walk(broadcast_walk(x.shape, {&x, &y, &scale, &bias}), axes);
  const LoadDouble load = load_double(x.dtype), load_scale = load_double(scale.dtype),
                   load_bias = load_double(bias.dtype);
  const StoreDouble store = store_double(y.dtype);
  const std::vector<int64_t> kept = wanted_kept(x.shape, axes, c.wanted);
  int64_t index = 0;
  for_each_wanted(walk.kept, kept, [&](const int64_t* k) {
    const MeanVariance m = mean_variance(x, k[0], walk.inner);
    const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
    for_each_wanted(walk.inner, {}, [&](const int64_t* o) {
      const double value =
          (load(x.data, k[0] + o[0]) - m.mean) * inverse * load_scale(scale.data, k[2] + o[2]);
      store(y.data, k[1] + o[1], biased ? value + load_bias(bias.data, k[3] + o[3]) : value);
    });
    if (kept.empty()) {
      if (c.outputs.size() > 1 && c.outputs[1].present())
        Writer(c.outputs[1]).number(index, m.mean);
      if (c.outputs.size() > 2 && c.outputs[2].present())
        Writer(c.outputs[2]).number(index, inverse);
    }
    ++index;
  });
  return Status::ok();
}

}  // namespace

extern const Op op_layer_normalization;
const Op op_layer_normalization = {
    .name = "layer_normalization",
    .min_inputs = 2,
    .max_inputs = 3,
    .output_count = -1,
    .attributes = {{"axis", AttributeKind::kInt},
                   {"epsilon", AttributeKind::kFloat},
                   {"stash_type", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
