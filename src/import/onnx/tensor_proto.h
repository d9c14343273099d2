// ONNX TensorProto -> Tensor: initializers, attributes and the .pb files of test data. Sizes are
// checked against the declared shape before anything is allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/onnx_dtype.h"
#include "stoker/value.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace stoker {

struct TensorSource {
  std::string folder;             // external data may come from here; empty: it is refused
  int64_t max_bytes = INT64_MAX;  // of one tensor
};

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const TensorSource& source);
// The dense form; elements that are not listed are zero.
Result<Tensor> tensor_from_sparse(const onnx::SparseTensorProto& proto, const TensorSource& source);

// What a .pb file of test data is said to hold; the file itself does not tell.
enum class ProtoKind : uint8_t { kTensor, kSequence, kOptional };

// A file that holds one serialized TensorProto, SequenceProto or OptionalProto. `name`, when given,
// takes the value's own name.
Result<AnyValue> read_value_proto_file(const std::string& path, ProtoKind kind,
                                       std::string* name = nullptr);

}  // namespace stoker
