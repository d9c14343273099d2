// copy_plain against the reference copy, bit for bit: transposes, slices, concatenations, layout
// changes.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

TensorDesc operand(std::vector<int64_t> dims, DType dtype, Layout layout = Layout::kPlain) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.layout = layout;
  return desc;
}

void check(const Desc& desc) {
  std::mt19937 random(3);
  std::vector<Buffer> inputs;
  for (const TensorDesc& input : desc.inputs) inputs.push_back(random_bytes(input, random));
  expect_same_bits("copy_plain", desc, inputs);
}

const DType kSizes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64, DType::kC128};

TEST(CopyPlain, TransposesOfEverySize) {
  for (const DType dtype : kSizes) {
    for (const auto& [dims, perm] :
         std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
             {{7, 9}, {1, 0}},
             {{64, 200}, {1, 0}},
             {{3, 17, 4}, {2, 0, 1}},
             {{2, 12, 33, 16}, {0, 2, 1, 3}},
             {{2, 9, 11, 40}, {0, 3, 1, 2}},
             {{2, 40, 9, 11}, {0, 2, 3, 1}},
             {{5, 4, 3, 2}, {3, 2, 1, 0}},
             {{1, 1, 8}, {2, 1, 0}},
             {{4, 0, 3}, {1, 2, 0}},
             {{6}, {0}},
             {{}, {}}}) {
      SCOPED_TRACE(shape_text(dims) + " by " + shape_text(perm) + " of " +
                   std::string(dtype_name(dtype)));
      std::vector<int64_t> out;
      for (const int64_t from : perm) out.push_back(dims[static_cast<size_t>(from)]);
      CopyParams params;
      params.perm = perm;
      check(Desc{params, {operand(dims, dtype)}, {operand(out, dtype)}});
    }
  }
}

TEST(CopyPlain, SlicesWithSteps) {
  for (const DType dtype : kSizes) {
    CopyParams params;
    params.perm = {0, 1, 2};
    params.starts = {1, 9, 2};
    params.steps = {1, -2, 3};
    check(Desc{params, {operand({4, 10, 50}, dtype)}, {operand({2, 5, 16}, dtype)}});
    params.perm = {2, 0, 1};
    params.starts = {3, 0, 9};
    params.steps = {1, 2, -1};
    check(Desc{params, {operand({4, 10, 50}, dtype)}, {operand({40, 2, 10}, dtype)}});
  }
}

TEST(CopyPlain, Concatenates) {
  for (const DType dtype : kSizes) {
    for (const int64_t axis : {0, 1, 2}) {
      std::vector<TensorDesc> inputs;
      int64_t total = 0;
      for (const int64_t extent : {3, 1, 0, 20}) {
        std::vector<int64_t> dims{5, 6, 7};
        dims[static_cast<size_t>(axis)] = extent;
        total += extent;
        inputs.push_back(operand(dims, dtype));
      }
      std::vector<int64_t> out{5, 6, 7};
      out[static_cast<size_t>(axis)] = total;
      CopyParams params;
      params.perm = {0, 1, 2};
      params.concat_axis = axis;
      check(Desc{params, inputs, {operand(out, dtype)}});
    }
  }
}

TEST(CopyPlain, ChangesLayoutAndZeroesThePadding) {
  for (const DType dtype : kSizes) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{1, 16, 4, 5},
                                                              {2, 3, 30, 31},
                                                              {2, 40, 7, 7},
                                                              {3, 33, 1, 1},
                                                              {1, 100, 9},
                                                              {1, 5, 2, 3, 4},
                                                              {2, 0, 3, 3}}) {
      SCOPED_TRACE(shape_text(dims));
      CopyParams params;
      params.perm.resize(dims.size());
      std::iota(params.perm.begin(), params.perm.end(), 0);
      for (const auto& [from, to] :
           {std::pair(Layout::kPlain, Layout::kC16), std::pair(Layout::kC16, Layout::kPlain),
            std::pair(Layout::kC16, Layout::kC16)}) {
        check(Desc{params, {operand(dims, dtype, from)}, {operand(dims, dtype, to)}});
      }
    }
  }
}

TEST(CopyPlain, SlicesAndConcatenatesInChannelBlocks) {
  const Layout c16 = Layout::kC16;
  for (const int64_t start : {0, 16, 5}) {
    for (const int64_t step : {1, 2}) {
      CopyParams params;
      params.perm = {0, 1, 2, 3};
      params.starts = {0, start, 1, 0};
      params.steps = {1, step, 2, 1};
      check(Desc{params,
                 {operand({2, 60, 9, 5}, DType::kF32, c16)},
                 {operand({2, 21, 4, 5}, DType::kF32, c16)}});
      check(Desc{params,
                 {operand({2, 60, 9, 5}, DType::kF32)},
                 {operand({2, 21, 4, 5}, DType::kF32, c16)}});
      check(Desc{params,
                 {operand({2, 60, 9, 5}, DType::kF32, c16)},
                 {operand({2, 21, 4, 5}, DType::kF32)}});
    }
  }
  for (const auto& channels :
       std::vector<std::vector<int64_t>>{{16, 32, 7}, {5, 9, 40}, {1, 1, 1}}) {
    std::vector<TensorDesc> inputs;
    int64_t total = 0;
    for (const int64_t c : channels) {
      inputs.push_back(operand({2, c, 6, 3}, DType::kF32, c16));
      total += c;
    }
    CopyParams params;
    params.perm = {0, 1, 2, 3};
    params.concat_axis = 1;
    check(Desc{params, inputs, {operand({2, total, 6, 3}, DType::kF32, c16)}});
  }
  // NHWC on one side: the channels walk along another dim of the plain operand.
  CopyParams params;
  params.perm = {0, 3, 1, 2};
  check(Desc{
      params, {operand({2, 6, 7, 19}, DType::kF32)}, {operand({2, 19, 6, 7}, DType::kF32, c16)}});
  params.perm = {0, 2, 3, 1};
  check(Desc{
      params, {operand({2, 19, 6, 7}, DType::kF32, c16)}, {operand({2, 6, 7, 19}, DType::kF32)}});
}

TEST(CopyPlain, RefusesWithReasons) {
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "copy_plain");
  CopyParams params;
  params.perm = {0, 2, 1};
  const Desc moved{params,
                   {operand({2, 16, 16}, DType::kF32, Layout::kC16)},
                   {operand({2, 16, 16}, DType::kF32, Layout::kC16)}};
  EXPECT_NE(tactic->supports(moved).message().find("channels"), std::string::npos);
  params.perm = {0};
  EXPECT_NE(tactic->supports(Desc{params, {operand({4}, DType::kI4)}, {operand({4}, DType::kI4)}})
                .message()
                .find("i4"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker::test
