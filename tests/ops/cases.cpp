// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/cases.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/numeric.h"

namespace stoker {
namespace {

// Words separated by blanks outside of brackets and quotes.
std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  bool quoted = false;
  for (const char ch : line) {
    if (!quoted && depth == 0 && ch == '#') break;
    if (ch == '"') quoted = !quoted;
    if (!quoted && (ch == '[' || ch == '{')) ++depth;
    if (!quoted && (ch == ']' || ch == '}')) --depth;
    if ((ch == ' ' || ch == '\t') && !quoted && depth == 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += ch;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// Items of "a, b, c" outside of quotes, without blanks around them.
std::vector<std::string> split_items(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  bool quoted = false, any = false;
  for (const char ch : text) {
    if (ch == '"') quoted = !quoted;
    if (ch == ',' && !quoted) {
      items.push_back(std::move(item));
      item.clear();
      any = true;
    } else if (quoted || (ch != ' ' && ch != '\t')) {
      item += ch;
    }
  }
  if (any || !item.empty()) items.push_back(std::move(item));
  return items;
}

std::string unquote(const std::string& text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"'
             ? text.substr(1, text.size() - 2)
             : text;
}

Result<int64_t> parse_int(const std::string& text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size()) return value;
  return invalid_argument("\"{}\" is not an integer", text);
}

Result<double> parse_float(const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size()) return value;
  return invalid_argument("\"{}\" is not a number", text);
}

Result<std::vector<int64_t>> parse_ints(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return invalid_argument("\"{}\" is not a [list]", text);
  std::vector<int64_t> values;
  for (const std::string& item : split_items(text.substr(1, text.size() - 2))) {
    STOKER_ASSIGN(const int64_t value, parse_int(item));
    values.push_back(value);
  }
  return values;
}

Status fill_values(Tensor& tensor, const std::vector<std::string>& items) {
  if (static_cast<int64_t>(items.size()) != tensor.count()) {
    return invalid_argument("{} values for {} elements", items.size(), tensor.count());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    if (tensor.dtype() == DType::kString) {
      tensor.strings()[i] = unquote(items[i]);
    } else if (tensor.dtype() == DType::kU64) {
      uint64_t value = 0;
      const char* end = items[i].data() + items[i].size();
      if (std::from_chars(items[i].data(), end, value).ptr != end) {
        return invalid_argument("\"{}\" is not an integer", items[i]);
      }
      store_int(DType::kU64)(tensor.data(), at, static_cast<int64_t>(value));
    } else if (is_integer(tensor.dtype()) || tensor.dtype() == DType::kBool) {
      STOKER_ASSIGN(const int64_t value, parse_int(items[i]));
      store_int(tensor.dtype())(tensor.data(), at, value);
    } else {
      STOKER_ASSIGN(const double value, parse_float(items[i]));
      // Unsaturated, so that "inf" can be written for the 8-bit floats that have it.
      store_double_unsaturated(tensor.dtype())(tensor.data(), at, value);
    }
  }
  return Status::ok();
}

// dtype[shape]{values}~low..high or ~tolerance
Result<CaseTensor> parse_tensor(const std::string& text) {
  CaseTensor t;
  if (text == "none") return t;
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) {
    return invalid_argument("\"{}\" is not dtype[shape]", text);
  }
  const auto dtype = dtype_from_name(text.substr(0, open));
  if (!dtype) return invalid_argument("unknown dtype \"{}\"", text.substr(0, open));
  t.dtype = *dtype;
  STOKER_ASSIGN(t.shape, parse_ints(text.substr(open, close - open + 1)));
  size_t next = close + 1;
  if (next < text.size() && text[next] == '{') {
    const size_t end = text.rfind('}');
    if (end == std::string::npos) return invalid_argument("\"{}\": a brace is not closed", text);
    STOKER_ASSIGN(Tensor tensor, Tensor::allocate(t.dtype, t.shape));
    STOKER_TRY(fill_values(tensor, split_items(text.substr(next + 1, end - next - 1))));
    t.values = std::move(tensor);
    next = end + 1;
  }
  if (next < text.size() && text[next] == '~') {
    const std::string range = text.substr(next + 1);
    const size_t dots = range.find("..");
    if (dots == std::string::npos) {
      STOKER_ASSIGN(t.tolerance, parse_float(range));
    } else {
      STOKER_ASSIGN(const double low, parse_float(range.substr(0, dots)));
      STOKER_ASSIGN(const double high, parse_float(range.substr(dots + 2)));
      t.range = {low, high};
    }
  } else if (next != text.size()) {
    return invalid_argument("\"{}\": what follows the tensor is not understood", text);
  }
  return t;
}

Result<Attribute> parse_attribute(AttributeKind kind, const std::string& text) {
  const std::string inner = text.size() >= 2 ? text.substr(1, text.size() - 2) : "";
  switch (kind) {
    case AttributeKind::kInt: {
      STOKER_ASSIGN(const int64_t value, parse_int(text));
      return Attribute(value);
    }
    case AttributeKind::kFloat: {
      STOKER_ASSIGN(const double value, parse_float(text));
      return Attribute(value);
    }
    case AttributeKind::kString: return Attribute(unquote(text));
    case AttributeKind::kDType: {
      const auto dtype = dtype_from_name(text);
      if (!dtype) return invalid_argument("unknown dtype \"{}\"", text);
      return Attribute(*dtype);
    }
    case AttributeKind::kInts: {
      STOKER_ASSIGN(std::vector<int64_t> values, parse_ints(text));
      return Attribute(std::move(values));
    }
    case AttributeKind::kFloats: {
      std::vector<double> values;
      for (const std::string& item : split_items(inner)) {
        STOKER_ASSIGN(const double value, parse_float(item));
        values.push_back(value);
      }
      return Attribute(std::move(values));
    }
    case AttributeKind::kStrings: {
      std::vector<std::string> values;
      for (const std::string& item : split_items(inner)) values.push_back(unquote(item));
      return Attribute(std::move(values));
    }
    case AttributeKind::kTensor: {
      STOKER_ASSIGN(const CaseTensor tensor, parse_tensor(text));
      if (!tensor.values) return invalid_argument("a tensor attribute needs values");
      return Attribute(*tensor.values);
    }
  }
  return invalid_argument("unknown kind of attribute");
}

Status parse_argument(OpCase& op_case, const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return invalid_argument("\"{}\" is not NAME=VALUE", word);
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  for (const AttributeDef& def : op_case.op->attributes) {
    if (def.name != name) continue;
    auto attribute = parse_attribute(def.kind, value);
    if (!attribute.is_ok()) return attribute.status().at(name);
    op_case.attributes.set(name, std::move(*attribute));
    return Status::ok();
  }
  auto tensor = parse_tensor(value);
  if (!tensor.is_ok()) return tensor.status().at(name);
  tensor->name = name;
  op_case.inputs.push_back(std::move(*tensor));
  return Status::ok();
}

uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Result<OpCase> parse_case(const std::string& line) {
  const std::vector<std::string> words = split_words(line);
  OpCase op_case;
  op_case.text = line;
  if (words.empty()) return invalid_argument("the line holds no case");
  op_case.op = find_op(words[0]);
  if (!op_case.op) return invalid_argument("there is no op \"{}\"", words[0]);
  size_t i = 1;
  for (; i < words.size() && words[i] != "->"; ++i) STOKER_TRY(parse_argument(op_case, words[i]));
  if (i + 1 >= words.size()) return invalid_argument("\"->\" and an output are missing");
  if (words[i + 1] == "error") {
    if (i + 2 >= words.size()) return invalid_argument("the error's text is missing");
    op_case.error = unquote(words[i + 2]);
    op_case.outputs.resize(static_cast<size_t>(std::max(op_case.op->output_count, 1)));
    return op_case;
  }
  for (++i; i < words.size(); ++i) {
    STOKER_ASSIGN(CaseTensor tensor, parse_tensor(words[i]));
    op_case.outputs.push_back(std::move(tensor));
  }
  return op_case;
}

Result<std::vector<OpCase>> load_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) return error(StatusCode::kNotFound, "cannot open {}", path);
  std::vector<OpCase> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (split_words(line).empty()) continue;
    auto op_case = parse_case(line);
    const std::string name = std::filesystem::path(path).filename().string();
    if (!op_case.is_ok()) return op_case.status().at(name + ":" + std::to_string(number));
    op_case->file = name;
    op_case->line = number;
    cases.push_back(std::move(*op_case));
  }
  return cases;
}

Result<std::vector<OpCase>> load_all_cases(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".cases") paths.push_back(entry.path().string());
  }
  if (code) return error(StatusCode::kNotFound, "cannot read {}: {}", folder, code.message());
  std::sort(paths.begin(), paths.end());
  std::vector<OpCase> cases;
  for (const std::string& path : paths) {
    STOKER_ASSIGN(std::vector<OpCase> more, load_cases(path));
    cases.insert(cases.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  return cases;
}

Result<Tensor> random_tensor(DType dtype, const Shape& shape, uint64_t seed,
                             std::optional<std::pair<double, double>> range) {
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape));
  uint64_t state = seed;
  const bool integer = is_integer(dtype) || dtype == DType::kBool;
  double low = -2, high = 2;
  if (dtype == DType::kBool) {
    low = 0, high = 1;
  } else if (integer) {
    low = std::max(static_cast<double>(integer_min(dtype)), -100.0);
    high = std::min(static_cast<double>(integer_max(dtype)), 100.0);
  }
  if (range) std::tie(low, high) = *range;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t bits = next_random(state);
    if (dtype == DType::kString) {
      tensor.strings()[static_cast<size_t>(i)] = "s" + std::to_string(bits % 10);
    } else if (integer) {
      const uint64_t span = static_cast<uint64_t>(high - low) + 1;
      store_int(dtype)(tensor.data(), i,
                       static_cast<int64_t>(low) + static_cast<int64_t>(bits % span));
    } else if (load_double(dtype)) {
      const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
      store_double(dtype)(tensor.data(), i, low + (high - low) * unit);
    }
  }
  return tensor;
}

Result<std::vector<Tensor>> make_inputs(const OpCase& op_case, uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const char ch : op_case.text) seed = (seed ^ static_cast<uint8_t>(ch)) * 0x100000001b3u;
  for (const CaseTensor& input : op_case.inputs) {
    ++seed;
    if (input.dtype == DType::kInvalid) {
      tensors.emplace_back();
    } else if (input.values) {
      tensors.push_back(*input.values);
    } else {
      STOKER_ASSIGN(Tensor tensor, random_tensor(input.dtype, input.shape, seed, input.range));
      tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

}  // namespace stoker
