// check_desc: a sound desc of each family passes, and everything that would lead a kernel out of
// its buffers is refused.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/check.h"

#include "tests/engine/refusals.h"

namespace stoker {
namespace {

using test::expect_refused;
using test::f32;
using test::params;
using test::plain;

RegionOperand identity(int rank) {
  RegionOperand map;
  for (int d = 0; d < rank; ++d) map.dim_of.push_back(static_cast<int8_t>(d));
  return map;
}

RegionProgram relu(int rank, DType dtype) {
  RegionProgram p;
  p.rank = rank;
  p.reduced.assign(static_cast<size_t>(rank), 0);
  p.inputs = {identity(rank)};
  p.instructions = {{RegionOp::kInput, dtype, {0, -1, -1}, 0},
                    {RegionOp::kConstant, dtype, {-1, -1, -1}, 0},
                    {RegionOp::kMax, dtype, {0, 1, -1}, 0}};
  p.outputs = {{2, identity(rank)}};
  return p;
}

Desc gemm() { return {GemmParams{}, {f32({2, 1, 5, 7}), f32({3, 7, 4})}, {f32({2, 3, 5, 4})}}; }

Desc gemm_epilogue() {
  GemmParams p;
  p.epilogue = relu(2, DType::kF32);
  p.epilogue.inputs.push_back({{-1, 0}});
  p.epilogue.instructions.push_back({RegionOp::kInput, DType::kF32, {1, -1, -1}, 0});
  p.epilogue.instructions.push_back({RegionOp::kAdd, DType::kF32, {2, 3, -1}, 0});
  p.epilogue.outputs[0].value = 4;
  return {p, {f32({5, 7}), f32({7, 4}), f32({4})}, {f32({5, 4})}};
}

Desc conv() {
  ConvParams p;
  p.strides = {2, 1};
  p.dilations = {1, 2};
  p.pads = {1, 0, 1, 0};
  p.group = 2;
  return {p, {f32({1, 8, 9, 9}), f32({6, 4, 3, 3})}, {f32({1, 6, 5, 5})}};
}

Desc conv_i8() {
  ConvParams p;
  p.strides = p.dilations = {1};
  p.pads = {0, 0};
  p.x_zero = 128;
  return {p,
          {plain(DType::kU8, {1, 4, 5}), plain(DType::kI8, {6, 4, 3})},
          {plain(DType::kI32, {1, 6, 3})}};
}

// With a zero point that each run brings along.
Desc conv_i8_running() {
  Desc d = conv_i8();
  auto& p = params<ConvParams>(d);
  p.x_zero = 0;
  p.x_zero_input = 2;
  p.epilogue = relu(3, DType::kI32);
  p.epilogue.inputs.push_back({{-1, -1, 0}});
  d.inputs.push_back(plain(DType::kU8, {1}));
  return d;
}

Desc region() {
  RegionProgram p = relu(3, DType::kF32);
  p.reduced = {0, 0, 1};
  p.instructions.push_back({RegionOp::kReduceSum, DType::kF32, {2, -1, -1}, 0});
  p.outputs.push_back({3, {{0, 1, -1}}});
  return {RegionParams{p, {2, 3, 4}}, {f32({2, 1, 4})}, {f32({2, 3, 4}), f32({2, 3})}};
}

Desc pool() {
  PoolParams p;
  p.kernel = {3, 3};
  p.strides = {2, 2};
  p.dilations = {1, 1};
  p.pads = {0, 0, 0, 0};
  p.ceil_mode = true;
  return {p, {f32({1, 4, 8, 8})}, {f32({1, 4, 4, 4})}};
}

Desc copy() { return {CopyParams{{1, 0}, {3, 4}, {1, -2}, -1}, {f32({5, 6})}, {f32({3, 3})}}; }
Desc concat() { return {CopyParams{{0, 1}, {}, {}, 1}, {f32({2, 3}), f32({2, 4})}, {f32({2, 7})}}; }
Desc gather() {
  return {GatherParams{1}, {f32({2, 9, 3}), plain(DType::kI64, {4, 5})}, {f32({2, 4, 5, 3})}};
}
Desc fallback() {
  return {FallbackParams{"op", {}}, {f32({2}), TensorDesc{}}, {plain(DType::kString, {2})}};
}

TEST(CheckDesc, SoundDescsPass) {
  for (const auto& [name, desc] :
       std::vector<std::pair<const char*, Desc>>{{"gemm", gemm()},
                                                 {"gemm_epilogue", gemm_epilogue()},
                                                 {"conv", conv()},
                                                 {"conv_i8", conv_i8()},
                                                 {"region", region()},
                                                 {"pool", pool()},
                                                 {"copy", copy()},
                                                 {"concat", concat()},
                                                 {"gather", gather()},
                                                 {"fallback", fallback()}}) {
    const Status status = check_desc(desc);
    EXPECT_TRUE(status.is_ok()) << name << ": " << status.message();
  }
}

TEST(CheckDesc, EmptyExtentsPass) {
  Desc d{GemmParams{}, {f32({0, 7}), f32({7, 4})}, {f32({0, 4})}};
  EXPECT_TRUE(check_desc(d).is_ok());
  d = {CopyParams{{0}, {7}, {1}, -1}, {f32({5})}, {f32({0})}};
  EXPECT_TRUE(check_desc(d).is_ok());
  d = {GatherParams{0}, {f32({0, 3}), plain(DType::kI32, {0})}, {f32({0, 3})}};
  EXPECT_TRUE(check_desc(d).is_ok());
}

TEST(CheckDesc, OperandRefusals) {
  expect_refused({
      {"negative extent", gemm, [](Desc& d) { d.inputs[0].dims[2] = d.outputs[0].dims[2] = -5; }},
      {"huge extent", gemm,
       [](Desc& d) { d.inputs[0].dims[2] = d.outputs[0].dims[2] = int64_t{1} << 41; }},
      {"huge product", copy,
       [](Desc& d) {
         d.inputs[0].dims = {int64_t{1} << 40, int64_t{1} << 40};
       }},
      {"huge strides of an empty tensor", fallback,
       [](Desc& d) {
         d.inputs[0].dims = {0, int64_t{1} << 40, int64_t{1} << 40};
       }},
      {"rank 9", fallback, [](Desc& d) { d.inputs[0].dims.assign(9, 1); }},
      {"unknown dtype", fallback, [](Desc& d) { d.inputs[0].dtype = static_cast<DType>(200); }},
      {"absent operand", gemm, [](Desc& d) { d.inputs[0].dtype = DType::kInvalid; }},
      {"string gather", gather,
       [](Desc& d) { d.inputs[0].dtype = d.outputs[0].dtype = DType::kString; }},
      {"c16 of rank 2", copy, [](Desc& d) { d.inputs[0].layout = Layout::kC16; }},
      {"c16 fallback", fallback,
       [](Desc& d) {
         d.inputs[0].dims = {1, 2, 3};
         d.inputs[0].layout = Layout::kC16;
       }},
      {"unknown layout", gemm, [](Desc& d) { d.inputs[0].layout = static_cast<Layout>(7); }},
      {"unknown packing", gemm, [](Desc& d) { d.inputs[1].packing = static_cast<Packing>(99); }},
      {"packed variable", gemm, [](Desc& d) { d.inputs[1].packing = Packing::kGemmPanel; }},
      {"packing of a", gemm,
       [](Desc& d) {
         d.inputs[0].constant = true;
         d.inputs[0].packing = Packing::kGemmPanel;
       }},
      {"conv packing of a gemm", gemm,
       [](Desc& d) {
         d.inputs[1].constant = true;
         d.inputs[1].packing = Packing::kConvC16;
       }},
      {"i8 packing of f32", gemm,
       [](Desc& d) {
         d.inputs[1].constant = true;
         d.inputs[1].packing = Packing::kGemmPanelI8;
       }},
      {"no operands", gemm, [](Desc& d) { d.inputs.clear(); }},
      {"no outputs", conv, [](Desc& d) { d.outputs.clear(); }},
      {"empty fallback", fallback, [](Desc& d) { params<FallbackParams>(d).op.clear(); }},
  });
}

TEST(CheckDesc, GemmRefusals) {
  expect_refused({
      {"inner extent", gemm, [](Desc& d) { d.inputs[1].dims[1] = 8; }},
      {"transposed", gemm, [](Desc& d) { params<GemmParams>(d).transpose_b = true; }},
      {"batch", gemm, [](Desc& d) { d.inputs[0].dims[1] = 2; }},
      {"output rows", gemm, [](Desc& d) { d.outputs[0].dims[2] = 6; }},
      {"output batch", gemm, [](Desc& d) { d.outputs[0].dims[1] = 1; }},
      {"vector", gemm, [](Desc& d) { d.inputs[0].dims = {7}; }},
      {"dtypes", gemm, [](Desc& d) { d.inputs[1].dtype = DType::kF64; }},
      {"output dtype", gemm, [](Desc& d) { d.outputs[0].dtype = DType::kF64; }},
      {"zero point of floats", gemm, [](Desc& d) { params<GemmParams>(d).a_zero = 1; }},
      {"computed zero point of floats", gemm_epilogue,
       [](Desc& d) { params<GemmParams>(d).a_zero_input = 2; }},
      {"extra operand", gemm, [](Desc& d) { d.inputs.push_back(f32({4})); }},
      {"epilogue operand missing", gemm_epilogue, [](Desc& d) { d.inputs.pop_back(); }},
      {"epilogue operand extent", gemm_epilogue, [](Desc& d) { d.inputs[2].dims = {5}; }},
      {"epilogue operand dtype", gemm_epilogue, [](Desc& d) { d.inputs[2].dtype = DType::kI32; }},
      {"epilogue rank", gemm_epilogue, [](Desc& d) { params<GemmParams>(d).epilogue.rank = 3; }},
      {"epilogue accumulator map", gemm_epilogue,
       [](Desc& d) {
         params<GemmParams>(d).epilogue.inputs[0].dim_of = {1, 0};
       }},
      {"epilogue reduction", gemm_epilogue,
       [](Desc& d) { params<GemmParams>(d).epilogue.reduced[1] = 1; }},
      {"epilogue output", gemm_epilogue,
       [](Desc& d) { params<GemmParams>(d).epilogue.outputs[0].value = 5; }},
      {"epilogue output map", gemm_epilogue,
       [](Desc& d) {
         params<GemmParams>(d).epilogue.outputs[0].map.dim_of = {-1, 1};
       }},
      {"epilogue output dtype", gemm_epilogue, [](Desc& d) { d.outputs[0].dtype = DType::kU8; }},
  });
}

TEST(CheckDesc, ConvRefusals) {
  expect_refused({
      {"channels", conv, [](Desc& d) { d.inputs[1].dims[1] = 5; }},
      {"group of filters", conv, [](Desc& d) { d.inputs[1].dims[0] = d.outputs[0].dims[1] = 7; }},
      {"group 0", conv, [](Desc& d) { params<ConvParams>(d).group = 0; }},
      {"group 3", conv, [](Desc& d) { params<ConvParams>(d).group = 3; }},
      {"stride 0", conv, [](Desc& d) { params<ConvParams>(d).strides[0] = 0; }},
      {"huge dilation", conv, [](Desc& d) { params<ConvParams>(d).dilations[0] = INT64_MAX; }},
      {"negative pad", conv, [](Desc& d) { params<ConvParams>(d).pads[0] = -1; }},
      {"missing pads", conv, [](Desc& d) { params<ConvParams>(d).pads.clear(); }},
      {"missing stride", conv, [](Desc& d) { params<ConvParams>(d).strides.pop_back(); }},
      {"auto_pad", conv,
       [](Desc& d) { params<ConvParams>(d).auto_pad = static_cast<ConvParams::AutoPad>(9); }},
      {"output extent", conv, [](Desc& d) { d.outputs[0].dims[3] = 6; }},
      {"output batch", conv, [](Desc& d) { d.outputs[0].dims[0] = 2; }},
      {"output channels", conv, [](Desc& d) { d.outputs[0].dims[1] = 8; }},
      {"kernel 0", conv, [](Desc& d) { d.inputs[1].dims[3] = 0; }},
      {"rank", conv, [](Desc& d) { d.inputs[1].dims.pop_back(); }},
      {"rank 2", conv,
       [](Desc& d) {
         d.inputs[0].dims = d.inputs[1].dims = d.outputs[0].dims = {1, 1};
       }},
      {"zero point", conv_i8, [](Desc& d) { params<ConvParams>(d).x_zero = 256; }},
      {"two zero points", conv_i8_running, [](Desc& d) { params<ConvParams>(d).x_zero = 1; }},
      {"zero point nowhere", conv_i8_running,
       [](Desc& d) { params<ConvParams>(d).x_zero_input = 3; }},
      {"zero point in the weight", conv_i8_running,
       [](Desc& d) { params<ConvParams>(d).x_zero_input = 1; }},
      {"zero point before all", conv_i8_running,
       [](Desc& d) { params<ConvParams>(d).x_zero_input = -2; }},
      {"zero points", conv_i8_running, [](Desc& d) { d.inputs[2].dims = {2}; }},
      {"no zero point", conv_i8_running, [](Desc& d) { d.inputs[2].dims = {0}; }},
      {"zero point of another dtype", conv_i8_running,
       [](Desc& d) { d.inputs[2].dtype = DType::kI8; }},
      {"zero point of i8", conv_i8, [](Desc& d) { params<ConvParams>(d).w_zero = 128; }},
      {"accumulator dtype", conv_i8, [](Desc& d) { d.outputs[0].dtype = DType::kF32; }},
  });
  Desc same = conv();
  params<ConvParams>(same).auto_pad = ConvParams::AutoPad::kSameUpper;
  EXPECT_FALSE(check_desc(same).is_ok());
  same.outputs[0].dims = {1, 6, 5, 9};
  EXPECT_TRUE(check_desc(same).is_ok()) << check_desc(same).message();
}

TEST(CheckDesc, RegionRefusals) {
  expect_refused({
      {"extents", region, [](Desc& d) { params<RegionParams>(d).extents.pop_back(); }},
      {"negative extent", region, [](Desc& d) { params<RegionParams>(d).extents[0] = -2; }},
      {"overflow", region,
       [](Desc& d) { params<RegionParams>(d).extents.assign(3, int64_t{1} << 40); }},
      {"input extent", region, [](Desc& d) { d.inputs[0].dims[2] = 3; }},
      {"output broadcast", region, [](Desc& d) { d.outputs[0].dims[1] = 1; }},
      {"output larger", region, [](Desc& d) { d.outputs[1].dims[1] = 4; }},
      {"output smaller", region, [](Desc& d) { d.outputs[1].dims[0] = 1; }},
      {"unmapped input dim", region,
       [](Desc& d) { params<RegionParams>(d).program.inputs[0].dim_of[2] = -1; }},
      {"map out of rank", region,
       [](Desc& d) { params<RegionParams>(d).program.inputs[0].dim_of[2] = 3; }},
      {"map negative", region,
       [](Desc& d) { params<RegionParams>(d).program.inputs[0].dim_of[2] = -2; }},
      {"map twice", region,
       [](Desc& d) { params<RegionParams>(d).program.inputs[0].dim_of[2] = 0; }},
      {"output drops a dim that is not reduced", region,
       [](Desc& d) {
         params<RegionParams>(d).program.outputs[1].map.dim_of = {-1, 1, -1};
         d.outputs[1].dims[0] = 1;
       }},
      {"input count", region, [](Desc& d) { d.inputs.push_back(f32({1})); }},
      {"output count", region, [](Desc& d) { d.outputs.pop_back(); }},
      {"input dtype", region, [](Desc& d) { d.inputs[0].dtype = DType::kI32; }},
      {"output dtype", region, [](Desc& d) { d.outputs[0].dtype = DType::kI8; }},
      {"argument", region,
       [](Desc& d) { params<RegionParams>(d).program.instructions[2].args[0] = 2; }},
      {"input argument", region,
       [](Desc& d) { params<RegionParams>(d).program.instructions[0].args[0] = 1; }},
      {"unknown op", region,
       [](Desc& d) {
         params<RegionParams>(d).program.instructions[2].op = static_cast<RegionOp>(200);
       }},
      {"rank 9", region, [](Desc& d) { params<RegionParams>(d).program.rank = 9; }},
      {"rank -1", region, [](Desc& d) { params<RegionParams>(d).program.rank = -1; }},
      {"no outputs", region, [](Desc& d) { params<RegionParams>(d).program.outputs.clear(); }},
      {"too many instructions", region,
       [](Desc& d) {
         params<RegionParams>(d).program.instructions.resize(5000, {RegionOp::kConstant});
       }},
  });
}

TEST(CheckDesc, PoolCopyGatherRefusals) {
  expect_refused({
      {"pool output", pool, [](Desc& d) { d.outputs[0].dims[3] = 5; }},
      {"pool channels", pool, [](Desc& d) { d.outputs[0].dims[1] = 5; }},
      {"pool kernel", pool, [](Desc& d) { params<PoolParams>(d).kernel[0] = 0; }},
      {"pool pads", pool, [](Desc& d) { params<PoolParams>(d).pads[0] = -1; }},
      {"pool dtype", pool, [](Desc& d) { d.outputs[0].dtype = DType::kF64; }},
      {"pool kind", pool,
       [](Desc& d) { params<PoolParams>(d).kind = static_cast<PoolParams::Kind>(2); }},
      {"global pool", pool, [](Desc& d) { params<PoolParams>(d) = {.global = true}; }},
      {"perm repeated", copy,
       [](Desc& d) {
         params<CopyParams>(d).perm = {1, 1};
       }},
      {"perm range", copy,
       [](Desc& d) {
         params<CopyParams>(d).perm = {2, 0};
       }},
      {"perm size", copy, [](Desc& d) { params<CopyParams>(d).perm = {}; }},
      {"slice end", copy, [](Desc& d) { d.outputs[0].dims[0] = 4; }},
      {"slice backwards", copy, [](Desc& d) { d.outputs[0].dims[1] = 4; }},
      {"slice start", copy, [](Desc& d) { params<CopyParams>(d).starts[0] = -1; }},
      {"slice step 0", copy, [](Desc& d) { params<CopyParams>(d).steps[0] = 0; }},
      {"slice step overflow", copy, [](Desc& d) { params<CopyParams>(d).steps[0] = INT64_MIN; }},
      {"slice without bounds", copy,
       [](Desc& d) {
         params<CopyParams>(d).starts.clear();
         params<CopyParams>(d).steps.clear();
       }},
      {"copy dtype", copy, [](Desc& d) { d.outputs[0].dtype = DType::kI8; }},
      {"copy inputs", copy, [](Desc& d) { d.inputs.push_back(d.inputs[0]); }},
      {"concat sum", concat, [](Desc& d) { d.outputs[0].dims[1] = 8; }},
      {"concat other dim", concat, [](Desc& d) { d.inputs[1].dims[0] = 3; }},
      {"concat axis", concat, [](Desc& d) { params<CopyParams>(d).concat_axis = 2; }},
      {"concat permutes", concat,
       [](Desc& d) {
         params<CopyParams>(d).perm = {1, 0};
       }},
      {"concat slices", concat,
       [](Desc& d) {
         params<CopyParams>(d).starts = {0, 1};
       }},
      {"concat of nothing", concat, [](Desc& d) { d.inputs.clear(); }},
      {"gather axis", gather, [](Desc& d) { params<GatherParams>(d).axis = 3; }},
      {"gather negative axis", gather, [](Desc& d) { params<GatherParams>(d).axis = -1; }},
      {"gather output", gather, [](Desc& d) { d.outputs[0].dims[0] = 3; }},
      {"gather indices", gather, [](Desc& d) { d.inputs[1].dtype = DType::kF32; }},
      {"gather dtype", gather, [](Desc& d) { d.outputs[0].dtype = DType::kF64; }},
  });
}

}  // namespace
}  // namespace stoker
