// Quantized matrix product: exact sums, rescaled, rounded half to even and saturated. The scale and
// zero point of a are one for all or one per row, those of b per column.
// Inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero.
// SPDX-License-Identifier: Apache-2.0
#include "ops/integer_products.h"
#include "ops/matrix.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr DTypeSet kQuantized =
    kBytes | dtypes({DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ});

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "qlinear_matmul", 0, "operand", kQuantized));
  STOKER_TRY(check_input(c, "qlinear_matmul", 3, "operand", kQuantized));
  for (const size_t i : {1, 4, 6})
    STOKER_TRY(check_input(c, "qlinear_matmul", i, "scale", kFloats));
  STOKER_TRY(check_input(c, "qlinear_matmul", 7, "output zero point", kQuantized));
  if (c.type(6).ranked && product(c.type(6).dims).is_const() && product(c.type(6).dims) != Dim(1)) {
    return unsupported("qlinear_matmul: output scale (input 6) is {}, expected a scalar",
                       type_text(c.type(6)));
  }
  if (!c.type(0).ranked || !c.type(3).ranked) return set_unranked(c, c.type(7).dtype);
  STOKER_ASSIGN(Dims dims, matmul_dims("qlinear_matmul", c.type(0).dims, c.type(3).dims));
  if (c.type(4).ranked && c.type(4).rank() == 1 && c.type(4).dims[0] != Dim(1)) {
    STOKER_TRY(same_dim("qlinear_matmul", "scales and columns of b", c.type(4).dims[0], dims.back())
                   .status());
  }
  set_output(c, 0, c.type(7).dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView& y = c.outputs[0];
  const Writer write(y);
  // A vector as an operand has no rows or no columns to give scales to.
  const int64_t columns = c.inputs[3].rank() > 1 ? y.rank() - 1 : -1;
  const int64_t rows = c.inputs[0].rank() > 1 ? y.rank() - (columns < 0 ? 1 : 2) : -1;
  STOKER_ASSIGN(const Requantize requantize, Requantize::of(c, rows, columns));
  const IntegerProduct p{c.inputs[0], c.inputs[3], y, &c.inputs[2], &c.inputs[5]};
  return matmul_integers(p, c.wanted, [&](int64_t position, int64_t, double sum) {
    write.number(position, requantize(position, sum));
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
