// The input cut along `axis` into a sequence: into parts of the sizes that a list gives, of one
// size that a scalar gives (the last may be smaller), or without either into slices of size 1,
// whose axis keepdims=0 drops.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "split_to_sequence", 0, "input", kAny));
  const ValueType& x = c.type(0);
  c.outputs[0] = sequence_of(x.dtype, std::nullopt);
  if (c.has(1)) {
    STOKER_TRY(check_input(c, "split_to_sequence", 1, "split", kIndices));
    if (c.type(1).ranked && c.type(1).rank() > 1) {
      return invalid_model("split_to_sequence: split is {}, expected rank 0 or 1",
                           type_text(c.type(1)));
    }
  }
  if (!x.ranked) return Status::ok();
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("split_to_sequence", c.attributes.get_int("axis"), x.rank()));
  Dims dims = x.dims;
  const auto at = dims.begin() + axis;
  const auto sizes = c.constant_ints(1);
  if (!c.has(1)) {
    *at = Dim(1);
    if (c.attributes.get_int("keepdims", 1) == 0) dims.erase(at);
  } else if (sizes && c.type(1).ranked && c.type(1).rank() == 1 && !sizes->empty() &&
             std::equal(sizes->begin() + 1, sizes->end(), sizes->begin())) {
    *at = Dim(sizes->front());
  } else if (sizes && c.type(1).ranked && c.type(1).rank() == 0 && (*sizes)[0] > 0 &&
             at->constant().value_or(1) % (*sizes)[0] == 0) {
    *at = Dim((*sizes)[0]);
  } else {
    return Status::ok();
  }
  c.outputs[0] = sequence_of(x.dtype, std::move(dims));
  return Status::ok();
}

// Sizes of the parts of an axis.
Result<std::vector<int64_t>> part_sizes(const ValueContext& c, int64_t extent) {
  if (!c.has(1)) return std::vector<int64_t>(static_cast<size_t>(extent), 1);
  STOKER_TRY(check_tensor(c, "split_to_sequence", 1, kIndices));
  const Tensor& split = c.tensor(1);
  std::vector<int64_t> sizes = to_ints(view_of(split));
  if (split.rank() == 0) {
    const int64_t size = sizes[0];
    if (size < 1)
      return invalid_argument("split_to_sequence: parts of {}, expected 1 or more", size);
    sizes.clear();
    for (int64_t start = 0; start < extent; start += sizes.back()) {
      sizes.push_back(std::min(size, extent - start));
    }
    return sizes;
  }
  int64_t rest = extent;
  for (const int64_t size : sizes) {
    if (size < 0 || size > rest) {
      return invalid_argument("split_to_sequence: parts {} of an extent of {}", shape_text(sizes),
                              extent);
    }
    rest -= size;
  }
  if (rest == 0) return sizes;
  return invalid_argument("split_to_sequence: parts {} leave {} of {}", shape_text(sizes), rest,
                          extent);
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "split_to_sequence", 0, kAny));
  const Tensor& x = c.tensor(0);
  STOKER_ASSIGN(const int64_t axis,
                normalize_axis("split_to_sequence", c.attributes.get_int("axis"), x.rank()));
  const size_t d = static_cast<size_t>(axis);
  STOKER_ASSIGN(const std::vector<int64_t> sizes, part_sizes(c, x.shape()[d]));
  const bool drop = !c.has(1) && c.attributes.get_int("keepdims", 1) == 0;
  const TensorView from = view_of(x);
  std::vector<AnyValue> parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Shape shape = x.shape();
    shape[d] = size;
    STOKER_ASSIGN(Tensor part, Tensor::allocate(x.dtype(), shape));
    STOKER_TRY(copy_block(shape, view_of(part), {0, dense_strides(shape)}, from,
                          {start * from.strides[d], from.strides}));
    start += size;
    if (drop) {
      shape.erase(shape.begin() + axis);
      STOKER_ASSIGN(part, part.reshaped(std::move(shape)));
    }
    parts.emplace_back(std::move(part));
  }
  c.outputs[0] = AnyValue::sequence(std::move(parts));
  return Status::ok();
}

}  // namespace

extern const Op op_split_to_sequence;
const Op op_split_to_sequence = {
    .name = "split_to_sequence",
    .max_inputs = 2,
    .attributes = {{"axis", AttributeKind::kInt}, {"keepdims", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
