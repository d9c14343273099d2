// Matrix product of 8-bit integers less their zero points, summed exactly into i32.
// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"
#include "ops/matrix.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "matmul_integer", 0, "operand", kBytes));
  STOKER_TRY(check_input(c, "matmul_integer", 1, "operand", kBytes));
  STOKER_TRY(check_same_dtype(c, "matmul_integer", 0, 2));
  STOKER_TRY(check_same_dtype(c, "matmul_integer", 1, 3));
  if (!c.type(0).ranked || !c.type(1).ranked) return set_unranked(c, DType::kI32);
  STOKER_ASSIGN(Dims dims, matmul_dims("matmul_integer", c.type(0).dims, c.type(1).dims));
  set_output(c, 0, DType::kI32, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const Writer write(c.outputs[0]);
  const IntegerProduct p{c.inputs[0], c.inputs[1], c.outputs[0], c.has(2) ? &c.inputs[2] : nullptr,
                         c.has(3) ? &c.inputs[3] : nullptr};
  return matmul_integers(p, c.wanted, [&](int64_t position, int64_t, double sum) {
    write.integer(position, static_cast<int64_t>(sum));
  });
}

}  // namespace

extern const Op op_matmul_integer;
const Op op_matmul_integer = {
    .name = "matmul_integer",
    .min_inputs = 2,
    .max_inputs = 4,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
