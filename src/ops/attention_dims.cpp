// Shape rules of attention.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include "base/status.h"

namespace stoker {

namespace {

constexpr const char* kOp = "attention";

struct HeadDims {
  Dim batch, heads, length, width;
};

Result<HeadDims> head_dims(const char* what, const Dims& dims, const char* attribute,
                           const Attributes& attributes) {
  if (dims.size() == 4) return HeadDims{dims[0], dims[1], dims[2], dims[3]};
  if (dims.size() != 3) {
    return invalid_model("attention: {} is {}, expected rank 3 or 4", what, dims_text(dims));
  }
  const int64_t heads = attributes.get_int(attribute, 0);
  if (heads < 1) {
    return invalid_model("attention: {} is {}: with rank 3 {} must be at least 1, found {}", what,
                         dims_text(dims), attribute, heads);
  }
  if (dims[2].is_const() && dims[2].value() % heads != 0) {
    return invalid_model("attention: {}={} does not divide the last extent of {} {}", attribute,
                         heads, what, dims_text(dims));
  }
  return HeadDims{dims[0], Dim(heads), dims[1], Dim::floor_div(dims[2], Dim(heads))};
}

Status join(Dim& into, const Dim& other, const char* what) {
  STOKER_ASSIGN(into, same_dim(kOp, what, into, other));
  return Status::ok();
}

Status check_past(const Dims& dims, AttentionDims& d, Dim& width, const char* what) {
  if (dims.size() != 4) {
    return invalid_model("attention: {} is {}, expected rank 4", what, dims_text(dims));
  }
  STOKER_TRY(join(d.batch, dims[0], "batch sizes of past and present"));
  STOKER_TRY(join(d.kv_heads, dims[1], "heads of past and present"));
  return join(width, dims[3], "head sizes of past and present");
}

// Broadcast to [batch, heads, q_length, total]; the last extent may fall short.
Status check_mask(const Dims& dims, const AttentionDims& d, bool repeats) {
  const Dims full = {d.batch, d.q_heads, d.q_length, d.total};
  bool fits = dims.size() <= 4 && !dims.empty();
  for (size_t k = 0; fits && k < dims.size(); ++k) {
    const Dim &have = dims[dims.size() - 1 - k], &want = full[3 - k];
    if (!have.is_const() || !want.is_const()) continue;
    const int64_t n = have.value(), most = want.value();
    fits = n == most || (k > 0 ? n == 1 : repeats ? n == 1 : n < most);
  }
  if (fits) return Status::ok();
  return invalid_model("attention: mask {} does not broadcast to {}", dims_text(dims),
                       dims_text(full));
}

}  // namespace

Result<AttentionDims> attention_dims(const AttentionShapes& shapes, const Attributes& attributes) {
  const Dims &query = *shapes[kQuery], &key = *shapes[kKey], &value = *shapes[kValue];
  STOKER_ASSIGN(const HeadDims q, head_dims("query", query, "q_num_heads", attributes));
  STOKER_ASSIGN(const HeadDims k, head_dims("key", key, "kv_num_heads", attributes));
  STOKER_ASSIGN(const HeadDims v, head_dims("value", value, "kv_num_heads", attributes));
  if (query.size() != key.size() || key.size() != value.size()) {
    return invalid_model("attention: query {}, key {} and value {} must have one rank",
                         dims_text(query), dims_text(key), dims_text(value));
  }
  AttentionDims d;
  d.packed = query.size() == 3;
  d.batch = q.batch, d.q_heads = q.heads, d.q_length = q.length, d.head = q.width;
  d.kv_heads = k.heads, d.kv_length = k.length, d.v_head = v.width;
  STOKER_TRY(join(d.batch, k.batch, "batch sizes of query and key"));
  STOKER_TRY(join(d.batch, v.batch, "batch sizes of query and value"));
  STOKER_TRY(join(d.head, k.width, "head sizes of query and key"));
  STOKER_TRY(join(d.kv_heads, v.heads, "heads of key and value"));
  STOKER_TRY(join(d.kv_length, v.length, "lengths of key and value"));
  if (shapes[kPastKey]) STOKER_TRY(check_past(*shapes[kPastKey], d, d.head, "past_key"));
  if (shapes[kPastValue]) {
    STOKER_TRY(check_past(*shapes[kPastValue], d, d.v_head, "past_value"));
    STOKER_ASSIGN(d.past, same_dim(kOp, "lengths of past_key and past_value",
                                   (*shapes[kPastKey])[2], (*shapes[kPastValue])[2]));
  }
  d.total = d.past + d.kv_length;
  if (d.q_heads.is_const() && d.kv_heads.is_const()) {
    const int64_t heads = d.q_heads.value(), shared = d.kv_heads.value();
    if (shared < 1 ? heads > 0 : heads % shared != 0) {
      return invalid_model("attention: {} query heads cannot share {} key heads evenly", heads,
                           shared);
    }
  }
  if (shapes[kMask]) {
    const bool repeats = attributes.get_int("mask_repeats", 0) != 0;
    STOKER_TRY(check_mask(*shapes[kMask], d, repeats));
  }
  const auto check_vector = [](const Dims* dims, const Dim& extent, const char* what) -> Status {
    if (!dims) return Status::ok();
    if (dims->size() == 1 && same_dim(kOp, what, (*dims)[0], extent).is_ok()) return Status::ok();
    return invalid_model("attention: {} is {}, expected [{}]", what, dims_text(*dims),
                         extent.text());
  };
  STOKER_TRY(check_vector(shapes[kKvLengths], d.batch, "nonpad_kv_seqlen"));
  STOKER_TRY(check_vector(shapes[kSinks], d.q_heads, "sinks"));
  return d;
}

}  // namespace stoker
