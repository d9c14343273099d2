// Elements of a where the condition holds, of b elsewhere; all three broadcast.
// SPDX-License-Identifier: Apache-2.0
#include "ops/open_sizes.h"
#include "ops/support.h"

namespace stoker {

extern const Op op_where;
const Op op_where = {
    .name = "where",
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = [](InferContext& c) -> Status {
      STOKER_TRY(check_input(c, "where", 0, "condition", kBools));
      STOKER_TRY(check_input(c, "where", 1, "operand", kAny));
      STOKER_TRY(check_same_dtype(c, "where", 1, 2));
      const DType dtype = c.type(1).dtype;
      if (!all_ranked(c)) return set_unranked(c, dtype);
      auto dims = broadcast_dims(c.type(1).dims, c.type(2).dims);
      if (dims.is_ok()) dims = broadcast_dims(*dims, c.type(0).dims);
      if (!dims.is_ok()) return dims.status().at("where");
      set_output(c, 0, dtype, std::move(*dims));
      const auto condition = c.elements(0);
      const auto a = c.elements(1), b = c.elements(2);
      const auto count = constant_dims(c.outputs[0].dims);
      if (!condition || !a || !b || !count || count->size() > 1) return Status::ok();
      const size_t n = count->empty() ? 1 : static_cast<size_t>((*count)[0]);
      Dims result;
      for (size_t i = 0; i < n; ++i) {
        const auto at = [&](const Dims& dims) { return dims[dims.size() == 1 ? 0 : i]; };
        const auto value = select(at(*condition), at(*a), at(*b));
        if (!value) return Status::ok();
        result.push_back(*value);
      }
      c.shape_values[0] = std::move(result);
      return Status::ok();
    },
    .evaluate = [](const EvalContext& c) -> Status {
      const TensorView &condition = c.inputs[0], &a = c.inputs[1], &b = c.inputs[2],
                       &y = c.outputs[0];
      const Mover from_a(y, a), from_b(y, b);
      STOKER_TRY(check_broadcast(y.shape, {&condition, &a, &b}));
      for_each_wanted(broadcast_walk(y.shape, {&y, &condition, &a, &b}), c.wanted,
                      [&](const int64_t* o) {
                        if (condition.as<const uint8_t>()[o[1]] != 0) {
                          from_a(o[0], o[2]);
                        } else {
                          from_b(o[0], o[3]);
                        }
                      });
      return Status::ok();
    },
    .pointwise = true,
};

}  // namespace stoker
