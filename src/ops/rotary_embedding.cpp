// Rotary position embedding: pairs of elements of each head are turned by an angle of their
// position; elements behind rotary_embedding_dim stay as they are.
// Inputs: X, cos_cache, sin_cache, position_ids.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kOp = "rotary_embedding";

struct Rotary {
  Dim batch, heads, length, head, rotated;
};

// The elements of a head that turn.
Status set_rotated(Rotary& r, const Attributes& attributes) {
  const int64_t given = attributes.get_int("rotary_embedding_dim", 0);
  r.rotated = given == 0 ? r.head : Dim(given);
  if (given < 0 || (r.head.is_const() && given > r.head.value()) ||
      (r.rotated.is_const() && r.rotated.value() % 2 != 0)) {
    return invalid_model(
        "rotary_embedding: {} elements turn (rotary_embedding_dim {}), expected an even number "
        "that is at most the head size {}",
        r.rotated.text(), given, r.head.text());
  }
  return Status::ok();
}

Status check_caches(const Rotary& r, const Dims& cos, const Dims& sin, const Dims* ids) {
  const size_t rank = ids ? 2 : 3;
  if (cos.size() != rank || sin.size() != rank) {
    return invalid_model("rotary_embedding: cos_cache {} and sin_cache {}, expected rank {} {}",
                         dims_text(cos), dims_text(sin), rank,
                         ids ? "with position_ids" : "without position_ids");
  }
  for (size_t d = 0; d < rank; ++d) {
    STOKER_TRY(same_dim(kOp, "extents of cos_cache and sin_cache", cos[d], sin[d]).status());
  }
  if (r.rotated.is_const()) {
    STOKER_TRY(same_dim(kOp, "the last extent of the caches and half of what turns", cos.back(),
                        Dim(r.rotated.value() / 2))
                   .status());
  }
  const Dims& at = ids ? *ids : cos;
  if (at.size() < 2) {
    return invalid_model("rotary_embedding: position_ids {}, expected rank 2", dims_text(at));
  }
  STOKER_TRY(same_dim(kOp, "batch sizes of X and of the positions", r.batch, at[0]).status());
  return same_dim(kOp, "lengths of X and of the positions", r.length, at[1]).status();
}

Result<Rotary> rotary_dims(const Dims& x, const Dims& cos, const Dims& sin, const Dims* ids,
                           const Attributes& attributes) {
  Rotary r;
  const int64_t heads = attributes.get_int("num_heads", 0);
  if (x.size() == 4) {
    r.batch = x[0], r.heads = x[1], r.length = x[2], r.head = x[3];
  } else if (x.size() == 3) {
    if (heads < 1 || (x[2].is_const() && x[2].value() % heads != 0)) {
      return invalid_model(
          "rotary_embedding: num_heads is {}, expected a divisor of the last extent of X {}", heads,
          dims_text(x));
    }
    r.batch = x[0], r.heads = Dim(heads), r.length = x[1];
    r.head = Dim::floor_div(x[2], Dim(heads));
  } else {
    return invalid_model("rotary_embedding: X is {}, expected rank 3 or 4", dims_text(x));
  }
  STOKER_TRY(set_rotated(r, attributes));
  STOKER_TRY(check_caches(r, cos, sin, ids));
  return r;
}

Status infer(InferContext& c) {
  for (const size_t i : {0, 1, 2}) STOKER_TRY(check_input(c, kOp, i, "operand", kFloats));
  if (c.has(3)) STOKER_TRY(check_input(c, kOp, 3, "position_ids", kIndices));
  c.outputs[0] = c.type(0);
  if (!all_ranked(c)) return Status::ok();
  return rotary_dims(c.type(0).dims, c.type(1).dims, c.type(2).dims,
                     c.has(3) ? &c.type(3).dims : nullptr, c.attributes)
      .status();
}

Dims dims_of(const TensorView& view) { return {view.shape.begin(), view.shape.end()}; }

Status check_positions(const std::vector<int64_t>& ids, int64_t rows) {
  for (const int64_t id : ids) {
    if (id >= 0 && id < rows) continue;
    return invalid_argument("rotary_embedding: position {} is outside the caches' [0, {}]", id,
                            rows - 1);
  }
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &cos = c.inputs[1], &sin = c.inputs[2], &y = c.outputs[0];
  const bool by_id = c.has(3);
  const Dims id_dims = by_id ? dims_of(c.inputs[3]) : Dims();
  STOKER_ASSIGN(const Rotary r, rotary_dims(dims_of(x), dims_of(cos), dims_of(sin),
                                            by_id ? &id_dims : nullptr, c.attributes));
  const int64_t head = r.head.value(), heads = r.heads.value(), length = r.length.value();
  const int64_t half = r.rotated.value() / 2;
  const bool packed = x.rank() == 3, pairs = c.attributes.get_int("interleaved", 0) != 0;
  const std::vector<int64_t> ids = by_id ? to_ints(c.inputs[3]) : std::vector<int64_t>();
  if (by_id) STOKER_TRY(check_positions(ids, cos.shape[0]));
  const LoadDouble load = load_double(x.dtype), load_cos = load_double(cos.dtype),
                   load_sin = load_double(sin.dtype);
  const Writer write(y);
  const Reader read(x);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    const int64_t d = position % head, row = position / head;
    if (d >= 2 * half) return write.number(position, read.number(position));
    const int64_t b = row / (heads * length);
    const int64_t l = packed ? row / heads % length : row % length;
    const int64_t k = pairs ? d / 2 : d % half;
    const bool first = pairs ? d % 2 == 0 : d < half;
    const int64_t base = position - d;
    const double x1 = load(x.data, read.offset(base + (pairs ? 2 * k : k)));
    const double x2 = load(x.data, read.offset(base + (pairs ? 2 * k + 1 : k + half)));
    const auto angle = [&](const TensorView& cache) {
      return by_id ? ids[b * length + l] * cache.strides[0] + k * cache.strides[1]
                   : b * cache.strides[0] + l * cache.strides[1] + k * cache.strides[2];
    };
    const double co = load_cos(cos.data, angle(cos)), si = load_sin(sin.data, angle(sin));
    write.number(position, first ? co * x1 - si * x2 : si * x1 + co * x2);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_rotary_embedding;
const Op op_rotary_embedding = {
    .name = "rotary_embedding",
    .min_inputs = 3,
    .max_inputs = 4,
    .attributes = {{"interleaved", AttributeKind::kInt},
                   {"num_heads", AttributeKind::kInt},
                   {"rotary_embedding_dim", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
