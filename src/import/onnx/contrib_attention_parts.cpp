// Masks and caches of the attention operators of com.microsoft, in ordinary ops around `attention`.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "base/status.h"
#include "import/onnx/contrib_attention.h"

namespace stoker {

Value* axis_length(Composer& c, Value* x, int64_t axis) {
  return c.op("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

Value* counted(Composer& c, Value* count) {
  return c.op("range", {c.scalar(DType::kI64, 0, "first"), c.reshape(count, {}, "scalar"),
                        c.scalar(DType::kI64, 1, "step")});
}

Value* head_of(Composer& c, Value* x, int64_t axis, Value* end) {
  return c.op("slice", {x, c.ints({0}, "slice_start"), end, c.ints({axis}, "slice_axis")});
}

Value* with_head_axis(Composer& c, Value* x, int64_t heads) {
  if (c.rank(x, "keys or values") == 4) return x;
  return c.transpose(c.reshape(x, {0, 0, heads, -1}, "heads"), {0, 2, 1, 3});
}

Value* without_head_axis(Composer& c, Value* x) {
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {0, 0, -1}, "packed_heads");
}

std::vector<Value*> parts_of(Composer& c, Value* x, const std::vector<int64_t>& sizes) {
  return c.outputs("split", {x, c.ints(sizes, "parts")}, {{"axis", int64_t{-1}}},
                   static_cast<int>(sizes.size()));
}

Value* written_cache(Composer& c, Value* cache, Value* rows, Value* starts, Value* total) {
  if (total) {
    // Room for all rows, then as much of it as is asked for: only that one extent is open.
    Value* more = c.op("expand", {c.scalar(c.dtype(cache), 0, "room"), c.op("shape", {rows})});
    Value* most = c.op("max", {total, axis_length(c, cache, 2)});
    cache = head_of(c, c.op("concat", {cache, more}, {{"axis", int64_t{2}}}), 2, most);
  }
  return c.op("tensor_scatter", {cache, rows, starts}, {{"axis", int64_t{2}}});
}

namespace {

// Where keys do not take part, the filter value; [batch, 1, 1 or rows, keys].
Value* mask_bias(Composer& c, const AttentionCall& call, Value* total, DType dtype) {
  Value *mask = call.mask, *keep = nullptr;
  const int64_t rank = c.rank(mask, "mask");
  if (!c.ok()) return nullptr;
  if (rank == 1) {
    Value *batch = axis_length(c, call.q, 0), *columns = counted(c, total);
    const auto column = [&](Value* x) {
      return c.reshape(c.cast(x, DType::kI64), {-1, 1, 1, 1}, "per_batch");
    };
    keep = c.op("less", {columns, column(head_of(c, mask, 0, batch))});
    // Twice the batch: ends, then starts. Three times and two more: ends first as well.
    const Dim entries = mask->type.dims[0], once = call.q->type.dims[0];
    const bool known = entries == once || (entries.is_const() && once.is_const());
    if (!known || (entries == Dim(2) * once && entries != once)) {
      Value *twice = c.add(batch, batch), *count = axis_length(c, mask, 0);
      Value* none = c.op("expand", {c.scalar(c.dtype(mask), 0, "no_start"), batch});
      Value* longer = c.op("concat", {mask, none}, {{"axis", int64_t{0}}});
      Value* starts = c.op("slice", {longer, batch, twice});
      starts = c.mul(starts, c.cast(c.op("equal", {count, twice}), c.dtype(mask)));
      keep = c.op("and", {keep, c.op("greater_or_equal", {columns, column(starts)})});
    }
  } else if (rank == 2 || rank == 3) {
    keep = c.op("greater", {mask, c.scalar(c.dtype(mask), 0, "masked")});
    keep = rank == 2 ? c.unsqueeze(keep, {1, 2}, "mask_axes") : c.unsqueeze(keep, {1}, "mask_axes");
  } else {
    c.fail(unsupported("mask {}: expected rank 1, 2 or 3", type_text(mask->type)));
  }
  return c.op("where", {keep, c.scalar(dtype, 0, "kept"), c.scalar(dtype, call.filter, "filter")});
}

// 0 up to the diagonal that starts at `past`, the lowest finite number beyond; [rows, keys].
Value* causal_bias(Composer& c, Value* past, Value* rows, Value* total, DType dtype) {
  Value* positions = c.unsqueeze(c.add(counted(c, rows), past), {1}, "position_axis");
  const double lowest = dtype == DType::kF16 ? -65504 : -std::numeric_limits<float>::max();
  return c.op("where", {c.op("less_or_equal", {counted(c, total), positions}),
                        c.scalar(dtype, 0, "kept"), c.scalar(dtype, lowest, "lowest")});
}

// The cache in which every beam finds the past rows of those that it comes from.
Value* follow_beams(Composer& c, Value* cache, Value* beams, Value* past) {
  Value *batch = axis_length(c, cache, 0), *length = axis_length(c, cache, 2);
  Value* own = c.unsqueeze(counted(c, batch), {1}, "beam_axis");
  Value* width = axis_length(c, beams, 1);
  Value* first = c.mul(c.op("div", {own, width}), width);
  Value* flat =
      c.op("reshape", {c.cast(beams, DType::kI64),
                       c.op("concat", {batch, axis_length(c, beams, 2)}, {{"axis", int64_t{0}}})});
  Value *rows = counted(c, length), *from = c.add(first, head_of(c, flat, 1, length));
  from = c.op("where", {c.op("less", {rows, past}), from, own});
  rows = c.op("expand", {rows, c.op("shape", {from})});
  Value* index =
      c.op("concat", {c.unsqueeze(from, {2}, "pair_axis"), c.unsqueeze(rows, {2}, "pair_axis")},
           {{"axis", int64_t{2}}});
  return c.transpose(c.op("gather_nd", {c.transpose(cache, {0, 2, 1, 3}), index}), {0, 2, 1, 3});
}

// Writes the new rows into caches that have room for them.
void share_caches(Composer& c, AttentionCall& call, AttentionValues& made, Value* past,
                  std::vector<Value*>& inputs) {
  Value* batch = axis_length(c, call.q, 0);
  Value* starts = c.op("expand", {past, batch});
  made.present_k =
      written_cache(c, call.past_k, with_head_axis(c, call.k, call.heads), starts, nullptr);
  made.present_v =
      written_cache(c, call.past_v, with_head_axis(c, call.v, call.heads), starts, nullptr);
  call.k = made.present_k;
  call.v = made.present_v;
  if (call.beams) {
    call.k = follow_beams(c, call.k, call.beams, past);
    call.v = follow_beams(c, call.v, call.beams, past);
  }
  inputs[6] = c.add(starts, axis_length(c, call.q, 1));
}

}  // namespace

AttentionValues compose_attention(Composer& c, AttentionCall call, bool wants_scores) {
  AttentionValues made;
  std::vector<Value*> inputs(7, nullptr);
  if (!c.ok() || c.rank(call.q, "query") != 3) {
    c.fail(invalid_model("query: expected [batch, length, width], found another rank"));
    return made;
  }
  if (call.past_length ? !call.past_k || !call.past_v : call.beams != nullptr) {
    c.fail(
        unsupported("past_sequence_length and cache_indirection: expected them with past keys and "
                    "values that have room for the new ones"));
    return made;
  }
  const DType dtype = c.dtype(call.q);
  const bool shared = call.past_length != nullptr;
  // The number of keys; only masks ask for it.
  Value* past = call.past_k ? axis_length(c, call.past_k, 2) : c.ints({0}, "no_past");
  if (shared) past = c.reshape(c.cast(call.past_length, DType::kI64), {1}, "past_length");
  Value* fresh = axis_length(c, call.k, c.rank(call.k, "key") == 4 ? 2 : 1);
  Value* total = c.add(past, fresh);
  Value* bias = call.mask ? mask_bias(c, call, total, dtype) : nullptr;
  // So low a filter value makes the causal mask no lower: keys masked by either one weigh the same
  // in a row that has no others.
  if (call.causal && call.mask && call.filter < -1e30) {
    bias = c.add(bias, causal_bias(c, past, axis_length(c, call.q, 1), total, dtype));
    bias = c.op("max", {bias, c.scalar(dtype, -std::numeric_limits<float>::max(), "lowest")});
    call.causal = false;
  }
  if (call.bias) bias = bias ? c.add(bias, call.bias) : call.bias;
  if (shared) share_caches(c, call, made, past, inputs);
  // The op wants one rank for all three.
  const bool apart = c.rank(call.k, "key") == 4;
  for (Value** x : {&call.q, &call.k, &call.v}) {
    if (apart) *x = with_head_axis(c, *x, call.heads);
  }
  inputs[0] = call.q, inputs[1] = call.k, inputs[2] = call.v, inputs[3] = bias;
  if (!shared) inputs[4] = call.past_k, inputs[5] = call.past_v;
  while (!inputs.back()) inputs.pop_back();
  Attributes attributes{{"q_num_heads", call.heads}, {"kv_num_heads", call.heads}};
  if (call.scale != 0) attributes.set("scale", call.scale);
  if (call.causal) attributes.set("is_causal", int64_t{1});
  if (wants_scores) attributes.set("qk_matmul_output_mode", int64_t{2});
  const auto outputs =
      c.outputs("attention", std::move(inputs), std::move(attributes), wants_scores ? 4 : 3);
  made.y = apart ? without_head_axis(c, outputs[0]) : outputs[0];
  if (!shared) {
    made.present_k = outputs[1];
    made.present_v = outputs[2];
  }
  if (wants_scores) {
    const double lowest = dtype == DType::kF16 ? -65504 : -std::numeric_limits<float>::max();
    made.scores = head_of(c, outputs[3], 3, total);
    made.scores = c.op("max", {made.scores, c.scalar(dtype, lowest, "lowest_score")});
  }
  return made;
}

}  // namespace stoker
