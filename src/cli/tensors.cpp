// SPDX-License-Identifier: Apache-2.0
#include "cli/tensors.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "api/data.h"
#include "api/media.h"
#include "base/file.h"
#include "base/status.h"

namespace stoker::cli {
namespace {

constexpr std::string_view kRandom = "random:";
constexpr size_t kFirstValues = 8;
constexpr size_t kTopRows = 16;

std::string names_of(const std::vector<TensorInfo>& infos) {
  std::string names;
  for (const TensorInfo& info : infos) names += (names.empty() ? "" : ", ") + info.name;
  return names;
}

Result<size_t> position_of(const std::string& name, const std::vector<TensorInfo>& infos) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
  }
  return invalid_argument("--input {}: the model has no such input; its inputs are: {}", name,
                          names_of(infos));
}

// Splits "x=VALUE"; a bare value belongs to the only input.
Result<std::pair<size_t, std::string>> split(const std::string& argument,
                                             const std::vector<TensorInfo>& infos) {
  const size_t equals = argument.find('=');
  const bool bare = equals == std::string::npos || (infos.size() == 1 && file_exists(argument));
  if (bare && infos.size() != 1) {
    return invalid_argument("--input {}: the model has {} inputs ({}): write NAME={}", argument,
                            infos.size(), names_of(infos), argument);
  }
  if (bare) return std::pair(size_t{0}, argument);
  STOKER_ASSIGN(const size_t position, position_of(argument.substr(0, equals), infos));
  return std::pair(position, argument.substr(equals + 1));
}

Result<AnyValue> random_value(const std::string& value, const TensorInfo& info,
                              const Shape& shape) {
  if (info.kind != "tensor")
    return unsupported("input '{}' is a {}: give a .pb file", info.name, info.kind);
  uint64_t seed = 0;
  const char* end = value.data() + value.size();
  const auto [next, fault] = std::from_chars(value.data() + kRandom.size(), end, seed);
  if (fault != std::errc() || next != end) {
    return invalid_argument("input '{}': '{}': expected random:SEED with a number from 0 on",
                            info.name, value);
  }
  STOKER_ASSIGN(Tensor tensor, random_tensor(info.name, info.dtype, shape, seed));
  return AnyValue(std::move(tensor));
}

// A picture or sound decides the sizes that are open, unless --shapes does.
Result<AnyValue> media_value(const std::string& path, const TensorInfo& info, Shape shape,
                             bool shaped, const std::string& preprocess, Console& console) {
  if (!info.ranked && !shaped) {
    return invalid_argument("input '{}' has any number of dims: say its shape with --shapes {}:...",
                            info.name, info.name);
  }
  for (size_t d = 0; d < shape.size() && !shaped; ++d) {
    const std::string& dim = info.dims[d];
    if (dim.find_first_not_of("0123456789") != std::string::npos) shape[d] = -1;
  }
  STOKER_ASSIGN(const Preprocess how, parse_preprocess(preprocess, info.dtype));
  std::string note;
  STOKER_ASSIGN(Tensor tensor, load_media(path, info, shape, how, note));
  console.note("{}: {}, as {}\n", path, note, shape_text(tensor.shape()));
  return AnyValue(std::move(tensor));
}

struct Statistics {
  double low = NAN, high = NAN, mean = 0;
  size_t not_finite = 0;
};

Statistics statistics_of(const std::vector<double>& values) {
  Statistics result;
  size_t finite = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      ++result.not_finite;
      continue;
    }
    result.low = finite ? std::min(result.low, value) : value;
    result.high = finite ? std::max(result.high, value) : value;
    result.mean += (value - result.mean) / static_cast<double>(++finite);
  }
  if (finite == 0) result.mean = NAN;
  return result;
}

struct Ranked {
  size_t index;
  double value;
};

// The `top` largest of each row, the earlier index first among equals.
std::vector<std::vector<Ranked>> top_of_rows(const std::vector<double>& values, size_t width,
                                             size_t top) {
  std::vector<std::vector<Ranked>> rows;
  for (size_t at = 0; at + width <= values.size() && rows.size() < kTopRows; at += width) {
    std::vector<size_t> order(width);
    std::iota(order.begin(), order.end(), size_t{0});
    const auto larger = [&](size_t a, size_t b) {
      const double x = values[at + a], y = values[at + b];
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return x != y ? x > y : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                      larger);
    rows.emplace_back();
    for (size_t k = 0; k < top; ++k) rows.back().push_back({order[k], values[at + order[k]]});
  }
  return rows;
}

bool has_top(const Tensor& tensor, int64_t top) {
  return top > 0 && is_float(tensor.dtype()) && tensor.rank() > 0 && tensor.shape().back() >= top;
}

}  // namespace

void add_input_options(CLI::App& app, InputOptions& options) {
  app.add_option(
      "--input", options.inputs,
      "x=FILE (.npy, .pb, .png, .jpg, .wav) or x=random:SEED, repeatable; x= may be left "
      "out for a single input");
  app.add_option("--preprocess", options.preprocess,
                 "how pictures become numbers: imagenet (centre cut, normalized), unit (0 to 1), "
                 "none (0 to 255), auto (none for integers, unit for floats)")
      ->capture_default_str();
}

Result<ValueMap> parse_inputs(const InputOptions& options, const std::vector<TensorInfo>& infos,
                              const std::vector<Shape>& shapes, const std::set<std::string>& shaped,
                              Console& console) {
  STOKER_TRY(parse_preprocess(options.preprocess, DType::kF32).status());
  ValueMap inputs;
  for (const std::string& argument : options.inputs) {
    STOKER_ASSIGN(const auto part, split(argument, infos));
    const auto& [position, value] = part;
    const TensorInfo& info = infos[position];
    if (inputs.count(info.name)) return invalid_argument("--input {}: given twice", info.name);
    if (value.rfind(kRandom, 0) == 0) {
      STOKER_ASSIGN(inputs[info.name], random_value(value, info, shapes[position]));
      continue;
    }
    auto read = is_media_file(value) && file_exists(value)
                    ? media_value(value, info, shapes[position], shaped.count(info.name) != 0,
                                  options.preprocess, console)
                    : load_value(value, info.kind);
    if (!read) return read.status().at("input '" + info.name + "'");
    inputs[info.name] = std::move(*read);
  }
  if (options.inputs.empty() && !infos.empty()) {
    console.note("no --input given: all inputs are random:0\n");
    for (size_t i = 0; i < infos.size(); ++i) {
      if (infos[i].kind == "optional") continue;
      STOKER_ASSIGN(inputs[infos[i].name], random_value("random:0", infos[i], shapes[i]));
    }
  }
  for (const TensorInfo& info : infos) {
    if (inputs.count(info.name) || info.kind == "optional") continue;
    return invalid_argument("input '{}' is missing: give --input {}=FILE.npy or {}=random:0",
                            info.name, info.name, info.name);
  }
  return inputs;
}

void collect_tensors(const std::string& name, const AnyValue& value,
                     std::vector<std::pair<std::string, Tensor>>& tensors) {
  if (value.is_tensor()) {
    tensors.emplace_back(name, value.tensor());
  } else if (value.has_value()) {
    for (size_t i = 0; i < value.elements().size(); ++i)
      collect_tensors(fmt::format("{}[{}]", name, i), value.elements()[i], tensors);
  }
}

std::string tensor_summary(const std::string& name, const Tensor& tensor, int64_t top) {
  std::string text =
      fmt::format("{}: {} {}", name, dtype_name(tensor.dtype()), shape_text(tensor.shape()));
  if (tensor.dtype() == DType::kString) {
    for (size_t i = 0; i < std::min(tensor.strings().size(), kFirstValues); ++i) {
      text += fmt::format("{}\"{}\"", i ? ", " : "  first ", tensor.strings()[i]);
    }
    return text + "\n";
  }
  const std::vector<double> values = tensor_doubles(tensor);
  if (values.empty()) return text + "\n";
  if (has_top(tensor, top)) {
    const auto width = static_cast<size_t>(tensor.shape().back());
    const auto rows = top_of_rows(values, width, static_cast<size_t>(top));
    text += "\n";
    for (size_t r = 0; r < rows.size(); ++r) {
      if (values.size() > width) text += fmt::format("  row {}\n", r);
      for (const Ranked& entry : rows[r]) {
        text += fmt::format("  {:8} {:.6g}\n", entry.index, entry.value);
      }
    }
    if (values.size() / width > rows.size()) {
      text += fmt::format("  and {} rows more\n", values.size() / width - rows.size());
    }
    return text;
  }
  const Statistics s = statistics_of(values);
  text += fmt::format("  min {:.6g}, max {:.6g}, mean {:.6g}", s.low, s.high, s.mean);
  if (s.not_finite) text += fmt::format(", {} not finite", s.not_finite);
  for (size_t i = 0; i < std::min(values.size(), kFirstValues); ++i) {
    text += fmt::format("{}{:.6g}", i ? " " : "; first ", values[i]);
  }
  return text + "\n";
}

Json tensor_summary_json(const std::string& name, const Tensor& tensor, int64_t top) {
  Json json = {{"name", name}, {"dtype", dtype_name(tensor.dtype())}, {"shape", tensor.shape()}};
  if (tensor.dtype() == DType::kString) {
    const auto& all = tensor.strings();
    json["first"] = std::vector<std::string>(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFirstValues)));
    return json;
  }
  const std::vector<double> values = tensor_doubles(tensor);
  if (values.empty()) return json;
  const Statistics s = statistics_of(values);
  json["min"] = s.low;
  json["max"] = s.high;
  json["mean"] = s.mean;
  json["not_finite"] = s.not_finite;
  json["first"] = std::vector<double>(
      values.begin(),
      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kFirstValues)));
  if (!has_top(tensor, top)) return json;
  json["top"] = Json::array();
  for (const auto& row :
       top_of_rows(values, static_cast<size_t>(tensor.shape().back()), static_cast<size_t>(top))) {
    Json entries = Json::array();
    for (const Ranked& entry : row) {
      entries.push_back({{"index", entry.index}, {"value", entry.value}});
    }
    json["top"].push_back(entries);
  }
  return json;
}

}  // namespace stoker::cli
