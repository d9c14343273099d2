// Pieces of the text form shared by the printer, the parser and passes that compare nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/graph.h"

namespace stoker {

// Constants of at most this many elements print in line, larger ones as their content hash.
inline constexpr int64_t kInlineElements = 16;

std::string quoted(std::string_view text);
std::string double_text(double value);          // always told apart from an integer; round-trips
std::string tensor_text(const Tensor& tensor);  // "f32[2] {1, 2}" or "f32[64] hash 0123..."
std::string attribute_text(const Attribute& attribute);
std::string attributes_text(
    const Attributes& attributes);  // "{a=1, b=[2,3]}", "" when there are none

}  // namespace stoker
