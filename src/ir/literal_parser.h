// Parser of what stands inside a statement of the text form: types, numbers, tensors, attributes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>

#include "ir/graph.h"
#include "ir/lexer.h"

namespace stoker {

class LiteralParser {
 public:
  LiteralParser(std::string_view text, ConstantLookup lookup)
      : lexer_(text), lookup_(std::move(lookup)) {}

 protected:
  Result<ValueType> type();
  Result<Dims> dims_in_brackets();  // the opening bracket is taken already
  // The content behind the type of a constant: "{...}", "hash ...", "weight ..." or "open".
  Result<Tensor> tensor_of(const ValueType& type);
  Result<Tensor> zero_filled(const ValueType& type, const Shape& shape);
  Result<Attributes> attribute_block();

  template <class T>
  Result<T> integer_of(std::string_view token) const {
    T value{};
    if (!token.empty() && token[0] == '+') token.remove_prefix(1);
    const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (code != std::errc() || end != token.data() + token.size()) {
      return invalid_argument("line {}: '{}' is not an integer of 64 bits", lexer_.line(), token);
    }
    return value;
  }
  Status at_line(const Status& status) const {
    return status.at(fmt::format("line {}", lexer_.line()));
  }

  Lexer lexer_;

 private:
  Result<ValueType::Kind> kind(ValueType& type);
  Result<Attribute> attribute();
  Result<Attribute> list_attribute();
  Result<Tensor> inline_tensor(DType dtype, Shape shape);
  Status element(Tensor& tensor, int64_t index);
  Status float_element(Tensor& tensor, int64_t index, std::string_view token);
  Result<double> float_of(std::string_view token) const;

  ConstantLookup lookup_;
  int64_t zero_filled_bytes_ = 0;
};

}  // namespace stoker
