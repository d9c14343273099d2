// The strict check that region programs of engine files go through, and their canonical text.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/kernels/region_harness.h"

namespace stoker::test {
namespace {

Builder small_program() {
  Builder b(2, {1});
  const int32_t x = b.input(DType::kF32);
  b.output(b.f(Op::kSub, x, b.f(Op::kReduceMax, x)));
  return b;
}

TEST(RegionCheck, RefusesDamagedPrograms) {
  const std::vector<int> ranks{2, 2};
  EXPECT_EQ(check_region(small_program().p, ranks), "");
  const auto refused = [&](auto&& damage) {
    RegionProgram p = small_program().p;
    damage(p);
    return !check_region(p, ranks).empty();
  };
  EXPECT_TRUE(refused([](RegionProgram& p) { p.rank = 9; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.rank = -1; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.reduced[0] = 2; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.reduced = {0, 0}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.inputs[0].dim_of = {0, 0}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.inputs[0].dim_of = {0, 2}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.inputs[0].dim_of = {0, -2}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.inputs[0].dim_of = {0}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.inputs.clear(); }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[0].args[0] = 1; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[2].args[1] = 2; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[2].args[1] = -1; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[2].args[2] = 0; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[2].op = static_cast<Op>(200); }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[2].dtype = DType::kI32; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[0].dtype = DType::kString; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions[0].dtype = static_cast<DType>(99); }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.outputs[0].value = 3; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.outputs[0].map.dim_of = {0, 1, 2}; }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.outputs.clear(); }));
  EXPECT_TRUE(refused([](RegionProgram& p) {
    p.instructions.push_back({Op::kConstant, DType::kU8, {-1, -1, -1}, 256});
  }));
  EXPECT_TRUE(refused([](RegionProgram& p) {
    p.instructions.push_back({Op::kConstant, DType::kI32, {-1, -1, -1}, NAN});
  }));
  EXPECT_TRUE(refused([](RegionProgram& p) {
    p.instructions.push_back({Op::kExp, DType::kBool, {0, -1, -1}});
  }));
}

TEST(RegionText, IsCanonical) {
  EXPECT_EQ(region_text(small_program().p),
            "rank=2 reduced=01 i0=[0,1] v0=input.f32(i0) v1=reduce_max.f32(v0) v2=sub.f32(v0,v1) "
            "o0=v2[0,1]");
}

}  // namespace
}  // namespace stoker::test
