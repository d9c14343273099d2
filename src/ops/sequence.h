// What the ops on sequences and optionals share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/value_checks.h"

namespace stoker {

// An error when input `i` is no sequence of tensors; an optional that may hold one is none.
Status check_sequence(const InferContext& c, const char* op, size_t i);
// An error when input `i` is there and no integer scalar (one element of rank 0 or 1).
Status check_position(const InferContext& c, const char* op, size_t i);

// A sequence of tensors of one type: its elements have these dims where all of them agree.
ValueType sequence_of(DType dtype, std::optional<Dims> dims);
// The type of a tensor of the sequence.
ValueType element_of(const ValueType& sequence);

// Evaluation.
Result<std::vector<AnyValue>> sequence_elements(const ValueContext& c, const char* op, size_t i);
// Position from integer input `i`, counted from the back when negative; `fallback` without it. It
// lies in [0, last].
Result<size_t> position_of(const ValueContext& c, const char* op, size_t i, int64_t count,
                           int64_t last, int64_t fallback);

// What kind of value, for messages: "nothing", "a tensor", "a sequence", "a map".
const char* kind_text(const AnyValue& value);

}  // namespace stoker
