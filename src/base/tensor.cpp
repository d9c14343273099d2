// SPDX-License-Identifier: Apache-2.0
#include "stoker/tensor.h"

#include <cstring>
#include <new>

#include "base/memory.h"
#include "base/status.h"

namespace stoker {

Result<int64_t> element_count(const Shape& shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) return invalid_argument("shape {} has a negative extent", shape_text(shape));
    if (extent == 0) empty = true;
  }
  if (empty) return int64_t{0};
  for (int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      return invalid_argument("shape {} has more than 2^63 elements", shape_text(shape));
    }
  }
  return count;
}

Result<int64_t> byte_size(DType dtype, int64_t count) {
  int64_t bits = 0;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(dtype_bits(dtype)), &bits) ||
      bits > INT64_MAX - 7) {
    return invalid_argument("{} elements of {} exceed the address space", count, dtype_name(dtype));
  }
  return (bits + 7) / 8;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

Result<Tensor> Tensor::wrap(DType dtype, Shape shape, void* data, std::shared_ptr<void> keep) {
  Tensor tensor;
  STOKER_ASSIGN(tensor.count_, element_count(shape));
  STOKER_ASSIGN(tensor.bytes_, byte_size(dtype, tensor.count_));
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  tensor.storage_ = std::move(keep);
  return tensor;
}

Result<Tensor> Tensor::allocate(DType dtype, Shape shape) {
  if (dtype == DType::kInvalid) return invalid_argument("a tensor needs an element type");
  if (dtype == DType::kString) {
    STOKER_ASSIGN(const int64_t count, element_count(shape));
    if (count > (int64_t{1} << 40)) {
      return error(StatusCode::kResourceExhausted, "{} strings do not fit into memory", count);
    }
    return from_strings(std::move(shape), std::vector<std::string>(static_cast<size_t>(count)));
  }
  STOKER_ASSIGN(Tensor tensor, wrap(dtype, std::move(shape), nullptr, nullptr));
  std::shared_ptr<void> storage = allocate_aligned(tensor.bytes_);
  if (!storage) {
    return error(StatusCode::kResourceExhausted, "no memory for a tensor of {} bytes, {}{}",
                 tensor.bytes_, dtype_name(dtype), shape_text(tensor.shape_));
  }
  tensor.data_ = storage.get();
  tensor.storage_ = std::move(storage);
  return tensor;
}

Result<Tensor> Tensor::from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes) {
  STOKER_ASSIGN(Tensor header, wrap(dtype, shape, nullptr, nullptr));
  if (dtype == DType::kString || static_cast<int64_t>(bytes.size()) != header.bytes_) {
    return invalid_argument("a tensor {}{} holds {} bytes, found {}", dtype_name(dtype),
                            shape_text(shape), header.bytes_, bytes.size());
  }
  STOKER_ASSIGN(Tensor tensor, allocate(dtype, std::move(shape)));
  if (!bytes.empty()) std::memcpy(tensor.data_, bytes.data(), bytes.size());
  return tensor;
}

Result<Tensor> Tensor::from_strings(Shape shape, std::vector<std::string> strings) {
  STOKER_ASSIGN(Tensor tensor, wrap(DType::kString, std::move(shape), nullptr, nullptr));
  if (static_cast<int64_t>(strings.size()) != tensor.count_) {
    return invalid_argument("a string tensor {} holds {} strings, found {}",
                            shape_text(tensor.shape_), tensor.count_, strings.size());
  }
  tensor.strings_ = std::make_shared<std::vector<std::string>>(std::move(strings));
  return tensor;
}

Result<Tensor> Tensor::reshaped(Shape shape) const {
  STOKER_ASSIGN(const int64_t count, element_count(shape));
  if (count != count_) {
    return invalid_argument("cannot view {} as {}: {} elements against {}", shape_text(shape_),
                            shape_text(shape), count_, count);
  }
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

}  // namespace stoker
