// ONNX TensorProto -> Tensor: initializers, attributes and the .pb files of test data. Sizes are
// checked against the declared shape before anything is allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "stoker/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace stoker {

struct TensorSource {
  std::string folder;             // external data may come from here; empty: it is refused
  int64_t max_bytes = INT64_MAX;  // of one tensor
};

// kInvalid for a number that ONNX does not define.
DType dtype_from_onnx(int64_t data_type);

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const TensorSource& source);
// The dense form; elements that are not listed are zero.
Result<Tensor> tensor_from_sparse(const onnx::SparseTensorProto& proto, const TensorSource& source);

// A file that holds one serialized TensorProto. `name`, when given, takes the tensor's own name.
Result<Tensor> read_tensor_proto_file(const std::string& path, std::string* name = nullptr);

}  // namespace stoker
