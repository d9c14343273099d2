// AnyValue: what may stand at an input or output of a network: a tensor, a sequence, a map, or
// nothing (an empty optional; an optional that holds something is that something).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stoker/tensor.h"

namespace stoker {

// Copies share their tensors and elements. Reading from several threads is safe.
class AnyValue {
 public:
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kMap };

  AnyValue() = default;  // kNone
  AnyValue(Tensor tensor) : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}
  static AnyValue sequence(std::vector<AnyValue> elements) {
    return AnyValue(Kind::kSequence, std::move(elements));
  }
  // Two tensors of rank 1 and equal extent: integer or string keys, and their values.
  static AnyValue map(Tensor keys, Tensor values) {
    return AnyValue(Kind::kMap, {AnyValue(std::move(keys)), AnyValue(std::move(values))});
  }

  Kind kind() const { return kind_; }
  bool has_value() const { return kind_ != Kind::kNone; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  const Tensor& tensor() const {
    assert(is_tensor());
    return tensor_;
  }
  // Of a sequence; of a map: its keys and its values.
  const std::vector<AnyValue>& elements() const {
    assert(elements_);
    return *elements_;
  }

 private:
  AnyValue(Kind kind, std::vector<AnyValue> elements)
      : kind_(kind), elements_(std::make_shared<std::vector<AnyValue>>(std::move(elements))) {}

  Kind kind_ = Kind::kNone;
  Tensor tensor_;
  std::shared_ptr<const std::vector<AnyValue>> elements_;
};

using ValueMap = std::map<std::string, AnyValue>;

}  // namespace stoker
