// Pointwise region programs on the tile executor: every op and dtype, casts, broadcasts, exactness
// of quantize chains.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/kernels/region_harness.h"

namespace stoker::test {
namespace {

TEST(RegionTile, PointwiseChainsOverManyShapes) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{1},
                                                                            {7},
                                                                            {16},
                                                                            {1023},
                                                                            {1025},
                                                                            {40000},
                                                                            {3, 5},
                                                                            {2, 3, 17, 19},
                                                                            {1, 64, 56, 56},
                                                                            {5, 0, 3},
                                                                            {4, 1, 1, 1031}}) {
    SCOPED_TRACE(shape_text(dims));
    Builder b(static_cast<int>(dims.size()));
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kF32);
    // gelu(x) * y, clipped
    const int32_t t = b.f(Op::kErf, b.f(Op::kMul, x, b.constant(std::sqrt(0.5))));
    const int32_t g =
        b.f(Op::kMul, b.f(Op::kMul, x, b.constant(0.5)), b.f(Op::kAdd, b.constant(1), t));
    b.output(b.f(Op::kMin, b.f(Op::kMax, b.f(Op::kMul, g, y), b.constant(-2)), b.constant(3)));
    b.output(b.f(Op::kMul, x, b.f(Op::kSigmoid, x)));
    expect_agrees(
        region_desc(b, dims, {operand(dims), operand(dims)}, {operand(dims), operand(dims)}), 4,
        3e-6, 3, 2e-6);
  }
}

TEST(RegionTile, EveryUnaryFloatOp) {
  for (const Op op :
       {Op::kNeg, Op::kAbs, Op::kExp, Op::kLog, Op::kSqrt, Op::kReciprocal, Op::kTanh, Op::kErf,
        Op::kSigmoid, Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kSign, Op::kSin, Op::kCos}) {
    SCOPED_TRACE(region_op_name(op));
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      Builder b(2);
      b.output(b.add(op, dtype, {b.input(dtype), -1, -1}));
      const Desc desc =
          region_desc(b, {3, 1111}, {operand({3, 1111}, dtype)}, {operand({3, 1111}, dtype)});
      expect_agrees(desc, 1, 6e-7, 1);
      expect_agrees(desc, 30, 1e-6, 2);
    }
  }
}

TEST(RegionTile, SpecialFloatsAreThoseOfTheInterpreter) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0f,  -0.0f,  inf,   -inf,   nan,     1e-40f, -1e-40f,
                                     3e38f, -3e38f, 88.8f, -88.0f, -103.0f, 1.0f};
  const int64_t n = static_cast<int64_t>(values.size());
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kSigmoid, Op::kSqrt, Op::kMin,
                      Op::kMax, Op::kReduceMax, Op::kReduceMin}) {
    SCOPED_TRACE(region_op_name(op));
    Builder b(2, is_reduction(op) ? std::vector<int>{1} : std::vector<int>{});
    RegionOperand outer{{0, -1}}, inner{{-1, 0}};
    const int32_t x = b.input(DType::kF32, outer), y = b.input(DType::kF32, inner);
    // Every pair; a reduction takes the smaller of the pair with NaN passed on.
    b.output(region_op_arity(op) == 2 ? b.f(op, x, y)
             : is_reduction(op)       ? b.f(op, b.f(Op::kMin, x, y))
                                      : b.f(op, b.f(Op::kAdd, x, b.f(Op::kMul, y, b.constant(0)))));
    const Desc desc = region_desc(b, {n, n}, {operand({n}), operand({n})}, {operand({n, n})});
    Buffer buffer(n * 4);
    std::memcpy(buffer.data(), values.data(), static_cast<size_t>(n * 4));
    const void* inputs[] = {buffer.data(), buffer.data()};
    std::vector<float> expected(static_cast<size_t>(n * n));
    void* outputs[] = {expected.data()};
    const auto& params = desc.as<RegionParams>();
    RegionInterpreter(params.program, params.extents, desc.inputs, desc.outputs)
        .run(inputs, outputs);
    for (const IsaLevel level : levels()) {
      const Outcome got = launch_all(*find_tactic(level, "region_tile"), desc, {buffer, buffer}, 1);
      ASSERT_TRUE(got.status.is_ok());
      for (size_t i = 0; i < expected.size(); ++i) {
        const float is = got.outputs[0].as<float>()[i], should = expected[i];
        if (std::isnan(is) && std::isnan(should)) continue;
        if (is == should) continue;
        EXPECT_LE(std::fabs(is - should), 4e-7f * std::fabs(should) + 2e-38f)
            << isa_name(level) << " " << i << ": " << is << " for " << should;
      }
    }
  }
}

TEST(RegionTile, IntegersAreExactInTheirDtype) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64,
                            DType::kU32, DType::kU16, DType::kU8}) {
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kMod,
                        Op::kPow, Op::kAnd, Op::kOr, Op::kXor}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + region_op_name(op));
      Builder b(2);
      const int32_t x = b.input(dtype), y = b.input(dtype, RegionOperand{{-1, 0}});
      const int32_t z = b.f(op, b.f(Op::kMul, x, x), y);
      b.output(z);
      b.output(b.compare(Op::kLess, z, y));
      b.output(b.cast(z, DType::kF64));
      b.output(b.add(Op::kSelect, dtype,
                     {b.compare(Op::kEqual, x, y), b.f(Op::kNeg, x), b.f(Op::kAbs, y)}));
      expect_agrees(region_desc(b, {9, 131}, {operand({9, 131}, dtype), operand({131}, dtype)},
                                {operand({9, 131}, dtype), operand({9, 131}, DType::kBool),
                                 operand({9, 131}, DType::kF64), operand({9, 131}, dtype)}),
                    dtype == DType::kI64 || dtype == DType::kU64 ? 1e10 : 120, 0);
    }
  }
}

TEST(RegionTile, CastsBetweenAllDtypes) {
  const DType all[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                       DType::kI32, DType::kI16, DType::kI8,  DType::kU64,  DType::kU32,
                       DType::kU16, DType::kU8,  DType::kBool};
  for (const DType from : all) {
    for (const DType to : all) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      Builder b(1);
      b.output(b.cast(b.input(from), to));
      // f64 to f32 is no rounding point of the oracle, hence the tolerance of one f32 rounding.
      const double tolerance = to == DType::kF32 ? 6e-8 : 0;
      for (const double range : {300.0, 7e4, 1e30}) {
        if (range > 1e5 && from == DType::kF16) continue;
        expect_agrees(region_desc(b, {1003}, {operand({1003}, from)}, {operand({1003}, to)}), range,
                      tolerance);
      }
    }
  }
}

TEST(RegionTile, QuantizeRoundsHalfToEvenAndSaturates) {
  Builder b(1);
  const int32_t x = b.input(DType::kF32);
  const int32_t r =
      b.f(Op::kAdd, b.f(Op::kRoundEven, b.f(Op::kDiv, x, b.constant(0.5))), b.constant(128));
  b.output(b.cast(r, DType::kU8));
  b.output(b.cast(b.f(Op::kMin, b.f(Op::kMax, r, b.constant(0)), b.constant(255)), DType::kU8));
  const int64_t n = 4001;
  const Desc desc =
      region_desc(b, {n}, {operand({n})}, {operand({n}, DType::kU8), operand({n}, DType::kU8)});
  Buffer input(n * 4);
  for (int64_t i = 0; i < n; ++i)
    input.as<float>()[i] = static_cast<float>(i - 2000) * 0.125f;  // ties among them
  for (const IsaLevel level : levels()) {
    const Outcome got = launch_all(*find_tactic(level, "region_tile"), desc, {input}, 1);
    ASSERT_TRUE(got.status.is_ok());
    for (int64_t i = 0; i < n; ++i) {
      const double exact = std::nearbyint(static_cast<double>(i - 2000) * 0.25) + 128;
      const double expected = std::min(255.0, std::max(0.0, exact));
      ASSERT_EQ(got.outputs[0].as<uint8_t>()[i], expected) << i;
      ASSERT_EQ(got.outputs[1].as<uint8_t>()[i], expected) << i;
    }
  }
}

TEST(RegionTile, BroadcastTransposeIotaAndSelect) {
  Builder b(4);
  const int32_t x =
      b.input(DType::kF32, RegionOperand{{0, 3, 1, 2}});  // [2,H,W,C] read as [2,C,H,W]
  const int32_t bias = b.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}});
  const int32_t row = b.input(DType::kF16, RegionOperand{{-1, -1, -1, 0}});
  const int32_t column = b.input(DType::kF32, RegionOperand{{0, 1, 2, 3}});  // [2,C,H,1]
  const int32_t one = b.input(DType::kBF16, RegionOperand{{-1, -1, -1, -1}});
  const int32_t i = b.add(Op::kIota, DType::kI32, {2, -1, -1}),
                j = b.add(Op::kIota, DType::kI32, {3, -1, -1});
  const int32_t sum =
      b.f(Op::kAdd, b.f(Op::kAdd, x, bias), b.f(Op::kMul, b.cast(row, DType::kF32), column));
  b.output(b.add(Op::kSelect, DType::kF32,
                 {b.compare(Op::kLessEqual, j, i), sum, b.cast(one, DType::kF32)}));
  b.output(b.add(Op::kIota, DType::kF32, {1, -1, -1}), b.identity());
  for (const auto& [c, h, w] : std::vector<std::array<int64_t, 3>>{
           {3, 5, 7}, {40, 33, 35}, {1, 9, 1}, {64, 8, 8}, {5, 1, 2000}}) {
    SCOPED_TRACE(shape_text({c, h, w}));
    expect_agrees(region_desc(b, {2, c, h, w},
                              {operand({2, h, w, c}), operand({c}), operand({w}, DType::kF16),
                               operand({2, c, h, 1}), operand({}, DType::kBF16)},
                              {operand({2, c, h, w}), operand({2, c, h, w})}),
                  2, 5e-7, 1, 1e-6);
  }
}

TEST(RegionTile, HalfPrecisionRoundsAfterEachStep) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Builder b(2);
    const int32_t x = b.input(dtype), y = b.input(dtype, RegionOperand{{-1, 0}});
    b.output(b.f(Op::kMul, b.f(Op::kAdd, x, y), y));
    const double ulp = dtype == DType::kF16 ? 1.0 / 1024 : 1.0 / 128;
    expect_agrees(region_desc(b, {13, 77}, {operand({13, 77}, dtype), operand({77}, dtype)},
                              {operand({13, 77}, dtype)}),
                  4, ulp, 1, ulp / 8);
  }
}

}  // namespace
}  // namespace stoker::test
