// Calls of a custom operator's callbacks: builds what they see, and checks all that they answer
// before anything uses it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/custom_library.h"
#include "ops/op.h"

namespace stoker {

Status call_infer(const CustomOp& op, InferContext& context);
// Infers at the actual inputs, then evaluates into outputs of those types.
Status call_evaluate(const CustomOp& op, ValueContext& context);

// A tensor as a callback sees it, with what its pointers point to.
struct SeenTensor {
  bool present = false;
  StokerOpTensor seen = {};
  std::vector<int64_t> dims;
  Tensor value;  // when it is known

  // `dims` and `value` are set: fills what the callback sees.
  void show(DType dtype, bool ranked);
};

struct DeclaredOutput {
  DType dtype = DType::kInvalid;  // not yet declared
  bool ranked = true;
  std::vector<int64_t> dims;  // as the callback gave them
  Tensor made;
};

// The functions that a library calls back (custom_host.cpp).
extern const StokerOpHost kCustomHost;

}  // namespace stoker

// One call of a callback: what it may see, and what it has answered.
struct StokerOpCall {
  const stoker::Attributes& attributes;
  std::vector<stoker::SeenTensor> inputs;
  std::vector<stoker::DeclaredOutput> outputs;
  stoker::Dims open;  // size -(k + 1) stands for open[k]
  bool evaluating = false;
  stoker::Status failure;  // the first
  std::map<std::string, stoker::SeenTensor> attribute_tensors;
};
