// check_desc on attention: sound descs pass, and everything that would lead a kernel out of its
// buffers is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/engine/refusals.h"

namespace stoker {
namespace {

using test::expect_refused;
using test::f32;
using test::params;
using test::plain;

Desc attention() {
  AttentionParams p;
  p.window = 4;
  p.causal = true;
  return {p,
          {f32({2, 6, 5, 8}), f32({2, 3, 7, 8}), f32({2, 3, 7, 4}), plain(DType::kBool, {6, 1, 7})},
          {f32({2, 6, 5, 4})}};
}

Desc packed_attention() {
  AttentionParams p;
  p.packed = true;
  p.q_heads = 6, p.kv_heads = 3;
  return {p, {f32({2, 5, 48}), f32({2, 7, 24}), f32({2, 7, 12}), f32({5, 6})}, {f32({2, 5, 24})}};
}

TEST(CheckDesc, SoundAttentionPasses) {
  EXPECT_TRUE(check_desc(attention()).is_ok());
  EXPECT_TRUE(check_desc(packed_attention()).is_ok());
}

TEST(CheckDesc, AttentionRefusals) {
  expect_refused({
      {"inputs", attention, [](Desc& d) { d.inputs.resize(2); }},
      {"more inputs", attention, [](Desc& d) { d.inputs.push_back(d.inputs[0]); }},
      {"outputs", attention, [](Desc& d) { d.outputs.push_back(d.outputs[0]); }},
      {"absent mask", attention, [](Desc& d) { d.inputs[3] = {}; }},
      {"query rank", attention, [](Desc& d) { d.inputs[0].dims.pop_back(); }},
      {"output rank", attention, [](Desc& d) { d.outputs[0].dims.push_back(1); }},
      {"key dtype", attention, [](Desc& d) { d.inputs[1].dtype = DType::kF64; }},
      {"integers", attention,
       [](Desc& d) {
         for (TensorDesc& operand : d.inputs) operand.dtype = DType::kI32;
         d.outputs[0].dtype = DType::kI32;
       }},
      {"layout", attention, [](Desc& d) { d.inputs[2].layout = Layout::kC16; }},
      {"batch of the value", attention, [](Desc& d) { d.inputs[2].dims[0] = 1; }},
      {"key heads", attention, [](Desc& d) { d.inputs[1].dims[1] = 2; }},
      {"no key heads", attention, [](Desc& d) { d.inputs[1].dims[1] = d.inputs[2].dims[1] = 0; }},
      {"uneven heads", attention, [](Desc& d) { d.inputs[1].dims[1] = d.inputs[2].dims[1] = 4; }},
      {"value length", attention, [](Desc& d) { d.inputs[2].dims[2] = 8; }},
      {"head width", attention, [](Desc& d) { d.inputs[1].dims[3] = 9; }},
      {"output width", attention, [](Desc& d) { d.outputs[0].dims[3] = 8; }},
      {"output length", attention, [](Desc& d) { d.outputs[0].dims[2] = 6; }},
      {"mask rank", attention,
       [](Desc& d) {
         d.inputs[3].dims = {1, 1, 1, 1, 7};
       }},
      {"mask scalar", attention, [](Desc& d) { d.inputs[3].dims = {}; }},
      {"mask heads", attention,
       [](Desc& d) {
         d.inputs[3].dims = {5, 1, 7};
       }},
      {"mask width", attention,
       [](Desc& d) {
         d.inputs[3].dims = {1, 8};
       }},
      {"mask dtype", attention, [](Desc& d) { d.inputs[3].dtype = DType::kC64; }},
      {"mask that repeats", packed_attention,
       [](Desc& d) { params<AttentionParams>(d).mask_repeats = true; }},
      {"heads beside dims", attention, [](Desc& d) { params<AttentionParams>(d).q_heads = 6; }},
      {"no heads", packed_attention, [](Desc& d) { params<AttentionParams>(d).q_heads = 0; }},
      {"no shared heads", packed_attention,
       [](Desc& d) { params<AttentionParams>(d).kv_heads = 0; }},
      {"negative heads", packed_attention,
       [](Desc& d) { params<AttentionParams>(d).kv_heads = -3; }},
      {"shared unevenly", packed_attention,
       [](Desc& d) { params<AttentionParams>(d).kv_heads = 4; }},
      {"heads do not divide", packed_attention, [](Desc& d) { d.inputs[2].dims[2] = 13; }},
      {"heads overflow", packed_attention,
       [](Desc& d) {
         params<AttentionParams>(d).q_heads = INT32_MAX;
         params<AttentionParams>(d).kv_heads = 1;
         d.inputs[0].dims[2] = d.inputs[1].dims[2] = 0;
         d.inputs[2].dims = {1, 1, int64_t{1} << 40};
       }},
      {"scores overflow", attention,
       [](Desc& d) {
         d.inputs.pop_back();
         const int64_t length = int64_t{1} << 30;
         d.inputs[0].dims = {1, 1, length, 1}, d.inputs[1].dims = {1, 1, length, 1};
         d.inputs[2].dims = {1, 1, length, 1}, d.outputs[0].dims = {1, 1, length, 1};
       }},
      {"scale", attention, [](Desc& d) { params<AttentionParams>(d).scale = HUGE_VAL; }},
      {"softcap", attention, [](Desc& d) { params<AttentionParams>(d).softcap = -1; }},
      {"softcap NaN", attention, [](Desc& d) { params<AttentionParams>(d).softcap = NAN; }},
      {"masked score", attention, [](Desc& d) { params<AttentionParams>(d).masked_score = NAN; }},
      {"window", attention, [](Desc& d) { params<AttentionParams>(d).window = -1; }},
      {"window alone", attention, [](Desc& d) { params<AttentionParams>(d).causal = false; }},
  });
}

}  // namespace
}  // namespace stoker
