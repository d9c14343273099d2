// Matrix product over the last two axes; the others broadcast.
// SPDX-License-Identifier: Apache-2.0
#include "ops/matrix.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  constexpr DTypeSet kSet = kFloats | dtypes({DType::kI64, DType::kI32, DType::kU64, DType::kU32});
  STOKER_TRY(check_input(c, "matmul", 0, "operand", kSet));
  STOKER_TRY(check_input(c, "matmul", 1, "operand", kSet));
  STOKER_TRY(check_same_dtype(c, "matmul", 0, 1));
  if (!all_ranked(c)) return set_unranked(c, c.type(0).dtype);
  STOKER_ASSIGN(Dims dims, matmul_dims("matmul", c.type(0).dims, c.type(1).dims));
  set_output(c, 0, c.type(0).dtype, std::move(dims));
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &a = c.inputs[0], &b = c.inputs[1];
  STOKER_TRY(check_matmul(a.shape, b.shape, c.outputs[0].shape));
  const Writer write(c.outputs[0]);
  const MatmulShape strided(a.shape, a.strides, b.shape, b.strides);
  if (is_integer(a.dtype)) {
    const LoadInt load_a = load_int(a.dtype), load_b = load_int(b.dtype);
    matmul_at<uint64_t>(
        strided, c.wanted, [&](int64_t o) { return static_cast<uint64_t>(load_a(a.data, o)); },
        [&](int64_t o) { return static_cast<uint64_t>(load_b(b.data, o)); },
        [&](int64_t position, uint64_t sum) {
          write.integer(position, static_cast<int64_t>(sum));
        });
    return Status::ok();
  }
  const auto store = [&](int64_t position, double sum) { write.number(position, sum); };
  if (!c.wanted.empty()) {
    const LoadDouble load_a = load_double(a.dtype), load_b = load_double(b.dtype);
    matmul_at<double>(
        strided, c.wanted, [&](int64_t o) { return load_a(a.data, o); },
        [&](int64_t o) { return load_b(b.data, o); }, store);
    return Status::ok();
  }
  const MatmulShape dense(a.shape, dense_strides(a.shape), b.shape, dense_strides(b.shape));
  matmul_all(dense, to_doubles(a).data(), to_doubles(b).data(), store);
  return Status::ok();
}

}  // namespace

extern const Op op_matmul;
const Op op_matmul = {
    .name = "matmul",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
