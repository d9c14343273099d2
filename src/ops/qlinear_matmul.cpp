// Quantized matrix product: exact sums, rescaled, rounded half to even and saturated.
// Inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero.
// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"
#include "ops/matrix.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "qlinear_matmul", 0, "operand", kBytes));
  STOKER_TRY(check_input(c, "qlinear_matmul", 3, "operand", kBytes));
  for (const size_t i : {1, 4, 6})
    STOKER_TRY(check_input(c, "qlinear_matmul", i, "scale", kFloats));
  STOKER_TRY(check_input(c, "qlinear_matmul", 7, "output zero point", kBytes));
  for (const size_t i : {1, 6}) {
    if (c.type(i).ranked && product(c.type(i).dims).is_const() &&
        product(c.type(i).dims) != Dim(1)) {
      return unsupported("qlinear_matmul: scale (input {}) is {}, expected a scalar", i,
                         type_text(c.type(i)));
    }
  }
  if (!c.type(0).ranked || !c.type(3).ranked) return set_unranked(c, c.type(7).dtype);
  STOKER_ASSIGN(Dims dims, matmul_dims("qlinear_matmul", c.type(0).dims, c.type(3).dims));
  if (c.type(4).ranked && product(c.type(4).dims) != Dim(1)) {
    STOKER_TRY(
        same_dim("qlinear_matmul", "scales and columns of b", product(c.type(4).dims), dims.back())
            .status());
  }
  set_output(c, 0, c.type(7).dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  STOKER_TRY(check_quantized(c, y.rank() > 0 ? y.shape.back() : 1, "qlinear_matmul"));
  const Writer write(y);
  const Requantize requantize(c.inputs[1], c.inputs[4], c.inputs[6], c.inputs[7], y.dtype);
  const IntegerProduct p{c.inputs[0], c.inputs[3], y, &c.inputs[2], &c.inputs[5]};
  return matmul_integers(p, c.wanted, [&](int64_t position, int64_t column, double sum) {
    write.integer(position, requantize(sum, column));
  });
}

}  // namespace

extern const Op op_qlinear_matmul;
const Op op_qlinear_matmul = {
    .name = "qlinear_matmul",
    .min_inputs = 8,
    .max_inputs = 8,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
