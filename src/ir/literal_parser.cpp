// SPDX-License-Identifier: Apache-2.0
#include "ir/literal_parser.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/numeric.h"
#include "ir/text.h"

namespace stoker {
namespace {

constexpr size_t kMaxDimsBytes = 16 * 1024;
constexpr size_t kMaxDimBytes = 1024;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxInlineText = size_t{1} << 24;
constexpr int64_t kMaxZeroFilledBytes = int64_t{1} << 36;

}  // namespace

Result<double> LiteralParser::float_of(std::string_view token) const {
  if (token == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (token == "-nan") return -std::numeric_limits<double>::quiet_NaN();
  if (token == "inf") return HUGE_VAL;
  if (token == "-inf") return -HUGE_VAL;
  double value = 0;
  const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || code != std::errc() || end != token.data() + token.size()) {
    return invalid_argument("line {}: '{}' is not a number", lexer_.line(), token);
  }
  return value;
}

Result<Dims> LiteralParser::dims_in_brackets() {
  STOKER_ASSIGN(const std::string inside, lexer_.until_bracket(kMaxDimsBytes));
  Dims dims;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    const char c = i < inside.size() ? inside[i] : ',';
    depth += (c == '(') - (c == ')');
    if (c != ',' || (depth != 0 && i < inside.size())) continue;
    if (inside.empty()) break;
    std::string text = inside.substr(start, i - start);
    std::erase(text, ' ');
    start = i + 1;
    if (text.size() > kMaxDimBytes) return lexer_.bad("a shorter extent");
    auto dim = Dim::parse(text);
    if (!dim.is_ok()) return at_line(dim.status());
    dims.push_back(std::move(*dim));
  }
  return dims;
}

// What stands before the element type; a map names the dtype of its keys.
Result<ValueType::Kind> LiteralParser::kind(ValueType& type) {
  if (lexer_.take_word("sequence")) return ValueType::Kind::kSequence;
  if (lexer_.take_word("optional")) return ValueType::Kind::kOptional;
  if (lexer_.take_word("state")) return ValueType::Kind::kState;
  if (!lexer_.take_word("map")) return ValueType::Kind::kTensor;
  const auto key = dtype_from_name(lexer_.word());
  if (!key) return lexer_.bad("the element type of a map's keys");
  type.key = *key;
  return ValueType::Kind::kMap;
}

Result<ValueType> LiteralParser::type() {
  if (lexer_.take_word("none")) return ValueType{};
  ValueType type;
  STOKER_ASSIGN(type.kind, kind(type));
  if (type.kind == ValueType::Kind::kSequence || type.kind == ValueType::Kind::kOptional) {
    STOKER_ASSIGN(type.inner, kind(type));
  }
  const std::string_view name = lexer_.word();
  const auto dtype = dtype_from_name(name);
  if (!dtype || *dtype == DType::kInvalid) {
    return invalid_argument("line {}: '{}' is not an element type", lexer_.line(), name);
  }
  type.dtype = *dtype;
  STOKER_TRY(lexer_.expect('['));
  if (lexer_.take('?')) {
    type.ranked = false;
    STOKER_TRY(lexer_.expect(']'));
    return type;
  }
  STOKER_ASSIGN(type.dims, dims_in_brackets());
  if (type.dims.size() > kMaxRank) return lexer_.bad("a type of at most 64 dimensions");
  for (const Dim& dim : type.dims) {
    if (dim.is_const() && dim.value() < 0) return lexer_.bad("extents that are not negative");
  }
  return type;
}

Status LiteralParser::float_element(Tensor& tensor, int64_t index, std::string_view token) {
  const DType dtype = tensor.dtype();
  const int bits = dtype_bits(dtype);
  if (dtype == DType::kF32 && !token.starts_with("0x")) {
    float value = 0;  // straight to f32: through f64 the decimal would be rounded twice
    const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (code == std::errc() && end == token.data() + token.size() && !std::isnan(value)) {
      tensor.values<float>()[static_cast<size_t>(index)] = value;
      return Status::ok();
    }
  }
  if (!token.starts_with("0x")) {
    STOKER_ASSIGN(const double value, float_of(token));
    store_double(dtype)(tensor.data(), index, value);
    return Status::ok();
  }
  uint64_t raw = 0;
  const auto [end, code] = std::from_chars(token.data() + 2, token.data() + token.size(), raw, 16);
  if (code != std::errc() || end != token.data() + token.size() || (bits < 64 && raw >> bits)) {
    return invalid_argument("line {}: '{}' is not an element of {} bits", lexer_.line(), token,
                            bits);
  }
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  if (bits >= 8) {
    std::memcpy(bytes + index * (bits / 8), &raw, static_cast<size_t>(bits / 8));
  } else {
    const int64_t bit = index * bits;
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] | (raw << (bit % 8)));
  }
  return Status::ok();
}

Status LiteralParser::element(Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) {
    STOKER_ASSIGN(tensor.strings()[static_cast<size_t>(index)], lexer_.string());
    return Status::ok();
  }
  const std::string_view token = lexer_.number();
  if (is_float(dtype)) return float_element(tensor, index, token);
  if (dtype == DType::kU64) {
    STOKER_ASSIGN(const uint64_t value, integer_of<uint64_t>(token));
    store_int(dtype)(tensor.data(), index, static_cast<int64_t>(value));
    return Status::ok();
  }
  STOKER_ASSIGN(const int64_t value, integer_of<int64_t>(token));
  const bool fits = dtype == DType::kBool
                        ? value == 0 || value == 1
                        : value >= integer_min(dtype) && value <= integer_max(dtype);
  if (!fits)
    return invalid_argument("line {}: {} does not fit into {}", lexer_.line(), value,
                            dtype_name(dtype));
  store_int(dtype)(tensor.data(), index, value);
  return Status::ok();
}

Result<Tensor> LiteralParser::inline_tensor(DType dtype, Shape shape) {
  auto count = element_count(shape);
  if (!count.is_ok()) return at_line(count.status());
  if (*count > static_cast<int64_t>(kMaxInlineText))
    return lexer_.bad("a smaller constant in line");
  auto tensor = Tensor::allocate(dtype, std::move(shape));
  if (!tensor.is_ok()) return at_line(tensor.status());
  for (int64_t i = 0; i < *count; ++i) {
    if (i) STOKER_TRY(lexer_.expect(','));
    STOKER_TRY(element(*tensor, i));
  }
  STOKER_TRY(lexer_.expect('}'));
  return tensor;
}

Result<Tensor> LiteralParser::zero_filled(const ValueType& type, const Shape& shape) {
  auto count = element_count(shape);
  auto bytes = count.is_ok() ? byte_size(type.dtype, *count) : count;
  if (!bytes.is_ok()) return at_line(bytes.status());
  const int64_t string_bytes = type.dtype == DType::kString ? *count : 0;
  if (*bytes > kMaxZeroFilledBytes - zero_filled_bytes_ || string_bytes > (1 << 20)) {
    return error(StatusCode::kResourceExhausted, "line {}: the constants exceed {} bytes",
                 lexer_.line(), kMaxZeroFilledBytes);
  }
  zero_filled_bytes_ += *bytes;
  auto zeros = Tensor::allocate(type.dtype, shape);
  if (!zeros.is_ok()) return at_line(zeros.status());
  return zeros;
}

Result<Tensor> LiteralParser::tensor_of(const ValueType& type) {
  const auto shape = constant_dims(type.dims);
  if (type.kind != ValueType::Kind::kTensor || !type.ranked || !shape ||
      type.dtype == DType::kInvalid) {
    return lexer_.bad("a constant whose extents are numbers");
  }
  if (lexer_.take('{')) {
    if (type.dtype == DType::kC64 || type.dtype == DType::kC128) return lexer_.bad("'hash'");
    return inline_tensor(type.dtype, *shape);
  }
  ConstantReference reference{type.dtype, *shape, "", -1};
  if (lexer_.take_word("weight")) {
    STOKER_ASSIGN(reference.weight, integer_of<int64_t>(lexer_.word()));
    if (reference.weight < 0) return lexer_.bad("the number of a weight");
  } else if (!lexer_.take_word("open")) {
    if (!lexer_.take_word("hash")) return lexer_.bad("'{', 'hash', 'weight' or 'open'");
    reference.hash = std::string(lexer_.word());
    if (reference.hash.size() != 32) return lexer_.bad("a hash of 32 hexadecimal digits");
  }
  if (!lookup_) return zero_filled(type, *shape);
  auto tensor = lookup_(reference);
  if (!tensor.is_ok()) return at_line(tensor.status());
  if (tensor->dtype() != type.dtype || tensor->shape() != *shape) {
    return corrupt_file("line {}: the constant is {}{}, the text says {}", lexer_.line(),
                        dtype_name(tensor->dtype()), shape_text(tensor->shape()), type_text(type));
  }
  return tensor;
}

Result<Attribute> LiteralParser::list_attribute() {
  if (lexer_.take_word("floats")) {
    STOKER_TRY(lexer_.expect('['));
    STOKER_TRY(lexer_.expect(']'));
    return Attribute(std::vector<double>{});
  }
  if (lexer_.take_word("strings")) {
    STOKER_TRY(lexer_.expect('['));
    STOKER_TRY(lexer_.expect(']'));
    return Attribute(std::vector<std::string>{});
  }
  STOKER_TRY(lexer_.expect('['));
  if (lexer_.take(']')) return Attribute(std::vector<int64_t>{});
  std::vector<std::string> strings;
  std::vector<std::string> tokens;
  lexer_.skip_blanks();
  const bool of_strings = lexer_.peek() == '"';
  do {
    if (of_strings) {
      STOKER_ASSIGN(strings.emplace_back(), lexer_.string());
    } else {
      tokens.emplace_back(lexer_.number());
    }
  } while (lexer_.take(','));
  STOKER_TRY(lexer_.expect(']'));
  if (of_strings) return Attribute(std::move(strings));
  if (tokens[0].find_first_of(".einf") == std::string::npos) {
    std::vector<int64_t> ints;
    for (const std::string& token : tokens) {
      STOKER_ASSIGN(ints.emplace_back(), integer_of<int64_t>(token));
    }
    return Attribute(std::move(ints));
  }
  std::vector<double> floats;
  for (const std::string& token : tokens) {
    STOKER_ASSIGN(floats.emplace_back(), float_of(token));
  }
  return Attribute(std::move(floats));
}

Result<Attribute> LiteralParser::attribute() {
  lexer_.skip_blanks();
  const char next = lexer_.peek();
  if (next == '"') {
    STOKER_ASSIGN(std::string text, lexer_.string());
    return Attribute(std::move(text));
  }
  if (next == '[' || lexer_.sees_word("floats") || lexer_.sees_word("strings"))
    return list_attribute();
  if (lexer_.take_word("tensor")) {
    STOKER_ASSIGN(const ValueType tensor_type, type());
    STOKER_ASSIGN(Tensor tensor, tensor_of(tensor_type));
    return Attribute(std::move(tensor));
  }
  const std::string_view token = lexer_.number();
  if (const auto dtype = dtype_from_name(token)) return Attribute(*dtype);
  if (token.find_first_of(".einf") == std::string_view::npos) {
    STOKER_ASSIGN(const int64_t value, integer_of<int64_t>(token));
    return Attribute(value);
  }
  STOKER_ASSIGN(const double value, float_of(token));
  return Attribute(value);
}

Result<Attributes> LiteralParser::attribute_block() {
  Attributes attributes;
  if (!lexer_.take('{')) return attributes;
  if (lexer_.take('}')) return attributes;
  do {
    STOKER_ASSIGN(const std::string name, lexer_.name());
    STOKER_TRY(lexer_.expect('='));
    if (attributes.has(name)) {
      return invalid_argument("line {}: attribute '{}' is given twice", lexer_.line(), name);
    }
    STOKER_ASSIGN(Attribute value, attribute());
    attributes.set(name, std::move(value));
  } while (lexer_.take(','));
  STOKER_TRY(lexer_.expect('}'));
  return attributes;
}

}  // namespace stoker
