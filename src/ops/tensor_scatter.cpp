// A cache with new elements written along one axis, at a position of each batch entry's own.
// Inputs: past_cache, update, write_indices (zeros when left out).
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kOp = "tensor_scatter";

// Checks all extents; the axis is normalized.
Result<int64_t> scatter_axis(const Dims& cache, const Dims& update, const Dims* indices,
                             const Attributes& attributes) {
  const int64_t rank = static_cast<int64_t>(cache.size());
  STOKER_ASSIGN(const int64_t axis, normalize_axis(kOp, attributes.get_int("axis", -2), rank));
  if (axis == 0) return invalid_model("tensor_scatter: axis 0 is the batch, expected another");
  if (update.size() != cache.size()) {
    return invalid_model("tensor_scatter: cache {} and update {} must have one rank",
                         dims_text(cache), dims_text(update));
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis && cache[d].is_const() && update[d].is_const() &&
        update[d].value() > cache[d].value()) {
      return invalid_model("tensor_scatter: the update is {} long, the cache {}", update[d].value(),
                           cache[d].value());
    }
    if (d != axis) STOKER_TRY(same_dim(kOp, "extents of both", cache[d], update[d]).status());
  }
  if (indices) {
    if (indices->size() != 1) {
      return invalid_model("tensor_scatter: write_indices are {}, expected rank 1",
                           dims_text(*indices));
    }
    STOKER_TRY(same_dim(kOp, "write_indices and batch size", (*indices)[0], cache[0]).status());
  }
  return axis;
}

Result<bool> is_circular(const Attributes& attributes) {
  const std::string mode = attributes.get_string("mode", "linear");
  if (mode == "linear" || mode == "circular") return mode == "circular";
  return invalid_model("tensor_scatter: mode is \"{}\", expected linear or circular", mode);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kOp, 0, "cache", kAny));
  STOKER_TRY(check_same_dtype(c, kOp, 0, 1));
  if (c.has(2)) STOKER_TRY(check_input(c, kOp, 2, "write_indices", kIndices));
  STOKER_TRY(is_circular(c.attributes).status());
  c.outputs[0] = c.type(0);
  if (!all_ranked(c)) return Status::ok();
  return scatter_axis(c.type(0).dims, c.type(1).dims, c.has(2) ? &c.type(2).dims : nullptr,
                      c.attributes)
      .status();
}

Dims dims_of(const TensorView& view) { return {view.shape.begin(), view.shape.end()}; }

Status evaluate(const EvalContext& c) {
  const TensorView &cache = c.inputs[0], &update = c.inputs[1], &y = c.outputs[0];
  const Dims index_dims = c.has(2) ? dims_of(c.inputs[2]) : Dims();
  STOKER_ASSIGN(const int64_t axis, scatter_axis(dims_of(cache), dims_of(update),
                                                 c.has(2) ? &index_dims : nullptr, c.attributes));
  STOKER_ASSIGN(const bool circular, is_circular(c.attributes));
  STOKER_TRY(copy_block(y.shape, y, {0, y.strides}, cache, {0, cache.strides}));
  const int64_t extent = cache.shape[axis], count = update.shape[axis];
  const std::vector<int64_t> starts =
      c.has(2) ? to_ints(c.inputs[2]) : std::vector<int64_t>(cache.shape[0], 0);
  Shape part = update.shape;
  part[0] = 1;
  for (int64_t b = 0; b < update.shape[0] && count > 0; ++b) {
    int64_t start = starts[b];
    if (circular) start = (start % extent + extent) % extent;
    if (start < 0 || start > extent || (!circular && start > extent - count)) {
      return invalid_argument("tensor_scatter: {} elements at {} do not fit a cache of {}", count,
                              starts[b], extent);
    }
    // Up to the end, then, going round, from the front.
    const int64_t before = std::min(count, extent - start);
    for (int64_t done = 0; done < count;) {
      part[axis] = done == 0 ? before : count - done;
      const int64_t at = done == 0 ? start : 0;
      STOKER_TRY(copy_block(part, y, {b * y.strides[0] + at * y.strides[axis], y.strides}, update,
                            {b * update.strides[0] + done * update.strides[axis], update.strides}));
      done += part[axis];
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_tensor_scatter;
const Op op_tensor_scatter = {
    .name = "tensor_scatter",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"axis", AttributeKind::kInt}, {"mode", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
