// SPDX-License-Identifier: Apache-2.0
#include "api/data.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "base/dim.h"
#include "base/hash.h"
#include "base/npy.h"
#include "base/numeric.h"
#include "device/cpu_info.h"
#include "import/onnx/tensor_proto.h"
#include "runtime/loaded_engine.h"
#include "tune/sample_data.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

bool is_unsafe(char c) {
  return !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-';
}

std::string names_of(const std::vector<TensorInfo>& infos) {
  std::string names;
  for (const TensorInfo& info : infos) names += (names.empty() ? "" : ", ") + info.name;
  return names;
}

// The number K of "input_K.pb"; nothing when the name has another form.
std::optional<size_t> numbered(const std::string& file, std::string_view prefix,
                               std::string_view suffix) {
  if (file.size() <= prefix.size() + suffix.size() || file.rfind(prefix, 0) != 0 ||
      file.compare(file.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return std::nullopt;
  }
  size_t number = 0;
  const char* end = file.data() + file.size() - suffix.size();
  const auto [next, fault] = std::from_chars(file.data() + prefix.size(), end, number);
  if (fault != std::errc() || next != end) return std::nullopt;
  return number;
}

std::vector<std::string> sorted_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code fault;
  for (fs::directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    files.push_back(it->path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// One side of a data set: "input_K.pb" files.
Status load_numbered(const std::string& folder, const std::vector<std::string>& files,
                     std::string_view prefix, const std::vector<TensorInfo>& infos,
                     ValueMap& values) {
  std::map<size_t, std::string> ordered;
  for (const std::string& file : files) {
    if (const auto number = numbered(file, prefix, ".pb")) ordered[*number] = file;
  }
  for (const auto& [number, file] : ordered) {
    const std::string path = (fs::path(folder) / file).string();
    std::string name;
    const std::string kind = number < infos.size() ? infos[number].kind : "tensor";
    STOKER_ASSIGN(AnyValue value, load_value(path, kind, &name));
    const auto known = [&](const TensorInfo& info) { return info.name == name; };
    if (name.empty() || std::none_of(infos.begin(), infos.end(), known)) {
      if (number >= infos.size()) {
        return invalid_model("'{}' is number {} (named '{}'), but the model has {}: {}", path,
                             number, name, infos.size(), names_of(infos));
      }
      name = infos[number].name;
    }
    if (!values.emplace(name, std::move(value)).second) {
      return invalid_model("'{}': '{}' is given twice in this folder", path, name);
    }
  }
  return Status::ok();
}

Status load_named(const std::string& folder, const std::vector<std::string>& files,
                  const std::vector<TensorInfo>& infos, ValueMap& values) {
  for (const TensorInfo& info : infos) {
    const std::string file = safe_file_name(info.name) + ".npy";
    if (values.count(info.name) || !std::binary_search(files.begin(), files.end(), file)) continue;
    STOKER_ASSIGN(values[info.name], load_value((fs::path(folder) / file).string()));
  }
  return Status::ok();
}

}  // namespace

EngineFacts engine_facts(const Engine& engine) {
  const LoadedEngine& loaded = engine.impl();
  EngineFacts facts;
  facts.device = loaded.contents().manifest.device;
  facts.threads = loaded.pool().workers();
  facts.build_seconds = loaded.contents().volatile_section.build_seconds;
  facts.machine = machine_fingerprint();
  for (const PlanSymbol& symbol : loaded.contents().symbols) {
    facts.optimum[symbol.name] = symbol.optimum;
  }
  return facts;
}

Result<Shape> default_shape(const TensorInfo& input, const EngineFacts& facts) {
  Shape shape;
  for (const std::string& text : input.dims) {
    STOKER_ASSIGN(const Dim dim, Dim::parse(text));
    SymbolValues values = facts.optimum;
    std::vector<std::string> names;
    dim.collect_symbols(names);
    for (const std::string& name : names) values.emplace(name, 1);
    auto size = dim.evaluate(values);
    if (!size.is_ok()) return size.status().at("input '" + input.name + "'");
    shape.push_back(*size);
  }
  return shape;
}

Result<FixedShape> parse_fixed_shape(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return invalid_argument("shape '{}': expected NAME:8x3x224x224", text);
  }
  FixedShape fixed{text.substr(0, colon), {}};
  const char* at = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  while (at != end) {
    int64_t extent = 0;
    const auto [next, fault] = std::from_chars(at, end, extent);
    if (fault != std::errc() || extent < 0 || (next != end && *next != 'x') || next + 1 == end) {
      return invalid_argument("shape '{}': expected numbers separated by 'x' after '{}:'", text,
                              fixed.input);
    }
    fixed.shape.push_back(extent);
    at = next == end ? end : next + 1;
  }
  STOKER_TRY(element_count(fixed.shape).status().at("shape '" + text + "'"));
  return fixed;
}

Result<std::vector<Shape>> input_shapes(const Engine& engine,
                                        const std::vector<FixedShape>& given) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const EngineFacts facts = engine_facts(engine);
  for (const FixedShape& fixed : given) {
    const auto known = [&](const TensorInfo& info) { return info.name == fixed.input; };
    if (std::none_of(inputs.begin(), inputs.end(), known)) {
      return invalid_argument("the model has no input '{}'; its inputs are: {}", fixed.input,
                              names_of(inputs));
    }
  }
  std::vector<Shape> shapes;
  for (const TensorInfo& input : inputs) {
    const auto found = std::find_if(given.begin(), given.end(), [&](const FixedShape& fixed) {
      return fixed.input == input.name;
    });
    if (found != given.end()) {
      shapes.push_back(found->shape);
    } else {
      STOKER_ASSIGN(Shape shape, default_shape(input, facts));
      shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

Result<AnyValue> load_value(const std::string& path, const std::string& kind, std::string* name) {
  if (name) name->clear();
  std::string ending = fs::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::error_code fault;
  if (!fs::exists(path, fault)) {
    return Status(StatusCode::kNotFound, fmt::format("'{}' does not exist", path));
  }
  if (ending == ".npy") {
    STOKER_ASSIGN(Tensor tensor, read_npy(path));
    return AnyValue(std::move(tensor));
  }
  if (ending == ".pb") {
    if (fs::is_directory(path, fault)) return invalid_model("'{}' is a folder", path);
    if (kind == "map") return unsupported("'{}': maps are not read from files", path);
    return read_value_proto_file(path,
                                 kind == "sequence"   ? ProtoKind::kSequence
                                 : kind == "optional" ? ProtoKind::kOptional
                                                      : ProtoKind::kTensor,
                                 name);
  }
  return unsupported("'{}': tensors are read from .npy and .pb files", path);
}

Result<Tensor> random_tensor(const std::string& name, DType dtype, const Shape& shape,
                             uint64_t seed) {
  if (dtype_bits(dtype) == 0 || dtype == DType::kC64 || dtype == DType::kC128) {
    return unsupported(
        "input '{}' is {}: random values exist for numbers and bool only; give a file", name,
        dtype_name(dtype));
  }
  const uint64_t own = seed ^ hash64(std::as_bytes(std::span(name)));
  auto tensor = sample_tensor(dtype, shape, own);
  if (!tensor.is_ok()) return tensor.status().at("input '" + name + "'");
  return tensor;
}

Result<std::vector<std::string>> data_set_folders(const std::string& folder) {
  std::error_code fault;
  if (!fs::is_directory(folder, fault)) {
    return Status(StatusCode::kNotFound, fmt::format("'{}' is not a folder", folder));
  }
  std::map<size_t, std::string> sets;
  for (const std::string& file : sorted_files(folder)) {
    const std::string path = (fs::path(folder) / file).string();
    const auto number = numbered(file, "test_data_set_", "");
    if (number && fs::is_directory(path, fault)) sets[*number] = path;
  }
  if (sets.empty()) return std::vector<std::string>{folder};
  std::vector<std::string> folders;
  for (auto& [number, path] : sets) folders.push_back(std::move(path));
  return folders;
}

Result<DataSet> load_data_set(const std::string& folder, const std::vector<TensorInfo>& inputs,
                              const std::vector<TensorInfo>& outputs) {
  DataSet set;
  set.folder = folder;
  const std::vector<std::string> files = sorted_files(folder);
  STOKER_TRY(load_numbered(folder, files, "input_", inputs, set.inputs));
  if (!outputs.empty()) STOKER_TRY(load_numbered(folder, files, "output_", outputs, set.outputs));
  STOKER_TRY(load_named(folder, files, inputs, set.inputs));
  STOKER_TRY(load_named(folder, files, outputs, set.outputs));
  for (const TensorInfo& input : inputs) {
    if (set.inputs.count(input.name) || input.kind == "optional") continue;
    return Status(StatusCode::kNotFound,
                  fmt::format("'{}' has no data for input '{}': expected input_K.pb or {}.npy",
                              folder, input.name, safe_file_name(input.name)));
  }
  if (set.outputs.empty() && !outputs.empty()) {
    return Status(StatusCode::kNotFound,
                  fmt::format("'{}' has no expected outputs: output_K.pb or {}.npy", folder,
                              outputs.empty() ? "NAME" : safe_file_name(outputs[0].name)));
  }
  return set;
}

std::string safe_file_name(const std::string& name) {
  std::string safe = name;
  std::replace_if(safe.begin(), safe.end(), is_unsafe, '_');
  // A name of dots only would be a folder.
  if (safe.find_first_not_of('.') == std::string::npos) safe += "_";
  return safe;
}

std::vector<double> tensor_doubles(const Tensor& tensor) {
  std::vector<double> values;
  const LoadDouble load = load_double(tensor.dtype());
  if (!load) return values;
  values.resize(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = load(tensor.data(), static_cast<int64_t>(i));
  }
  return values;
}

}  // namespace stoker
