// check_desc on resize and on transposed convolutions: sound descs pass, and everything that would
// lead a kernel out of its buffers is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/engine/refusals.h"

namespace stoker {
namespace {

using test::expect_refused;
using test::f32;
using test::params;

Desc resize() {
  ResizeParams p;
  p.rule.mode = ResampleRule::Mode::kLinear;
  p.scales = {1, 1, 2, 0.5};
  return {p, {f32({2, 3, 5, 8})}, {f32({2, 3, 10, 4})}};
}

Desc transposed() {
  ConvParams p;
  p.transposed = true;
  p.strides = {2, 1};
  p.dilations = {1, 2};
  p.pads = {1, 0, -1, 1};
  p.group = 2;
  // (5 - 1) * 2 + (3 - 1) + 1 - 1 + 1 and (6 - 1) + (3 - 1) * 2 + 1 - 1
  return {p, {f32({1, 8, 5, 6}), f32({8, 3, 3, 3})}, {f32({1, 6, 11, 9})}};
}

TEST(CheckDesc, SoundResizesAndTransposedConvsPass) {
  EXPECT_EQ(check_desc(resize()).message(), "");
  EXPECT_EQ(check_desc(transposed()).message(), "");
  Desc empty = resize();
  empty.inputs[0].dims[0] = empty.outputs[0].dims[0] = 0;
  EXPECT_TRUE(check_desc(empty).is_ok());
}

TEST(CheckDesc, ResizeRefusals) {
  expect_refused({
      {"inputs", resize, [](Desc& d) { d.inputs.push_back(d.inputs[0]); }},
      {"no input", resize, [](Desc& d) { d.inputs.clear(); }},
      {"rank", resize, [](Desc& d) { d.outputs[0].dims.pop_back(); }},
      {"dtype", resize, [](Desc& d) { d.outputs[0].dtype = DType::kF64; }},
      {"integers between", resize,
       [](Desc& d) { d.inputs[0].dtype = d.outputs[0].dtype = DType::kU8; }},
      {"nothing to read", resize, [](Desc& d) { d.inputs[0].dims[3] = 0; }},
      {"scales", resize, [](Desc& d) { params<ResizeParams>(d).scales.pop_back(); }},
      {"scale 0", resize, [](Desc& d) { params<ResizeParams>(d).scales[1] = 0; }},
      {"scale NaN", resize, [](Desc& d) { params<ResizeParams>(d).scales[1] = NAN; }},
      {"endless scale", resize, [](Desc& d) { params<ResizeParams>(d).scales[1] = HUGE_VAL; }},
      {"mode", resize,
       [](Desc& d) { params<ResizeParams>(d).rule.mode = static_cast<ResampleRule::Mode>(3); }},
      {"cropping", resize,
       [](Desc& d) {
         params<ResizeParams>(d).rule.coordinates = ResampleRule::Coordinates::kTfCropAndResize;
       }},
      {"rounding", resize,
       [](Desc& d) {
         params<ResizeParams>(d).rule.nearest = static_cast<ResampleRule::Nearest>(5);
       }},
      {"cubic", resize, [](Desc& d) { params<ResizeParams>(d).rule.cubic_a = NAN; }},
  });
}

TEST(CheckDesc, TransposedConvRefusals) {
  expect_refused({
      {"output", transposed, [](Desc& d) { d.outputs[0].dims[2] = 12; }},
      {"output channels", transposed, [](Desc& d) { d.outputs[0].dims[1] = 3; }},
      {"input channels", transposed, [](Desc& d) { d.inputs[0].dims[1] = 6; }},
      {"group", transposed, [](Desc& d) { params<ConvParams>(d).group = 3; }},
      {"integers", transposed, [](Desc& d) { d.inputs[0].dtype = DType::kU8; }},
      {"begin", transposed, [](Desc& d) { params<ConvParams>(d).pads[0] = -1; }},
      {"end", transposed, [](Desc& d) { params<ConvParams>(d).pads[2] = INT64_MIN; }},
      {"stride 0", transposed, [](Desc& d) { params<ConvParams>(d).strides[0] = 0; }},
      {"endless stride", transposed, [](Desc& d) { params<ConvParams>(d).strides[0] = INT64_MAX; }},
      {"auto pad", transposed,
       [](Desc& d) { params<ConvParams>(d).auto_pad = ConvParams::AutoPad::kSameUpper; }},
      {"as it were none", transposed, [](Desc& d) { params<ConvParams>(d).transposed = false; }},
  });
}

}  // namespace
}  // namespace stoker
