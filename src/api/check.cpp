// SPDX-License-Identifier: Apache-2.0
#include "api/check.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/data.h"
#include "base/numeric.h"
#include "base/status.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<const char*, Metric> kMetrics[] = {
    {"allclose", Metric::kAllClose}, {"max_abs", Metric::kMaxAbs}, {"cosine", Metric::kCosine},
    {"top1", Metric::kTop1},         {"range", Metric::kRange},    {"moments", Metric::kMoments}};

// What rounding in the dtype itself explains.
std::pair<double, double> default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64: return {1e-7, 1e-5};
    case DType::kF32: return {1e-5, 1e-3};
    case DType::kF16: return {1e-3, 1e-2};
    case DType::kBF16: return {1e-2, 3e-2};
    default: return is_float(dtype) ? std::pair(0.1, 0.2) : std::pair(0.0, 0.0);
  }
}

// Counts of rows whose largest elements stand at different places.
double top1_mismatch(const std::vector<double>& a, const std::vector<double>& b, int64_t width) {
  if (a.empty() || width <= 0) return 0;
  size_t rows = 0, wrong = 0;
  for (size_t at = 0; at + static_cast<size_t>(width) <= a.size();
       at += static_cast<size_t>(width)) {
    const auto first = static_cast<std::ptrdiff_t>(at);
    const auto top = [&](const std::vector<double>& v) {
      return std::max_element(v.begin() + first, v.begin() + first + width) - v.begin();
    };
    ++rows;
    wrong += top(a) != top(b);
  }
  return static_cast<double>(wrong) / static_cast<double>(rows);
}

struct Differences {
  double dot = 0, norm_a = 0, norm_b = 0, low = INFINITY, high = -INFINITY;
  int64_t outside = 0;  // of the allclose bound
  int64_t first_outside = -1;
  bool incomparable = false;  // NaN or infinity on one side only
};

Differences measure(const std::vector<double>& a, const std::vector<double>& b, double atol,
                    double rtol, OutputComparison& result) {
  Differences d;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both = std::isfinite(a[i]) && std::isfinite(b[i]);
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const double error = same ? 0 : std::fabs(a[i] - b[i]);
    if (both) {
      result.max_abs = std::max(result.max_abs, error);
      if (b[i] != 0) result.max_rel = std::max(result.max_rel, error / std::fabs(b[i]));
      d.dot += a[i] * b[i];
      d.norm_a += a[i] * a[i];
      d.norm_b += b[i] * b[i];
      d.low = std::min(d.low, b[i]);
      d.high = std::max(d.high, b[i]);
    } else if (!same) {
      d.incomparable = true;
    }
    if (!same && (!both || error > atol + rtol * std::fabs(b[i]))) {
      if (d.first_outside < 0) d.first_outside = static_cast<int64_t>(i);
      ++d.outside;
    }
  }
  return d;
}

double cosine_distance(const Differences& d) {
  if (d.norm_a == 0 && d.norm_b == 0) return 0;
  if (d.norm_a == 0 || d.norm_b == 0) return 1;
  return std::max(0.0, 1 - d.dot / std::sqrt(d.norm_a) / std::sqrt(d.norm_b));
}

// Distance of the means in standard errors, and of the variances likewise (normal theory: a sample
// variance has a standard error of sqrt(2/n) of itself), whichever is larger.
double moment_distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty()) return 0;
  const auto n = static_cast<double>(a.size());
  const auto moments = [n](const std::vector<double>& v) {
    double mean = 0, square = 0;
    for (const double x : v) mean += x / n;
    for (const double x : v) square += (x - mean) * (x - mean) / n;
    return std::pair(mean, square);
  };
  const auto [mean_a, var_a] = moments(a);
  const auto [mean_b, var_b] = moments(b);
  if (var_a + var_b == 0) return mean_a == mean_b ? 0 : INFINITY;
  const double means = std::fabs(mean_a - mean_b) / std::sqrt((var_a + var_b) / n);
  const double variances = std::fabs(var_a - var_b) / ((var_a + var_b) / 2 * std::sqrt(4 / n));
  return std::max(means, variances);
}
constexpr double kMomentLimit = 4;  // standard errors

void judge(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
           OutputComparison& result) {
  const auto [default_atol, default_rtol] = default_tolerance(expected.dtype());
  const double atol = tolerance.atol.value_or(default_atol);
  const double rtol = tolerance.rtol.value_or(default_rtol);
  const std::vector<double> a = tensor_doubles(actual), b = tensor_doubles(expected);
  const Differences d = measure(a, b, atol, rtol, result);
  switch (tolerance.metric) {
    case Metric::kAllClose:
      result.figure =
          a.empty() ? 0 : static_cast<double>(d.outside) / static_cast<double>(a.size());
      break;
    case Metric::kMaxAbs:
      result.figure = result.max_abs;
      result.limit = atol;
      break;
    case Metric::kCosine:
      result.figure = cosine_distance(d);
      result.limit = rtol;
      break;
    case Metric::kTop1:
      result.figure = top1_mismatch(a, b, expected.rank() ? expected.shape().back() : 1);
      break;
    case Metric::kRange:
      // A constant output has no range: any error counts in full.
      result.figure = d.high > d.low ? result.max_abs / (d.high - d.low) : result.max_abs;
      result.limit = rtol;
      break;
    case Metric::kMoments:
      result.figure = moment_distance(a, b);
      result.limit = kMomentLimit;
      break;
  }
  const bool tops = tolerance.metric == Metric::kTop1;
  result.passed = result.figure <= result.limit && (tops || !d.incomparable);
  if (result.passed) return;
  if (d.incomparable && !tops) {
    result.reason = "NaN or infinity where the expected value is another";
  } else {
    result.reason = fmt::format("{} {:.3g} is over {:.3g}", metric_name(tolerance.metric),
                                result.figure, result.limit);
  }
  if (tolerance.metric == Metric::kAllClose && d.first_outside >= 0) {
    const auto i = static_cast<size_t>(d.first_outside);
    result.reason = fmt::format(
        "{} of {} elements outside atol {:.3g}, rtol {:.3g}; first at {}: {:.7g}, expected {:.7g}",
        d.outside, a.size(), atol, rtol, i, a[i], b[i]);
  }
}

// The 64-bit integers that double does not hold, and what is not a number at all.
bool exactly_equal(const Tensor& actual, const Tensor& expected) {
  if (expected.dtype() == DType::kString) return actual.strings() == expected.strings();
  const auto* a = static_cast<const std::byte*>(actual.data());
  const auto* b = static_cast<const std::byte*>(expected.data());
  return std::equal(a, a + actual.bytes(), b);
}

const char* kind_text(const AnyValue& value) {
  constexpr const char* kNames[] = {"nothing", "a tensor", "a sequence", "a map"};
  return kNames[static_cast<size_t>(value.kind())];
}

}  // namespace

std::optional<Metric> metric_from_name(const std::string& name) {
  for (const auto& [known, metric] : kMetrics) {
    if (name == known) return metric;
  }
  return std::nullopt;
}

const char* metric_name(Metric metric) { return kMetrics[static_cast<size_t>(metric)].first; }

std::string metric_names() {
  std::string names;
  for (const auto& entry : kMetrics)
    names += (names.empty() ? "" : ", ") + std::string(entry.first);
  return names;
}

OutputComparison compare_tensors(const std::string& name, const Tensor& actual,
                                 const Tensor& expected, const Tolerance& tolerance) {
  OutputComparison result;
  result.output = name;
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    result.reason =
        fmt::format("{} {}, expected {} {}", dtype_name(actual.dtype()), shape_text(actual.shape()),
                    dtype_name(expected.dtype()), shape_text(expected.shape()));
    return result;
  }
  if (!load_double(expected.dtype())) {
    result.passed = exactly_equal(actual, expected);
    if (!result.passed) result.reason = "elements are not equal";
    return result;
  }
  judge(actual, expected, tolerance, result);
  const bool exact = !is_float(expected.dtype()) && tolerance.metric == Metric::kAllClose &&
                     !tolerance.atol && !tolerance.rtol;
  if (exact && result.passed && !exactly_equal(actual, expected)) {
    result.passed = false;
    result.reason = "integers differ beyond what a double can show";
  }
  return result;
}

OutputComparison compare_values(const std::string& name, const AnyValue& actual,
                                const AnyValue& expected, const Tolerance& tolerance) {
  if (actual.is_tensor() && expected.is_tensor())
    return compare_tensors(name, actual.tensor(), expected.tensor(), tolerance);
  OutputComparison result;
  result.output = name;
  if (actual.kind() != expected.kind()) {
    result.reason = fmt::format("{}, expected {}", kind_text(actual), kind_text(expected));
    return result;
  }
  result.passed = true;
  if (!actual.has_value()) return result;
  if (actual.elements().size() != expected.elements().size()) {
    result.passed = false;
    result.reason = fmt::format("{} elements, expected {}", actual.elements().size(),
                                expected.elements().size());
    return result;
  }
  for (size_t i = 0; i < actual.elements().size(); ++i) {
    OutputComparison part = compare_values(fmt::format("{}[{}]", name, i), actual.elements()[i],
                                           expected.elements()[i], tolerance);
    part.max_abs = std::max(part.max_abs, result.max_abs);
    part.max_rel = std::max(part.max_rel, result.max_rel);
    if (!part.passed) {
      part.reason = fmt::format("element {}: {}", i, part.reason);
      return part;
    }
    part.output = name;
    result = std::move(part);
  }
  return result;
}

bool DataSetCheck::passed() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputComparison& output) { return output.passed; });
}

Result<std::vector<DataSetCheck>> check_folder(const Engine& engine, const std::string& folder,
                                               const Tolerance& tolerance,
                                               const std::set<std::string>& random) {
  STOKER_ASSIGN(const std::vector<std::string> folders, data_set_folders(folder));
  std::vector<DataSetCheck> checks;
  Session session(engine);
  for (const std::string& path : folders) {
    STOKER_ASSIGN(const DataSet set, load_data_set(path, engine.inputs(), engine.outputs()));
    auto outputs = session.run_values(set.inputs);
    if (!outputs.is_ok()) return outputs.status().at("'" + path + "'");
    DataSetCheck check;
    check.folder = path;
    for (const TensorInfo& info : engine.outputs()) {
      const auto expected = set.outputs.find(info.name);
      if (expected == set.outputs.end()) continue;
      const AnyValue& actual = outputs->at(info.name);
      check.outputs.push_back(compare_values(info.name, actual, expected->second, tolerance));
      const bool drawn = tolerance.metric == Metric::kAllClose && random.count(info.name);
      if (drawn && !check.outputs.back().passed)
        check.outputs.back() =
            compare_values(info.name, actual, expected->second, {Metric::kMoments, {}, {}});
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace stoker
