// The zoo's graphs without the bytes of their weights, so that tests can look at the largest ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "import/onnx/import.h"

namespace stoker {

using Sizes = std::map<std::string, int64_t>;  // of named dims, as the model spells them

// The model imported with its weights as inputs instead of constants. Dims that `sizes` names are
// fixed.
Result<ImportedModel> import_structure(const std::string& name, const Sizes& sizes = {});

// Multiply-adds of all convolutions, matrix products and LSTM layers, those of attention included;
// nothing for pointwise work, reductions and look-ups. Fails when a size is not known.
Result<int64_t> multiply_adds(const Graph& graph);

}  // namespace stoker
