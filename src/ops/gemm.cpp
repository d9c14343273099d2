// alpha * A * B + beta * C with optional transposes; C broadcasts to the product and may be left
// out.
// SPDX-License-Identifier: Apache-2.0
#include "ops/matrix.h"
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  constexpr DTypeSet kSet = kFloats | dtypes({DType::kI64, DType::kI32, DType::kU64, DType::kU32});
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (i == 2 && !c.has(2)) continue;
    STOKER_TRY(check_input(c, "gemm", i, "operand", kSet));
    STOKER_TRY(check_same_dtype(c, "gemm", 0, i));
  }
  const DType dtype = c.type(0).dtype;
  for (size_t i = 0; i < 2; ++i) {
    if (c.type(i).ranked && c.type(i).rank() != 2) {
      return invalid_model("gemm: operand {} is {}, expected rank 2", i, type_text(c.type(i)));
    }
  }
  if (!c.type(0).ranked || !c.type(1).ranked) return set_unranked(c, dtype);
  Dims a = c.type(0).dims, b = c.type(1).dims;
  if (c.attributes.get_int("transA")) std::swap(a[0], a[1]);
  if (c.attributes.get_int("transB")) std::swap(b[0], b[1]);
  if (a[1].is_const() && b[0].is_const() && a[1] != b[0]) {
    return invalid_model(
        "gemm: A has {} columns, B has {} rows (A {}, B {}, after their transposes)", a[1].text(),
        b[0].text(), dims_text(a), dims_text(b));
  }
  const Dims dims = {a[0], b[1]};
  if (c.has(2) && c.type(2).ranked) {
    auto joined = broadcast_dims(dims, c.type(2).dims);
    if (!joined.is_ok()) return joined.status().at("gemm: C");
    bool same = joined->size() == 2;
    for (size_t d = 0; same && d < 2; ++d) {
      same = (*joined)[d] == dims[d] || !(*joined)[d].is_const() || !dims[d].is_const();
    }
    if (!same) {
      return invalid_model("gemm: C {} does not broadcast to the product {}", type_text(c.type(2)),
                           dims_text(dims));
    }
  }
  set_output(c, 0, dtype, dims);
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  TensorView a = c.inputs[0], b = c.inputs[1];
  const TensorView& y = c.outputs[0];
  const auto transpose = [](TensorView& v) {
    std::swap(v.shape[0], v.shape[1]);
    std::swap(v.strides[0], v.strides[1]);
  };
  if (c.attributes.get_int("transA")) transpose(a);
  if (c.attributes.get_int("transB")) transpose(b);
  const double alpha = c.attributes.get_float("alpha", 1.0),
               beta = c.attributes.get_float("beta", 1.0);
  const bool added = c.has(2) && beta != 0;
  const TensorView& extra = added ? c.inputs[2] : y;
  STOKER_TRY(check_broadcast(y.shape, {&extra}));
  if (a.shape[1] != b.shape[0] || a.shape[0] != y.shape[0] || b.shape[1] != y.shape[1]) {
    return invalid_argument("gemm: A {} and B {} do not multiply", shape_text(a.shape),
                            shape_text(b.shape));
  }
  const Shape strides = broadcast_walk(y.shape, {&extra}).strides[0];
  const int64_t n = y.shape[1];
  const auto extra_at = [&](int64_t position) {
    return position / n * strides[0] + position % n * strides[1];
  };
  const Writer write(y);
  const MatmulShape strided(a.shape, a.strides, b.shape, b.strides);
  if (is_integer(y.dtype)) {
    const LoadInt load = load_int(y.dtype);
    matmul_at<uint64_t>(
        strided, c.wanted, [&](int64_t o) { return static_cast<uint64_t>(load(a.data, o)); },
        [&](int64_t o) { return static_cast<uint64_t>(load(b.data, o)); },
        [&](int64_t position, uint64_t sum) {
          const uint64_t more =
              added ? static_cast<uint64_t>(load(extra.data, extra_at(position))) : 0;
          if (alpha == 1 && (!added || beta == 1))
            return write.integer(position, static_cast<int64_t>(sum + more));
          write.number(position, alpha * static_cast<double>(static_cast<int64_t>(sum)) +
                                     beta * static_cast<double>(static_cast<int64_t>(more)));
        });
    return Status::ok();
  }
  const LoadDouble load_extra = load_double(extra.dtype);
  const auto store = [&](int64_t position, double sum) {
    write.number(position, added ? alpha * sum + beta * load_extra(extra.data, extra_at(position))
                                 : alpha * sum);
  };
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

extern const Op op_gemm;
const Op op_gemm = {
    .name = "gemm",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"alpha", AttributeKind::kFloat},
                   {"beta", AttributeKind::kFloat},
                   {"transA", AttributeKind::kInt},
                   {"transB", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
