// Tensors in words: --input arguments, and outputs as statistics or top-k.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace stoker::cli {

// "x=FILE.npy", "x=FILE.pb", "x=random:SEED"; without "x=" when the model has one input. `shapes`:
// of the random ones. Inputs that are missing are an error, unless nothing at all was given: then
// all of them are random:0, and `filled` says so.
Result<ValueMap> parse_inputs(const std::vector<std::string>& arguments,
                              const std::vector<TensorInfo>& infos,
                              const std::vector<Shape>& shapes, bool* filled);

// Statistics, or the `top` largest elements of each row where the last dim has that many floats.
// The tensors of a value: "y", or "y[0]", "y[1]" for the elements of a sequence (of a map: keys and
// values).
void collect_tensors(const std::string& name, const AnyValue& value,
                     std::vector<std::pair<std::string, Tensor>>& tensors);

std::string tensor_summary(const std::string& name, const Tensor& tensor, int64_t top);
Json tensor_summary_json(const std::string& name, const Tensor& tensor, int64_t top);

}  // namespace stoker::cli
