// Tensors in words: --input arguments, and outputs as statistics or top-k.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace stoker::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // "x=FILE", "x=random:SEED"; without "x=" for a single input
  std::string preprocess = "auto";
};
void add_input_options(CLI::App& app, InputOptions& options);

// The values of --input. `shapes`: of the random ones, and of pictures and sound where `shaped`
// names the input; otherwise a file decides the sizes that are open. Inputs that are missing are an
// error, unless nothing at all was given: then all of them are random:0, and a note says so.
Result<ValueMap> parse_inputs(const InputOptions& options, const std::vector<TensorInfo>& infos,
                              const std::vector<Shape>& shapes, const std::set<std::string>& shaped,
                              Console& console);

// Statistics, or the `top` largest elements of each row where the last dim has that many floats.
// The tensors of a value: "y", or "y[0]", "y[1]" for the elements of a sequence (of a map: keys and
// values).
void collect_tensors(const std::string& name, const AnyValue& value,
                     std::vector<std::pair<std::string, Tensor>>& tensors);

std::string tensor_summary(const std::string& name, const Tensor& tensor, int64_t top);
Json tensor_summary_json(const std::string& name, const Tensor& tensor, int64_t top);

}  // namespace stoker::cli
