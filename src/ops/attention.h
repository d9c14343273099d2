// The extents of scaled dot product attention, checked: what inference and evaluation share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "ops/support.h"

namespace stoker {

// Positions of the operands.
enum AttentionInput : size_t {
  kQuery,
  kKey,
  kValue,
  kMask,
  kPastKey,
  kPastValue,
  kKvLengths,
  kSinks,
  kAttentionInputs
};

struct AttentionDims {
  Dim batch, q_heads, kv_heads, q_length, kv_length, past, total, head, v_head;
  bool packed = false;  // [batch, length, heads * head] instead of [batch, heads, length, head]
};

// The shapes of the operands; null for one that is left out.
using AttentionShapes = std::array<const Dims*, kAttentionInputs>;
Result<AttentionDims> attention_dims(const AttentionShapes& shapes, const Attributes& attributes);

}  // namespace stoker
