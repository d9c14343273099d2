// The tensors of a sequence one after the other along `axis`, or with new_axis=1 stacked along a
// new one.
// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence.h"

namespace stoker {

namespace {

constexpr const char* kName = "concat_from_sequence";

bool stacks(const Attributes& attributes) { return attributes.get_int("new_axis") != 0; }

Status infer(InferContext& c) {
  STOKER_TRY(check_sequence(c, kName, 0));
  const ValueType& sequence = c.type(0);
  if (!sequence.ranked) return set_unranked(c, sequence.dtype);
  const bool stack = stacks(c.attributes);
  STOKER_ASSIGN(const int64_t axis, normalize_axis(kName, c.attributes.get_int("axis"),
                                                   sequence.rank() + (stack ? 1 : 0)));
  Dims dims = sequence.dims;
  if (stack)
    dims.insert(dims.begin() + axis, c.fresh());
  else
    dims[static_cast<size_t>(axis)] = c.fresh();
  set_output(c, 0, sequence.dtype, std::move(dims));
  return Status::ok();
}

// The tensors as they are to be joined: with the new axis when they are stacked.
Result<std::vector<Tensor>> joined_parts(const ValueContext& c, int64_t& axis) {
  STOKER_ASSIGN(const auto elements, sequence_elements(c, kName, 0));
  if (elements.empty()) return invalid_argument("{}: the sequence is empty", kName);
  const bool stack = stacks(c.attributes);
  std::vector<Tensor> parts;
  for (const AnyValue& element : elements) {
    if (!element.is_tensor()) return invalid_argument("{}: an element is no tensor", kName);
    Tensor part = element.tensor();
    if (parts.empty()) {
      STOKER_ASSIGN(
          axis, normalize_axis(kName, c.attributes.get_int("axis"), part.rank() + (stack ? 1 : 0)));
    } else if (part.dtype() != parts[0].dtype() ||
               part.rank() + (stack ? 1 : 0) != parts[0].rank()) {
      return invalid_argument("{}: the elements differ: {}{} among {} of rank {}", kName,
                              dtype_name(part.dtype()), shape_text(part.shape()),
                              dtype_name(parts[0].dtype()), parts[0].rank() - (stack ? 1 : 0));
    }
    if (stack) {
      Shape shape = part.shape();
      shape.insert(shape.begin() + axis, 1);
      STOKER_ASSIGN(part, part.reshaped(std::move(shape)));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Status evaluate(ValueContext& c) {
  int64_t axis = 0;
  STOKER_ASSIGN(const std::vector<Tensor> parts, joined_parts(c, axis));
  const size_t d = static_cast<size_t>(axis);
  Shape shape = parts[0].shape();
  for (size_t i = 1; i < parts.size(); ++i) {
    for (size_t k = 0; k < shape.size(); ++k) {
      const int64_t extent = parts[i].shape()[k];
      if (k == d) {
        shape[k] += extent;
      } else if (extent != shape[k]) {
        return invalid_argument("{}: element {} has shape {}, expected {} beside axis {}", kName, i,
                                shape_text(parts[i].shape()), shape_text(shape), axis);
      }
    }
  }
  STOKER_ASSIGN(Tensor y, Tensor::allocate(parts[0].dtype(), shape));
  const TensorView to = view_of(y);
  int64_t start = 0;
  for (const Tensor& part : parts) {
    const TensorView from = view_of(part);
    STOKER_TRY(
        copy_block(part.shape(), to, {start * to.strides[d], to.strides}, from, {0, from.strides}));
    start += part.shape()[d];
  }
  c.outputs[0] = std::move(y);
  return Status::ok();
}

}  // namespace

extern const Op op_concat_from_sequence;
const Op op_concat_from_sequence = {
    .name = "concat_from_sequence",
    .attributes = {{"axis", AttributeKind::kInt, true}, {"new_axis", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
