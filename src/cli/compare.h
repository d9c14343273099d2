// stoker check --compare: two networks on the same inputs, value by value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/check.h"
#include "cli/model_options.h"
#include "cli/tensors.h"

namespace stoker::cli {

struct CompareOptions {
  std::vector<std::string> files;  // A and B; empty: nothing to compare
  std::vector<std::string> knobs_a, knobs_b;
  std::string html;
  InputOptions inputs;

  // Options that only a comparison reads.
  bool any_given() const {
    return !knobs_a.empty() || !knobs_b.empty() || !html.empty() || !inputs.inputs.empty();
  }
};
void add_compare_options(CLI::App& app, CompareOptions& options);

// `both`: the options that hold for A and for B. `data`: a folder of stored inputs, or empty.
Result<int> compare_files(const CompareOptions& options, const ModelOptions& both,
                          const std::string& data, const Tolerance& tolerance, Console& console);

}  // namespace stoker::cli
