// x divided by its 1- or 2-norm along an axis; a zero norm gives zeros.
// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(infer_unary(c, "lp_normalization", kFloats));
  const int64_t p = c.attributes.get_int("p", 2);
  if (p != 1 && p != 2) return invalid_model("lp_normalization: p is {}, expected 1 or 2", p);
  if (!c.type(0).ranked) return Status::ok();
  return normalize_axis("lp_normalization", c.attributes.get_int("axis", -1), c.type(0).rank())
      .status();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const bool squares = c.attributes.get_int("p", 2) == 2;
  const LoadDouble load = load_double(x.dtype);
  const StoreDouble store = store_double(y.dtype);
  const std::vector<int64_t> axes = {wrap_axis(c.attributes.get_int("axis", -1), x.rank())};
  for_each_group(x, y, axes, c.wanted, [&](int64_t, const int64_t* k, const Walk& inner) {
    double sum = 0;
    for_each_wanted(inner, {}, [&](const int64_t* o) {
      const double v = load(x.data, k[0] + o[0]);
      sum += squares ? v * v : std::fabs(v);
    });
    const double norm = squares ? std::sqrt(sum) : sum;
    for_each_wanted(inner, {}, [&](const int64_t* o) {
      store(y.data, k[1] + o[1], norm == 0 ? 0.0 : load(x.data, k[0] + o[0]) / norm);
    });
  });
  return Status::ok();
}

}  // namespace

extern const Op op_lp_normalization;
const Op op_lp_normalization = {
    .name = "lp_normalization",
    .attributes = {{"axis", AttributeKind::kInt}, {"p", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
