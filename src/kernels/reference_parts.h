// What the reference tactics and the oracle by elements share. Private to the reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

struct TensorView;  // ops/op.h, which only the .cpp files of the reference include

// An operand as plain doubles, minus its zero point.
Result<Tensor> operand_to_f64(const Desc& desc, size_t index, const void* data, int64_t zero);
// A view of an operand's buffer. The buffer of a string tensor is its std::vector<std::string>.
TensorView buffer_view(const TensorDesc& desc, const void* data);
Status evaluate_reference(const std::string& op, const Attributes& attributes,
                          std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          std::span<const int64_t> wanted);

// A recurrent layer as its op takes it: weights of 8 bits as floats, without their scales.
struct PlainRecurrent {
  Desc desc;
  std::vector<const void*> inputs;
  std::vector<Tensor> made;  // what `inputs` points to beside the caller's data
};
Result<PlainRecurrent> plain_recurrent(const Desc& desc, const void* const* inputs);

// Accumulator (gemm, conv) or result (pool) in f64, plain, of output 0's dims.
Result<Tensor> reference_accumulate(const Desc& desc, const void* const* inputs,
                                    std::span<const int64_t> wanted);

// The epilogue as a region over the accumulator; an empty one stores it.
struct ReferenceEpilogue {
  RegionProgram program;
  std::vector<TensorDesc> inputs;
  std::vector<const void*> data;
  Tensor accumulator;
};
Result<ReferenceEpilogue> reference_epilogue(const Desc& desc, const void* const* inputs,
                                             const Tensor& accumulator);

}  // namespace stoker
