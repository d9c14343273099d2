// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "api/data.h"
#include "api/diff_parts.h"
#include "api/explain_parts.h"
#include "base/numeric.h"
#include "base/status.h"
#include "kernels/tactic.h"
#include "lower/lower_graph.h"
#include "plan/bind.h"

namespace stoker {
namespace {

constexpr size_t kShownNames = 6;

std::string type_text(DType dtype, const Shape& shape) {
  return std::string(dtype_name(dtype)) + shape_text(shape);
}

// The first few names and how many more there are.
std::string some_of(const std::set<std::string>& names) {
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() <= kShownNames) return joined(shown, ", ");
  shown.resize(kShownNames);
  return fmt::format("{} and {} more", joined(shown, ", "), names.size() - kShownNames);
}

// The weight as the model's tensor, unpacked as the first step that reads it says; undefined when
// the engine waits for it.
Result<Tensor> canonical(const EngineContents& contents, size_t weight) {
  const PlanWeight& w = contents.weights[weight];
  if (!w.bytes.defined() || w.packing == Packing::kNone) return w.bytes;
  const SymbolValues symbols = optimum_of(contents);
  for (const PlanProgram& program : contents.programs) {
    for (const PlanStep& step : program.steps) {
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] < 0) continue;
        const PlanTensor& tensor = program.tensors[static_cast<size_t>(step.inputs[i])];
        if (tensor.kind != PlanTensor::Kind::kWeight ||
            static_cast<size_t>(tensor.weight) != weight)
          continue;
        STOKER_ASSIGN(Desc desc, bind_desc(contents, program, step, symbols));
        desc.inputs[i].packing = w.packing;
        return unpack_weight(desc, static_cast<int>(i), w.packing, w.bytes);
      }
    }
  }
  return corrupt_file("no step reads weight '{}'", w.name);
}

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  const auto* x = static_cast<const std::byte*>(a.data());
  return a.bytes() == b.bytes() &&
         std::equal(x, x + a.bytes(), static_cast<const std::byte*>(b.data()));
}

// "3 of 150 elements differ, most at 17: ..."; empty: none does.
std::string content_difference(const Tensor& a, const Tensor& b) {
  if (same_content(a, b)) return "";
  if (!load_double(a.dtype())) return "elements differ";
  const std::vector<double> x = tensor_doubles(a), y = tensor_doubles(b);
  size_t count = 0, worst = 0;
  double largest = -1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    ++count;
    const double distance = std::fabs(x[i] - y[i]);
    if (distance > largest) {
      largest = distance;
      worst = i;
    }
  }
  if (count == 0) return "bits of equal numbers differ (signs of zero, or NaN)";
  return fmt::format("{} of {} elements differ, most at {}: {:.7g} in A, {:.7g} in B", count,
                     x.size(), worst, x[worst], y[worst]);
}

using ByName = std::map<std::string, size_t>;

ByName weights_by_name(const EngineContents& contents) {
  ByName names;
  for (size_t i = 0; i < contents.weights.size(); ++i) names.emplace(contents.weights[i].name, i);
  return names;
}

class WeightDiff {
 public:
  WeightDiff(const EngineContents& a, const EngineContents& b, std::vector<Difference>& result)
      : a_(a), b_(b), result_(result) {}

  Status run() {
    const ByName of_a = weights_by_name(a_), of_b = weights_by_name(b_);
    std::set<std::string> only_a, only_b;
    for (const auto& [name, index] : of_a) {
      const auto it = of_b.find(name);
      if (it == of_b.end()) {
        only_a.insert(name);
      } else {
        STOKER_TRY(compare(index, it->second));
      }
    }
    for (const auto& [name, index] : of_b) {
      if (!of_a.count(name)) only_b.insert(name);
    }
    if (!only_a.empty() || !only_b.empty()) {
      result_.push_back({"weight", "weights of one engine only", some_of(only_a), some_of(only_b),
                         DiffEffect::kBoth,
                         "the steps need other ones: constants folded into them are rounded once "
                         "where steps of their own would round each result"});
    }
    compare_constants();
    return Status::ok();
  }

 private:
  Status compare(size_t i, size_t j) {
    const PlanWeight &a = a_.weights[i], &b = b_.weights[j];
    const std::string sources = a.recipe.sources.size() == 1 && a.recipe.sources[0] == a.name
                                    ? ""
                                    : joined(a.recipe.sources, ", ");
    const std::string subject = a.name + (sources.empty() ? "" : " (of " + sources + ")");
    if (a.dtype != b.dtype || a.shape != b.shape) {
      result_.push_back({"weight", subject, type_text(a.dtype, a.shape),
                         type_text(b.dtype, b.shape), DiffEffect::kBoth,
                         "it is another tensor: other numbers, and other bytes to read"});
      return Status::ok();
    }
    if (a.packing != b.packing) {
      result_.push_back({"weight", "packing of " + subject, packing_name(a.packing),
                         packing_name(b.packing), DiffEffect::kSpeed,
                         "a packing only moves elements to where a kernel reads them"});
    }
    if (a.bytes.defined() != b.bytes.defined()) {
      const auto text = [](const PlanWeight& w) {
        return w.bytes.defined() ? "present" : "missing until a refit";
      };
      result_.push_back({"weight", subject, text(a), text(b), DiffEffect::kNumbers,
                         "an engine does not run before it has all weights"});
    }
    if (!a.bytes.defined() || !b.bytes.defined()) return Status::ok();
    if (a.packing == b.packing && same_content(a.bytes, b.bytes)) return Status::ok();
    STOKER_ASSIGN(const Tensor left, canonical(a_, i));
    STOKER_ASSIGN(const Tensor right, canonical(b_, j));
    const std::string difference = content_difference(left, right);
    if (difference.empty()) return Status::ok();
    named_.insert(a.recipe.sources.begin(), a.recipe.sources.end());
    named_.insert(a.name);
    result_.push_back({"weight", subject, type_text(a.dtype, a.shape), "the same type",
                       DiffEffect::kNumbers, difference});
    return Status::ok();
  }

  // Refittable engines know the content of each constant of the model.
  void compare_constants() {
    std::map<std::string, const PlanSource*> of_b;
    for (const PlanSource& source : b_.sources) of_b[source.name] = &source;
    for (const PlanSource& a : a_.sources) {
      const auto it = of_b.find(a.name);
      if (it == of_b.end() || it->second->hash == a.hash || named_.count(a.name)) continue;
      result_.push_back({"constant", a.name, a.hash, it->second->hash, DiffEffect::kNumbers,
                         "the constant of the model has another value"});
    }
  }

  const EngineContents &a_, &b_;
  std::vector<Difference>& result_;
  std::set<std::string> named_;  // constants behind weights that were said to differ
};

}  // namespace

Status diff_weights(const EngineContents& a, const EngineContents& b,
                    std::vector<Difference>& differences) {
  return WeightDiff(a, b, differences).run();
}

}  // namespace stoker
