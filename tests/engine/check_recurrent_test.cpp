// check_desc on recurrent layers: sound descs pass, and everything that would lead a kernel out of
// its buffers is refused.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/desc/recurrent.h"
#include "tests/engine/refusals.h"

namespace stoker {
namespace {

using test::expect_refused;
using test::f32;
using test::params;
using test::plain;

constexpr Activation kTanh{ActivationKind::kTanh, 0, 0};

// 5 steps, batch 2, input 3, hidden 4, both directions, with every operand.
Desc lstm() {
  RecurrentParams p;
  p.direction = RecurrentParams::Direction::kBidirectional;
  p.activations.assign(6, kTanh);
  return {p,
          {f32({5, 2, 3}), f32({2, 16, 3}), f32({2, 16, 4}), f32({2, 32}), plain(DType::kI32, {2}),
           f32({2, 2, 4}), f32({2, 2, 4}), f32({2, 12})},
          {f32({5, 2, 2, 4}), f32({2, 2, 4}), f32({2, 2, 4})}};
}

Desc gru() {
  RecurrentParams p;
  p.cell = RecurrentParams::Cell::kGru;
  p.activations.assign(2, kTanh);
  p.batch_first = true;
  return {p, {f32({2, 5, 3}), f32({1, 12, 3}), f32({1, 12, 4})}, {f32({2, 5, 1, 4})}};
}

TEST(CheckDesc, SoundRecurrentLayersPass) {
  EXPECT_EQ(check_desc(lstm()).message(), "");
  EXPECT_EQ(check_desc(gru()).message(), "");
  Desc partly = lstm();
  partly.inputs[kBias] = partly.inputs[kInitialC] = {};
  EXPECT_EQ(check_desc(partly).message(), "");
  Desc empty = gru();
  empty.inputs[0].dims[1] = empty.outputs[0].dims[1] = 0;
  EXPECT_EQ(check_desc(empty).message(), "");
}

// As lstm(), with weights of 8 bits.
Desc lstm_of_bytes() {
  Desc desc = lstm();
  desc.inputs[1].dtype = DType::kI8;
  desc.inputs[2].dtype = DType::kU8;
  desc.inputs.push_back(f32({2}));
  desc.inputs.push_back(f32({32}));
  return desc;
}

TEST(CheckDesc, RecurrentScales) {
  EXPECT_EQ(check_desc(lstm_of_bytes()).message(), "");
  Desc alone = lstm_of_bytes();
  alone.inputs[2].dtype = DType::kF32;
  alone.inputs[kStateScale] = {};
  alone.inputs[kInputScale] = f32({});
  EXPECT_EQ(check_desc(alone).message(), "");
  expect_refused({
      {"no scale", lstm_of_bytes, [](Desc& d) { d.inputs[kInputScale] = {}; }},
      {"too few", lstm_of_bytes, [](Desc& d) { d.inputs.resize(kStateScale); }},
      {"scales of floats", lstm_of_bytes, [](Desc& d) { d.inputs[2].dtype = DType::kF32; }},
      {"count", lstm_of_bytes, [](Desc& d) { d.inputs[kInputScale].dims = {3}; }},
      {"no scales", lstm_of_bytes, [](Desc& d) { d.inputs[kStateScale].dims = {0}; }},
      {"rank", lstm_of_bytes,
       [](Desc& d) {
         d.inputs[kStateScale].dims = {2, 16};
       }},
      {"dtype", lstm_of_bytes, [](Desc& d) { d.inputs[kStateScale].dtype = DType::kF64; }},
      {"wide integers", lstm_of_bytes, [](Desc& d) { d.inputs[1].dtype = DType::kI16; }},
      {"rank of w", lstm_of_bytes,
       [](Desc& d) {
         d.inputs[1].dims = {32, 3};
       }},
      {"beside f16", lstm_of_bytes, [](Desc& d) { d.inputs[0].dtype = DType::kF16; }},
  });
}

TEST(CheckDesc, RecurrentOperands) {
  expect_refused({
      {"too few", gru, [](Desc& d) { d.inputs.pop_back(); }},
      {"too many", gru, [](Desc& d) { d.inputs.resize(11); }},
      {"cell state of a gru", gru, [](Desc& d) { d.inputs.resize(7, d.inputs[0]); }},
      {"no output", gru, [](Desc& d) { d.outputs.clear(); }},
      {"outputs", gru, [](Desc& d) { d.outputs.resize(3, d.outputs[0]); }},
      {"no r", lstm, [](Desc& d) { d.inputs[2] = {}; }},
      {"absent output", lstm, [](Desc& d) { d.outputs[1] = {}; }},
      {"rank of x", lstm, [](Desc& d) { d.inputs[0].dims.pop_back(); }},
      {"rank of r", lstm,
       [](Desc& d) {
         d.inputs[2].dims = {2, 64};
       }},
      {"rank of y", lstm,
       [](Desc& d) {
         d.outputs[0].dims = {5, 4, 4};
       }},
      {"dtype of w", lstm, [](Desc& d) { d.inputs[1].dtype = DType::kF64; }},
      {"dtype of lengths", lstm, [](Desc& d) { d.inputs[kLengths].dtype = DType::kI64; }},
      {"integers", lstm, [](Desc& d) { d.inputs[0].dtype = DType::kI32; }},
      {"rows of w", lstm, [](Desc& d) { d.inputs[1].dims[1] = 15; }},
      {"columns of w", lstm, [](Desc& d) { d.inputs[1].dims[2] = 4; }},
      {"directions of r", lstm, [](Desc& d) { d.inputs[2].dims[0] = 1; }},
      {"rows of r", lstm, [](Desc& d) { d.inputs[2].dims[1] = 12; }},
      {"bias", lstm, [](Desc& d) { d.inputs[kBias].dims[1] = 31; }},
      {"lengths", lstm, [](Desc& d) { d.inputs[kLengths].dims[0] = 1; }},
      {"initial h", lstm, [](Desc& d) { d.inputs[kInitialH].dims[2] = 3; }},
      {"initial c", lstm, [](Desc& d) { d.inputs[kInitialC].dims[1] = 1; }},
      {"peepholes", lstm, [](Desc& d) { d.inputs[kPeepholes].dims[1] = 11; }},
      {"steps of y", lstm, [](Desc& d) { d.outputs[0].dims[0] = 6; }},
      {"last c", lstm, [](Desc& d) { d.outputs[2].dims[2] = 5; }},
      {"order of y", gru,
       [](Desc& d) {
         d.outputs[0].dims = {5, 1, 2, 4};
       }},
      {"huge hidden", gru, [](Desc& d) { d.inputs[2].dims[2] = INT64_MAX / 2; }},
      {"huge gates", gru,
       [](Desc& d) {
         d.inputs[0].dims = {int64_t{1} << 22, int64_t{1} << 22, 0};
         d.inputs[1].dims[2] = 0;
         d.outputs[0].dims = {int64_t{1} << 22, int64_t{1} << 22, 1, 4};
       }},
  });
}

TEST(CheckDesc, RecurrentParameters) {
  using P = RecurrentParams;
  expect_refused({
      {"cell", lstm, [](Desc& d) { params<P>(d).cell = static_cast<P::Cell>(3); }},
      {"direction", lstm, [](Desc& d) { params<P>(d).direction = static_cast<P::Direction>(3); }},
      {"activations", lstm, [](Desc& d) { params<P>(d).activations.pop_back(); }},
      {"activation", lstm,
       [](Desc& d) { params<P>(d).activations[2].kind = static_cast<ActivationKind>(11); }},
      {"alpha", lstm, [](Desc& d) { params<P>(d).activations[0].alpha = NAN; }},
      {"beta", lstm, [](Desc& d) { params<P>(d).activations[0].beta = HUGE_VAL; }},
      {"clip", lstm, [](Desc& d) { params<P>(d).clip = -1; }},
      {"endless clip", lstm, [](Desc& d) { params<P>(d).clip = HUGE_VAL; }},
      {"coupled gru", gru, [](Desc& d) { params<P>(d).coupled = true; }},
      {"linear lstm", lstm, [](Desc& d) { params<P>(d).linear_first = true; }},
      {"packed elsewhere", lstm, [](Desc& d) { d.inputs[0].packing = Packing::kGatePanel; }},
      {"packed, not constant", lstm, [](Desc& d) { d.inputs[1].packing = Packing::kGatePanel; }},
  });
}

}  // namespace
}  // namespace stoker
