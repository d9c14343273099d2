// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/attention.h"

#include <cmath>

namespace stoker {
namespace {

using Extents = std::vector<int64_t>;

constexpr int64_t kMaxHeads = INT32_MAX;

Status check_attention_heads(const AttentionParams& p) {
  if (!p.packed) {
    if (p.q_heads == 0 && p.kv_heads == 0) return Status::ok();
    return invalid_argument("heads {} and {} beside operands that have a dim of heads", p.q_heads,
                            p.kv_heads);
  }
  if (p.q_heads < 1 || p.q_heads > kMaxHeads || p.kv_heads < 1 || p.q_heads % p.kv_heads != 0) {
    return invalid_argument("{} query heads cannot share {} key heads evenly", p.q_heads,
                            p.kv_heads);
  }
  return Status::ok();
}

// Broadcast to [batch, heads, q, kv]; the last extent may fall short unless it repeats.
Status check_mask(const Extents& mask, const Extents& full, bool repeats) {
  for (size_t k = 0; k < mask.size(); ++k) {
    const int64_t have = mask[mask.size() - 1 - k], want = full[3 - k];
    if (have == want || (k > 0 || repeats ? have == 1 : have < want)) continue;
    return invalid_argument("the mask {} does not broadcast to {}", shape_text(mask),
                            shape_text(full));
  }
  return Status::ok();
}

Status expect_dims(const char* what, const Extents& found, const Extents& expected) {
  if (found == expected) return Status::ok();
  return invalid_argument("{} is {}, expected {}", what, shape_text(found), shape_text(expected));
}

}  // namespace

AttentionExtents attention_extents(const Desc& desc) {
  const auto& p = desc.as<AttentionParams>();
  const std::vector<int64_t>&q = desc.inputs[0].dims, &k = desc.inputs[1].dims;
  const std::vector<int64_t>& v = desc.inputs[2].dims;
  if (!p.packed) return {q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
  return {q[0], p.q_heads, p.kv_heads, q[1], k[1], q[2] / p.q_heads, v[2] / p.kv_heads};
}

FallbackParams attention_call(const AttentionParams& p) {
  FallbackParams call{"attention", {{"scale", p.scale}, {"softcap", p.softcap}}};
  call.attributes.set("is_causal", int64_t{p.causal});
  call.attributes.set("window", p.window);
  call.attributes.set("mask_repeats", int64_t{p.mask_repeats});
  call.attributes.set("masked_score", p.masked_score);
  call.attributes.set("nan_rows", int64_t{p.nan_rows});
  if (p.packed) {
    call.attributes.set("q_num_heads", p.q_heads);
    call.attributes.set("kv_num_heads", p.kv_heads);
  }
  return call;
}

Status check_attention_static(const Desc& desc) {
  const auto& p = desc.as<AttentionParams>();
  const bool masked = desc.inputs.size() == 4;
  if ((desc.inputs.size() != 3 && !masked) || desc.outputs.size() != 1) {
    return invalid_argument("expected 3 or 4 inputs and 1 output, found {} and {}",
                            desc.inputs.size(), desc.outputs.size());
  }
  const int rank = p.packed ? 3 : 4;
  for (const TensorDesc* operand :
       {&desc.inputs[0], &desc.inputs[1], &desc.inputs[2], &desc.outputs[0]}) {
    if (operand->rank() != rank) {
      return invalid_argument("operand of rank {}, expected {}", operand->rank(), rank);
    }
    if (operand->dtype != desc.inputs[0].dtype || !is_float(operand->dtype)) {
      return invalid_argument("query is {}, another operand {}: expected one float dtype",
                              dtype_name(desc.inputs[0].dtype), dtype_name(operand->dtype));
    }
    if (operand->layout != Layout::kPlain) return invalid_argument("operands must be plain");
  }
  if (masked) {
    const TensorDesc& mask = desc.inputs[3];
    if (mask.rank() < 1 || mask.rank() > 4)
      return invalid_argument("mask of rank {}, expected 1 to 4", mask.rank());
    if (mask.layout != Layout::kPlain) return invalid_argument("operands must be plain");
    if (!is_float(mask.dtype) && !is_integer(mask.dtype) && mask.dtype != DType::kBool)
      return invalid_argument("mask of dtype {}", dtype_name(mask.dtype));
  }
  STOKER_TRY(check_attention_heads(p));
  if (!std::isfinite(p.scale)) return invalid_argument("scale {} is not finite", p.scale);
  if (!std::isfinite(p.softcap) || p.softcap < 0)
    return invalid_argument("softcap {}, expected 0 or more", p.softcap);
  if (std::isnan(p.masked_score)) return invalid_argument("masked_score is NaN");
  if (p.window < 0 || (p.window > 0 && !p.causal))
    return invalid_argument("window {} of an attention that is {}causal", p.window,
                            p.causal ? "" : "not ");
  return Status::ok();
}

Status check_attention(const Desc& desc) {
  const auto& params = desc.as<AttentionParams>();
  const Extents &q = desc.inputs[0].dims, &k = desc.inputs[1].dims, &v = desc.inputs[2].dims;
  if (params.packed &&
      (q[2] % params.q_heads != 0 || k[2] % params.kv_heads != 0 || v[2] % params.kv_heads != 0)) {
    return invalid_argument("{} and {} heads do not divide {}, {} and {}", params.q_heads,
                            params.kv_heads, shape_text(q), shape_text(k), shape_text(v));
  }
  const AttentionExtents e = attention_extents(desc);
  if (e.kv_heads < 1 ? e.q_heads > 0 : e.q_heads % e.kv_heads != 0) {
    return invalid_argument("{} query heads cannot share {} key heads evenly", e.q_heads,
                            e.kv_heads);
  }
  const auto expected = [&](int64_t heads, int64_t length, int64_t width) {
    int64_t joined = 0;
    if (__builtin_mul_overflow(heads, width, &joined)) joined = -1;  // no operand has this extent
    return params.packed ? Extents{e.batch, length, joined}
                         : Extents{e.batch, heads, length, width};
  };
  STOKER_TRY(expect_dims("the key", k, expected(e.kv_heads, e.kv_length, e.head)));
  STOKER_TRY(expect_dims("the value", v, expected(e.kv_heads, e.kv_length, e.v_head)));
  STOKER_TRY(
      expect_dims("the output", desc.outputs[0].dims, expected(e.q_heads, e.q_length, e.v_head)));
  if (desc.inputs.size() < 4) return Status::ok();
  return check_mask(desc.inputs[3].dims, {e.batch, e.q_heads, e.q_length, e.kv_length},
                    params.mask_repeats);
}

}  // namespace stoker
