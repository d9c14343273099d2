// The attention family: its extents, what the verifier proves about it, and the op that says the
// same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

// The extents of an attention at the bound shape.
struct AttentionExtents {
  int64_t batch = 0, q_heads = 0, kv_heads = 0, q_length = 0, kv_length = 0, head = 0, v_head = 0;
};
AttentionExtents attention_extents(const Desc& desc);
// The op's call that says the same, for the reference.
FallbackParams attention_call(const AttentionParams& params);

// The halves of check_desc and check_desc_static. Extents without overflow stay with the caller.
Status check_attention_static(const Desc& desc);
Status check_attention(const Desc& desc);

}  // namespace stoker
