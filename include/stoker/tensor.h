// Host tensors: dtype, shape and dense row-major storage that copies share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stoker/dtype.h"
#include "stoker/status.h"

namespace stoker {

using Shape = std::vector<int64_t>;

// Product of the extents; an error when one is negative or the product overflows.
Result<int64_t> element_count(const Shape& shape);
// Bytes of `count` packed elements; an error on overflow. Strings count as 0.
Result<int64_t> byte_size(DType dtype, int64_t count);
std::string shape_text(const Shape& shape);  // "[1,3,224,224]"

// Copies share the storage (reference counted). Storage is 64-byte aligned. Reading from several
// threads is safe; writing is not.
class Tensor {
 public:
  Tensor() = default;

  // Zero-filled storage; resource_exhausted when the memory is not to be had.
  static Result<Tensor> allocate(DType dtype, Shape shape);
  static Result<Tensor> from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes);
  static Result<Tensor> from_strings(Shape shape, std::vector<std::string> strings);
  // A tensor over memory that somebody else owns; `keep` holds the owner alive (may be null).
  static Result<Tensor> wrap(DType dtype, Shape shape, void* data, std::shared_ptr<void> keep);

  template <class T>
  static Tensor from(Shape shape, const std::vector<T>& values) {
    auto t = from_bytes(DTypeOf<T>::value, std::move(shape), std::as_bytes(std::span(values)));
    assert(t.is_ok());
    return *t;
  }
  static Tensor scalar_i64(int64_t value) { return from<int64_t>({}, {value}); }
  static Tensor scalar_f32(float value) { return from<float>({}, {value}); }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t count() const { return count_; }
  int64_t bytes() const { return bytes_; }
  bool defined() const { return dtype_ != DType::kInvalid; }

  void* data() { return data_; }
  const void* data() const { return data_; }
  std::vector<std::string>& strings() { return *strings_; }
  const std::vector<std::string>& strings() const { return *strings_; }

  // The elements as T; T must be the tensor's dtype.
  template <class T>
  std::span<T> values() {
    assert(DTypeOf<T>::value == dtype_);
    return {static_cast<T*>(data_), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<const T> values() const {
    assert(DTypeOf<T>::value == dtype_);
    return {static_cast<const T*>(data_), static_cast<size_t>(count_)};
  }

  // The same storage under another shape of equal element count.
  Result<Tensor> reshaped(Shape shape) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  int64_t count_ = 0;
  int64_t bytes_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> storage_;
  std::shared_ptr<std::vector<std::string>> strings_;
};

using TensorMap = std::map<std::string, Tensor>;

}  // namespace stoker
