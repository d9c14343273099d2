// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensor_parts.h"

#include "base/status.h"
#include "ops/op.h"

namespace stoker {
namespace {

Result<Tensor> evaluate_one(const char* name, const Attributes& attributes,
                            const std::vector<Tensor>& inputs) {
  STOKER_ASSIGN(auto outputs, evaluate_op(*find_op(name), attributes, inputs, 1));
  return std::move(outputs[0]);
}

}  // namespace

Result<Tensor> take(const Tensor& tensor, int64_t axis, int64_t index) {
  if (axis != 0 || dtype_bits(tensor.dtype()) < 8) {
    return evaluate_one("gather", {{"axis", axis}}, {tensor, Tensor::scalar_i64(index)});
  }
  const Shape shape(tensor.shape().begin() + 1, tensor.shape().end());
  STOKER_ASSIGN(const int64_t count, element_count(shape));
  STOKER_ASSIGN(const int64_t bytes, byte_size(tensor.dtype(), count));
  auto* data = static_cast<std::byte*>(const_cast<void*>(tensor.data())) + index * bytes;
  return Tensor::wrap(tensor.dtype(), shape, data, std::make_shared<Tensor>(tensor));
}

Result<Tensor> stack(const std::vector<Tensor>& parts, int64_t axis) {
  const Shape& part = parts.front().shape();
  const auto rank = static_cast<int64_t>(part.size()) + 1;
  if (axis < -rank || axis >= rank)
    return invalid_argument("axis {} of an output of rank {}", axis, rank);
  if (axis < 0) axis += rank;
  Shape shape = part;
  shape.insert(shape.begin() + axis, 1);
  std::vector<Tensor> slices;
  for (const Tensor& tensor : parts) {
    if (tensor.dtype() != parts.front().dtype() || tensor.shape() != part) {
      return invalid_argument("iterations give {}{} and {}{}, which cannot stand in one tensor",
                              dtype_name(parts.front().dtype()), shape_text(part),
                              dtype_name(tensor.dtype()), shape_text(tensor.shape()));
    }
    STOKER_ASSIGN(Tensor slice, tensor.reshaped(shape));
    slices.push_back(std::move(slice));
  }
  return evaluate_one("concat", {{"axis", axis}}, slices);
}

}  // namespace stoker
