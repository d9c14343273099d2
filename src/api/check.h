// Checking an engine against stored answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stoker/builder.h"

namespace stoker {

enum class Metric {
  kAllClose,  // |a - b| <= atol + rtol |b| for every element
  kMaxAbs,    // the largest |a - b| <= atol
  kCosine,    // 1 - cosine similarity <= rtol
  kTop1,      // the index of the largest element of every row (last dim) is the same
  kRange,     // the largest |a - b| / (largest b - smallest b) <= rtol
  kMoments,   // mean and variance agree as those of two samples of one distribution do
};
std::optional<Metric> metric_from_name(const std::string& name);
const char* metric_name(Metric metric);
std::string metric_names();  // for messages

// Integers, bool and strings must be equal unless a tolerance is given. Without one, floats get
// what their dtype allows.
struct Tolerance {
  Metric metric = Metric::kAllClose;
  std::optional<double> atol, rtol;
};

struct OutputComparison {
  std::string output;
  double max_abs = 0;  // over elements that are finite on both sides
  double max_rel = 0;  // |a - b| / |b|, where b is not 0
  double figure = 0;   // of the metric; kAllClose, kTop1: share of elements (rows) that disagree
  double limit = 0;    // what `figure` may be
  bool passed = false;
  std::string reason;  // of a failure
};
OutputComparison compare_tensors(const std::string& name, const Tensor& actual,
                                 const Tensor& expected, const Tolerance& tolerance);

// Element by element, for sequences and maps; the figures are the worst of all.
OutputComparison compare_values(const std::string& name, const AnyValue& actual,
                                const AnyValue& expected, const Tolerance& tolerance);

struct DataSetCheck {
  std::string folder;
  std::vector<OutputComparison> outputs;
  bool passed() const;
};
// Runs every data set of the folder. An error when a set cannot be read or run. Outputs in `random`
// come from random numbers: under kAllClose those that differ are judged by their moments.
Result<std::vector<DataSetCheck>> check_folder(const Engine& engine, const std::string& folder,
                                               const Tolerance& tolerance,
                                               const std::set<std::string>& random = {});

}  // namespace stoker
