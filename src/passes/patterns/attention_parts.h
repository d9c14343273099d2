// The parts of an attention that is spelled in matmul, softmax, matmul and what stands around them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/match.h"

namespace stoker {

// An operand of rank 4: [batch, heads, length, width], or [batch, length, heads, width] where a
// transpose brings that into the first form, or both.
struct HeadOperand {
  Value* heads_first = nullptr;
  Value* heads_third = nullptr;

  const Dims& dims() const { return (heads_first ? heads_first : heads_third)->type.dims; }
  const Dim& batch() const { return dims()[0]; }
  const Dim& heads() const { return dims()[heads_first ? 1 : 2]; }
  const Dim& length() const { return dims()[heads_first ? 2 : 1]; }
  const Dim& width() const { return dims()[3]; }
};

struct AttentionParts {
  // Rank 4, or rank 3 with batch and heads joined by reshapes that the parts leave out.
  bool has_heads = false;
  HeadOperand q, k, v;
  Value* flat[3] = {};   // otherwise: q, k and v of rank 2 or 3
  Node* last = nullptr;  // its output is the result, of the rank of the operands above

  double scale = 1, softcap = 0;
  std::vector<Value*> added;   // masks that are added
  Value* condition = nullptr;  // of a `where` that puts masked_score
  bool where_true = false;     // where it is true, not false
  double masked_score = 0;
  bool nan_rows = true;  // rows that are ruled out whole are NaN
};

// The parts when `product` is the second matmul of an attention of one dtype, f32 or f64. Values
// between the two matmuls have no other use.
std::optional<AttentionParts> match_attention(const Graph& graph, Node* product);

// The only user of a value when that is such a transpose.
Node* transposing_user(const Graph& graph, const Value* value, const std::vector<int64_t>& perm);

}  // namespace stoker
