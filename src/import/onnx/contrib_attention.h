// What the attention operators of com.microsoft share: their masks, caches and packed operands
// become inputs of the op `attention`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/composer.h"

namespace stoker {

// The extent of one axis, as a tensor i64[1].
Value* axis_length(Composer& c, Value* x, int64_t axis);
// 0, 1, ... below `count`, an i64[1].
Value* counted(Composer& c, Value* count);
// Elements from 0 to before `end`, an i64[1], of one axis.
Value* head_of(Composer& c, Value* x, int64_t axis, Value* end);
// [batch, rows, heads * size] as [batch, heads, rows, size]; rank 4 stays.
Value* with_head_axis(Composer& c, Value* x, int64_t heads);
// Back from it.
Value* without_head_axis(Composer& c, Value* x);
// Parts of these sizes along the last axis.
std::vector<Value*> parts_of(Composer& c, Value* x, const std::vector<int64_t>& sizes);

// A cache with `rows` [batch, heads, rows, size] written at `starts` i64[batch]; it grows to
// `total`, an i64[1], where that is given and more than its length.
Value* written_cache(Composer& c, Value* cache, Value* rows, Value* starts, Value* total);

struct AttentionCall {
  Value *q = nullptr, *k = nullptr, *v = nullptr;  // rank 3, keys and values also rank 4
  Value *past_k = nullptr, *past_v = nullptr;      // [batch, heads, length, size]
  Value* mask = nullptr;                           // integers: which keys take part, or how many do
  Value* bias = nullptr;                           // added to the scores
  Value* past_length = nullptr;                    // of caches that have room for the new rows
  Value* beams = nullptr;  // [batch / beams, beams, length]: whose cache row counts
  int64_t heads = 0;
  double scale = 0;  // 0: 1 / sqrt(head size)
  double filter = -10000;
  bool causal = false;
};
struct AttentionValues {
  Value *y = nullptr, *present_k = nullptr, *present_v = nullptr, *scores = nullptr;
};
// `scores`: those before the softmax, when `wants_scores`.
AttentionValues compose_attention(Composer& c, AttentionCall call, bool wants_scores);

}  // namespace stoker
