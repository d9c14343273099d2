// SPDX-License-Identifier: Apache-2.0
#include "api/compare.h"

#include <algorithm>
#include <cmath>

#include "api/compare_run.h"
#include "api/data.h"
#include "base/status.h"

namespace stoker {
namespace {

bool is_numeric(const Tensor& tensor) {
  return tensor.dtype() != DType::kString && tensor.dtype() != DType::kC64 &&
         tensor.dtype() != DType::kC128;
}

void add_errors(const Tensor& a, const Tensor& b, ValueErrors& errors) {
  if (!is_numeric(a)) return;
  const std::vector<double> x = tensor_doubles(a), y = tensor_doubles(b);
  double dot = 0, norm_x = 0, norm_y = 0, distance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      if (!std::isfinite(x[i])) continue;
    } else if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      distance = INFINITY;
      continue;
    }
    dot += x[i] * y[i];
    norm_x += x[i] * x[i];
    norm_y += y[i] * y[i];
    distance += (x[i] - y[i]) * (x[i] - y[i]);
  }
  const double l2 = distance == 0 ? 0 : norm_x > 0 ? std::sqrt(distance / norm_x) : INFINITY;
  errors.l2 = std::max(errors.l2, l2);
  // A sum of rounded products may show more than the distance itself allows.
  double cosine = 0;
  if (distance > 0) {
    cosine = norm_x > 0 && norm_y > 0
                 ? std::max(0.0, 1 - dot / std::sqrt(norm_x) / std::sqrt(norm_y))
                 : 1;
  }
  errors.cosine_distance = std::max(errors.cosine_distance, cosine);
}

void add_value_errors(const AnyValue& a, const AnyValue& b, ValueErrors& errors) {
  if (a.is_tensor() && b.is_tensor()) {
    if (a.tensor().shape() == b.tensor().shape() && a.tensor().dtype() == b.tensor().dtype())
      add_errors(a.tensor(), b.tensor(), errors);
  } else if (a.kind() == b.kind() && a.has_value()) {
    for (size_t i = 0; i < std::min(a.elements().size(), b.elements().size()); ++i)
      add_value_errors(a.elements()[i], b.elements()[i], errors);
  }
}

std::string type_text(const AnyValue& value) {
  if (!value.is_tensor()) return value.kind() == AnyValue::Kind::kMap ? "map" : "sequence";
  return std::string(dtype_name(value.tensor().dtype())) + " " + shape_text(value.tensor().shape());
}

std::vector<std::string> common(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<std::string> both;
  for (const std::string& name : a) {
    if (std::find(b.begin(), b.end(), name) != b.end()) both.push_back(name);
  }
  return both;
}

class Comparer {
 public:
  Comparer(const Engine& a, const Engine& b, const Tolerance& tolerance)
      : a_(a), b_(b), tolerance_(tolerance), table_a_(a.impl()), table_b_(b.impl()) {
    match();
  }

  Status add_run(const ValueMap& inputs) {
    auto expected = a_.run_values(inputs);
    if (!expected) return expected.status().at("A");
    auto found = b_.run_values(inputs);
    if (!found) return found.status().at("B");
    for (const TensorInfo& info : b_.outputs()) add_output(info.name, *found, *expected);
    std::vector<std::vector<AnyValue>> kept(names_.size());
    const auto keep = [&](size_t i, AnyValue value) { kept[i].push_back(std::move(value)); };
    STOKER_ASSIGN(const ValueMap again_a, run_reading(a_, inputs, places_a_, keep));
    std::vector<size_t> rounds(names_.size());
    const auto judge = [&](size_t i, const AnyValue& value) {
      const size_t round = rounds[i]++;
      if (round >= kept[i].size()) return;
      add_value(i, kept[i][round], value);
      kept[i][round] = AnyValue();
    };
    STOKER_ASSIGN(const ValueMap again_b, run_reading(b_, inputs, places_b_, judge));
    note_repeat("A", *expected, again_a);
    note_repeat("B", *found, again_b);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (rounds[i] == kept[i].size()) continue;
      note(fmt::format("'{}' is made {} times by A and {} times by B: the first ones are compared",
                       names_[i], kept[i].size(), rounds[i]));
    }
    return Status::ok();
  }

  EngineComparison finish() {
    std::map<std::string, double> errors;
    for (const ComparedValue& row : result_.values) errors[row.name] = row.errors.l2;
    for (ComparedValue& value : result_.values) add_growth(errors, value);
    return std::move(result_);
  }

 private:
  // The values that both make; those that only one makes are counted.
  void match() {
    for (const auto& [name, made_b] : table_b_.values()) {
      const auto it = table_a_.values().find(name);
      if (it == table_a_.values().end()) {
        result_.only_b += made_b.written;
        continue;
      }
      const MadeValue& made_a = it->second;
      if (!made_a.written && !made_b.written) continue;  // a reshape of compared bytes
      const auto& origins_a = table_a_.step(made_a).origins;
      const auto& origins_b = table_b_.step(made_b).origins;
      const bool output = table_b_.tensor(made_b).kind == PlanTensor::Kind::kOutput;
      if (common(origins_a, origins_b).empty() && !output) {
        result_.only_a += made_a.written;
        result_.only_b += made_b.written;
        continue;
      }
      names_.push_back(name);
      places_a_.push_back(made_a);
      places_b_.push_back(made_b);
    }
    for (const auto& [name, made] : table_a_.values())
      result_.only_a += made.written && !table_b_.values().count(name);
    rows_.assign(names_.size(), -1);
  }

  void add_output(const std::string& name, const ValueMap& found, const ValueMap& expected) {
    OutputComparison output = compare_values(name, found.at(name), expected.at(name), tolerance_);
    for (OutputComparison& known : result_.outputs) {
      if (known.output != name) continue;
      output.max_abs = std::max(output.max_abs, known.max_abs);
      output.max_rel = std::max(output.max_rel, known.max_rel);
      if (!known.passed) {
        output.passed = false;
        output.reason = known.reason;
      }
      known = std::move(output);
      return;
    }
    result_.outputs.push_back(std::move(output));
  }

  static bool alike(const AnyValue& a, const AnyValue& b) {
    if (a.kind() != b.kind()) return false;
    return !a.is_tensor() ||
           (a.tensor().dtype() == b.tensor().dtype() && a.tensor().shape() == b.tensor().shape());
  }

  void add_value(size_t i, const AnyValue& a, const AnyValue& b) {
    if (!alike(a, b)) {
      const std::string text =
          fmt::format("{}: {} in A, {} in B", names_[i], type_text(a), type_text(b));
      auto& unlike = result_.unlike;
      if (std::find(unlike.begin(), unlike.end(), text) == unlike.end()) unlike.push_back(text);
      return;
    }
    if (rows_[i] < 0) {
      rows_[i] = static_cast<int>(result_.values.size());
      result_.values.push_back(new_row(i, b));
    }
    ComparedValue& row = result_.values[static_cast<size_t>(rows_[i])];
    ++row.occurrences;
    const OutputComparison compared = compare_values(row.name, b, a, tolerance_);
    row.errors.max_abs = std::max(row.errors.max_abs, compared.max_abs);
    row.errors.max_rel = std::max(row.errors.max_rel, compared.max_rel);
    add_value_errors(a, b, row.errors);
    if (!compared.passed && row.passed) {
      row.passed = false;
      row.reason = compared.reason;
    }
  }

  ComparedValue new_row(size_t i, const AnyValue& value) const {
    const PlanStep& step_a = table_a_.step(places_a_[i]);
    const PlanStep& step_b = table_b_.step(places_b_[i]);
    ComparedValue row;
    row.name = names_[i];
    row.nodes = common(step_a.origins, step_b.origins);
    row.step_a = step_a.name;
    row.step_b = step_b.name;
    row.tactic_a = step_a.tactic;
    row.tactic_b = step_b.tactic;
    row.type = type_text(value);
    row.output = table_b_.tensor(places_b_[i]).kind == PlanTensor::Kind::kOutput &&
                 places_b_[i].program == 0;
    return row;
  }

  void add_growth(const std::map<std::string, double>& errors, ComparedValue& value) const {
    const auto ancestry = table_b_.ancestry(table_b_.values().at(value.name),
                                            [&](const std::string& n) { return errors.count(n); });
    value.made_by = ancestry.nodes;
    double largest = 0;
    for (const std::string& name : ancestry.values) largest = std::max(largest, errors.at(name));
    if (largest > 0) value.growth = value.errors.l2 / largest;
  }

  void note(const std::string& text) {
    auto& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }

  // Values are read in a run of their own: it must be the run that the outputs came from.
  void note_repeat(const char* which, const ValueMap& ordinary, const ValueMap& observed) {
    for (const auto& [name, value] : ordinary) {
      if (!compare_values(name, observed.at(name), value, {Metric::kAllClose, 0.0, 0.0}).passed) {
        note(
            fmt::format("output '{}' of {} is another one in each run: what the table says of its "
                        "values need not be what made the outputs",
                        name, which));
      }
    }
  }

  const Engine& a_;
  const Engine& b_;
  const Tolerance tolerance_;
  const ValueTable table_a_, table_b_;
  std::vector<std::string> names_;  // of the values to compare
  std::vector<MadeValue> places_a_, places_b_;
  std::vector<int> rows_;  // of names_ in the result; -1: not made yet
  EngineComparison result_;
};

std::string ports_text(const std::vector<TensorInfo>& infos) {
  std::string text;
  for (const TensorInfo& info : infos) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", info.name, dtype_name(info.dtype),
                        info.kind);
    if (info.ranked) text += fmt::format(" of rank {}", info.dims.size());
  }
  return text.empty() ? "none" : text;
}

// An unranked port goes with one of any rank.
bool ports_agree(const TensorInfo& a, const TensorInfo& b) {
  return a.name == b.name && a.dtype == b.dtype && a.kind == b.kind &&
         (!a.ranked || !b.ranked || a.dims.size() == b.dims.size());
}

std::string port_difference(const char* kind, const std::vector<TensorInfo>& a,
                            const std::vector<TensorInfo>& b) {
  if (std::equal(a.begin(), a.end(), b.begin(), b.end(), ports_agree)) return "";
  return fmt::format("{}: {} in A; {} in B", kind, ports_text(a), ports_text(b));
}

}  // namespace

bool EngineComparison::passed() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputComparison& output) { return output.passed; });
}

const ComparedValue* EngineComparison::first_over() const {
  const auto it = std::find_if(values.begin(), values.end(),
                               [](const ComparedValue& value) { return !value.passed; });
  return it == values.end() ? nullptr : &*it;
}

std::string interface_difference(const Engine& a, const Engine& b) {
  const std::string inputs = port_difference("inputs", a.inputs(), b.inputs());
  const std::string outputs = port_difference("outputs", a.outputs(), b.outputs());
  return inputs + (inputs.empty() || outputs.empty() ? "" : "; ") + outputs;
}

Result<EngineComparison> compare_engines(const Engine& a, const Engine& b,
                                         const std::vector<ValueMap>& inputs,
                                         const Tolerance& tolerance) {
  for (const Engine* engine : {&a, &b}) {
    const std::string& device = engine->impl().contents().manifest.device;
    if (device.rfind("null", 0) == 0) {
      return unsupported("{} was built for device {}, which computes no values",
                         engine == &a ? "A" : "B", device);
    }
  }
  const std::string difference = interface_difference(a, b);
  if (!difference.empty()) {
    return invalid_argument("A and B are not two engines of one network: {}", difference);
  }
  Comparer comparer(a, b, tolerance);
  for (const ValueMap& values : inputs) STOKER_TRY(comparer.add_run(values));
  return comparer.finish();
}

}  // namespace stoker
