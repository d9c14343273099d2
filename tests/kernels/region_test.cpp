// Region programs: the strict check, the tile executor on every ISA level against the scalar interpreter,
// exactness of quantize chains, and independence of the cut into units.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/region.h"

#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "kernels/reference.h"
#include "kernels/region_interpreter.h"
#include "tests/kernels/tactic_harness.h"

namespace stoker::test {
namespace {

using Op = RegionOp;

// Builds programs in text order.
struct Builder {
  RegionProgram p;
  explicit Builder(int rank, std::vector<int> reduced = {}) {
    p.rank = rank;
    p.reduced.assign(static_cast<size_t>(rank), 0);
    for (const int d : reduced) p.reduced[static_cast<size_t>(d)] = 1;
  }
  RegionOperand identity() const {
    RegionOperand map;
    for (int d = 0; d < p.rank; ++d) map.dim_of.push_back(static_cast<int8_t>(d));
    return map;
  }
  int32_t add(Op op, DType dtype, std::array<int32_t, 3> args, double constant = 0) {
    p.instructions.push_back({op, dtype, args, constant});
    return static_cast<int32_t>(p.instructions.size()) - 1;
  }
  int32_t input(DType dtype, RegionOperand map) {
    p.inputs.push_back(std::move(map));
    return add(Op::kInput, dtype, {static_cast<int32_t>(p.inputs.size()) - 1, -1, -1});
  }
  int32_t input(DType dtype) { return input(dtype, identity()); }
  int32_t constant(double value, DType dtype = DType::kF32) { return add(Op::kConstant, dtype, {-1, -1, -1}, value); }
  int32_t f(Op op, int32_t a, int32_t b = -1, int32_t c = -1) {
    return add(op, p.instructions[static_cast<size_t>(c >= 0 ? b : a)].dtype, {a, b, c});
  }
  int32_t compare(Op op, int32_t a, int32_t b) { return add(op, DType::kBool, {a, b, -1}); }
  int32_t cast(int32_t a, DType to) { return add(Op::kCast, to, {a, -1, -1}); }
  void output(int32_t value, RegionOperand map) { p.outputs.push_back({value, std::move(map)}); }
  void output(int32_t value) { output(value, identity()); }
};

Desc region_desc(const Builder& b, std::vector<int64_t> extents, std::vector<TensorDesc> in, std::vector<TensorDesc> out) {
  RegionParams params;
  params.program = b.p;
  params.extents = std::move(extents);
  return Desc{params, std::move(in), std::move(out)};
}

// Fills with values in (-range, range), as whole numbers for integers; padding lanes stay zero.
Buffer filled(const TensorDesc& desc, std::mt19937& random, double range) {
  Buffer buffer(std::max<int64_t>(stored_count(desc) * element_bytes(desc.dtype), 0));
  const StoreDouble store = store_double(desc.dtype);
  const int64_t count = logical_count(desc);
  for (int64_t i = 0; i < count; ++i) {
    double value = (static_cast<double>(random()) / 4294967296.0 * 2 - 1) * range;
    if (desc.dtype == DType::kBool) value = random() & 1;
    store(buffer.data(), desc.layout == Layout::kPlain ? i : stored_position(desc, i), value);
  }
  return buffer;
}

struct Outcome {
  Status status;
  std::vector<Buffer> outputs;
};

Outcome launch_all(const Tactic& tactic, const Desc& desc, const std::vector<Buffer>& inputs, int pieces) {
  Outcome outcome;
  outcome.status = tactic.supports(desc);
  if (!outcome.status) return outcome;
  const Config config = tactic.configs(desc).front();
  const auto prepared = tactic.prepare ? tactic.prepare(desc, config) : nullptr;
  const Workspace need = tactic.workspace ? tactic.workspace(desc, config) : Workspace{};
  const int64_t units = tactic.units ? tactic.units(desc, config, prepared.get(), 0) : 1;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Buffer& buffer : inputs) in.push_back(buffer.data());
  for (const TensorDesc& output : desc.outputs) {
    outcome.outputs.emplace_back(stored_count(output) * element_bytes(output.dtype), 0xcc);
    out.push_back(outcome.outputs.back().data());
  }
  for (int piece = pieces - 1; piece >= 0; --piece) {
    const Buffer worker(need.per_worker_bytes, 0xee);
    const Launch launch{&desc, &config, prepared.get(), in.data(), out.data(), nullptr, worker.data(), 0,
                        units * piece / pieces, units * (piece + 1) / pieces};
    outcome.status = tactic.launch(launch);
    EXPECT_TRUE(worker.intact()) << kGuardName;
  }
  for (const Buffer& buffer : outcome.outputs) EXPECT_TRUE(buffer.intact()) << kGuardName;
  return outcome;
}

double value_at(const TensorDesc& desc, const Buffer& buffer, int64_t index) {
  return load_double(desc.dtype)(buffer.data(), stored_position(desc, index));
}

void expect_zero_lanes(const TensorDesc& desc, const Buffer& buffer) {
  if (desc.layout == Layout::kPlain) return;
  std::vector<bool> real(static_cast<size_t>(stored_count(desc)), false);
  for (int64_t i = 0; i < logical_count(desc); ++i) real[static_cast<size_t>(stored_position(desc, i))] = true;
  for (size_t i = 0; i < real.size(); ++i) {
    if (real[i]) continue;
    ASSERT_EQ(load_double(desc.dtype)(buffer.data(), static_cast<int64_t>(i)), 0.0) << "padding lane " << i;
  }
}

// All levels against the interpreter; relative tolerance for floats, exact for integers.
void expect_agrees(const Desc& desc, double range, double tolerance, uint32_t seed = 1, double absolute = 0) {
  std::mt19937 random(seed);
  std::vector<Buffer> inputs;
  std::vector<const void*> pointers;
  for (const TensorDesc& input : desc.inputs) inputs.push_back(filled(input, random, range));
  for (const Buffer& buffer : inputs) pointers.push_back(buffer.data());
  const auto& params = desc.as<RegionParams>();
  const RegionInterpreter oracle(params.program, params.extents, desc.inputs, desc.outputs);
  std::vector<std::vector<double>> expected;
  for (size_t k = 0; k < desc.outputs.size(); ++k) {
    std::vector<int64_t> all(static_cast<size_t>(logical_count(desc.outputs[k])));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    expected.push_back(oracle.elements(pointers.data(), static_cast<int>(k), all));
  }
  for (const IsaLevel level : levels()) {
    SCOPED_TRACE(std::string(isa_name(level)));
    const Tactic* tactic = find_tactic(level, "region_tile");
    ASSERT_TRUE(tactic);
    const Outcome whole = launch_all(*tactic, desc, inputs, 1);
    ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
    for (size_t k = 0; k < desc.outputs.size(); ++k) {
      const TensorDesc& output = desc.outputs[k];
      for (size_t i = 0; i < expected[k].size(); ++i) {
        const double is = value_at(output, whole.outputs[k], static_cast<int64_t>(i)), should = expected[k][i];
        if (std::isnan(should) && std::isnan(is)) continue;
        if (is == should) continue;
        ASSERT_TRUE(is_float(output.dtype)) << "output " << k << " element " << i << ": " << is << " for " << should;
        ASSERT_LE(std::fabs(is - should), tolerance * std::fabs(should) + absolute)
            << "output " << k << " element " << i << ": " << is << " for " << should;
      }
      expect_zero_lanes(output, whole.outputs[k]);
    }
    for (const int pieces : {2, 7}) {
      const Outcome cut = launch_all(*tactic, desc, inputs, pieces);
      for (size_t k = 0; k < desc.outputs.size(); ++k) {
        ASSERT_TRUE(same_bytes(whole.outputs[k], cut.outputs[k])) << "bits depend on the cut, " << pieces << " pieces";
      }
    }
  }
}

TensorDesc operand(std::vector<int64_t> dims, DType dtype = DType::kF32, Layout layout = Layout::kPlain) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.layout = layout;
  return desc;
}

Desc softmax(std::vector<int64_t> dims, std::vector<int> axes) {
  Builder b(static_cast<int>(dims.size()), std::move(axes));
  const int32_t x = b.input(DType::kF32);
  const int32_t e = b.f(Op::kExp, b.f(Op::kSub, x, b.f(Op::kReduceMax, x)));
  b.output(b.f(Op::kDiv, e, b.f(Op::kReduceSum, e)));
  return region_desc(b, dims, {operand(dims)}, {operand(dims)});
}

// Layer norm over the axes, with a scale and bias of their extents, and the mean as a second output.
Desc layer_norm(const std::vector<int64_t>& dims, const std::vector<int>& axes, const std::vector<int>& scaled) {
  Builder b(static_cast<int>(dims.size()), axes);
  RegionOperand scale_map, mean_map;
  std::vector<int64_t> scale_dims, mean_dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool walks = std::find(scaled.begin(), scaled.end(), static_cast<int>(d)) != scaled.end();
    scale_map.dim_of.push_back(walks ? static_cast<int8_t>(scale_dims.size()) : -1);
    if (walks) scale_dims.push_back(dims[d]);
    mean_map.dim_of.push_back(b.p.reduced[d] ? -1 : static_cast<int8_t>(mean_dims.size()));
    if (!b.p.reduced[d]) mean_dims.push_back(dims[d]);
  }
  const int32_t x = b.input(DType::kF32);
  const int32_t scale = b.input(DType::kF32, scale_map), bias = b.input(DType::kF32, scale_map);
  const int32_t mean = b.f(Op::kReduceMean, x);
  const int32_t centered = b.f(Op::kSub, x, mean);
  const int32_t variance = b.f(Op::kReduceMean, b.f(Op::kMul, centered, centered));
  const int32_t deviation = b.f(Op::kSqrt, b.f(Op::kAdd, variance, b.constant(1e-5)));
  b.output(b.f(Op::kAdd, b.f(Op::kMul, b.f(Op::kDiv, centered, deviation), scale), bias));
  b.output(mean, mean_map);
  return region_desc(b, dims, {operand(dims), operand(scale_dims), operand(scale_dims)},
                     {operand(dims), operand(mean_dims)});
}

TEST(RegionTile, PointwiseChainsOverManyShapes) {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {1}, {7}, {16}, {1023}, {1025}, {40000}, {3, 5}, {2, 3, 17, 19}, {1, 64, 56, 56}, {5, 0, 3}, {4, 1, 1, 1031}}) {
    SCOPED_TRACE(shape_text(dims));
    Builder b(static_cast<int>(dims.size()));
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kF32);
    // gelu(x) * y, clipped
    const int32_t t = b.f(Op::kErf, b.f(Op::kMul, x, b.constant(std::sqrt(0.5))));
    const int32_t g = b.f(Op::kMul, b.f(Op::kMul, x, b.constant(0.5)), b.f(Op::kAdd, b.constant(1), t));
    b.output(b.f(Op::kMin, b.f(Op::kMax, b.f(Op::kMul, g, y), b.constant(-2)), b.constant(3)));
    b.output(b.f(Op::kMul, x, b.f(Op::kSigmoid, x)));
    expect_agrees(region_desc(b, dims, {operand(dims), operand(dims)}, {operand(dims), operand(dims)}), 4, 3e-6, 3, 2e-6);
  }
}

TEST(RegionTile, EveryUnaryFloatOp) {
  for (const Op op : {Op::kNeg, Op::kAbs, Op::kExp, Op::kLog, Op::kSqrt, Op::kReciprocal, Op::kTanh, Op::kErf, Op::kSigmoid,
                      Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kSign, Op::kSin, Op::kCos}) {
    SCOPED_TRACE(region_op_name(op));
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      Builder b(2);
      b.output(b.add(op, dtype, {b.input(dtype), -1, -1}));
      const Desc desc = region_desc(b, {3, 1111}, {operand({3, 1111}, dtype)}, {operand({3, 1111}, dtype)});
      expect_agrees(desc, 1, 6e-7, 1);
      expect_agrees(desc, 30, 1e-6, 2);
    }
  }
}

TEST(RegionTile, SpecialFloatsAreThoseOfTheInterpreter) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0f, -0.0f, inf, -inf, nan, 1e-40f, -1e-40f, 3e38f, -3e38f, 88.8f, -88.0f, -103.0f, 1.0f};
  const int64_t n = static_cast<int64_t>(values.size());
  for (const Op op : {Op::kExp, Op::kLog, Op::kTanh, Op::kErf, Op::kSigmoid, Op::kSqrt, Op::kMin, Op::kMax, Op::kReduceMax,
                      Op::kReduceMin}) {
    SCOPED_TRACE(region_op_name(op));
    Builder b(2, is_reduction(op) ? std::vector<int>{1} : std::vector<int>{});
    RegionOperand outer{{0, -1}}, inner{{-1, 0}};
    const int32_t x = b.input(DType::kF32, outer), y = b.input(DType::kF32, inner);
    // Every pair; a reduction takes the smaller of the pair with NaN passed on.
    b.output(region_op_arity(op) == 2 ? b.f(op, x, y) : is_reduction(op) ? b.f(op, b.f(Op::kMin, x, y)) : b.f(op, b.f(Op::kAdd, x, b.f(Op::kMul, y, b.constant(0)))));
    const Desc desc = region_desc(b, {n, n}, {operand({n}), operand({n})}, {operand({n, n})});
    Buffer buffer(n * 4);
    std::memcpy(buffer.data(), values.data(), static_cast<size_t>(n * 4));
    const void* inputs[] = {buffer.data(), buffer.data()};
    std::vector<float> expected(static_cast<size_t>(n * n));
    void* outputs[] = {expected.data()};
    const auto& params = desc.as<RegionParams>();
    RegionInterpreter(params.program, params.extents, desc.inputs, desc.outputs).run(inputs, outputs);
    for (const IsaLevel level : levels()) {
      const Outcome got = launch_all(*find_tactic(level, "region_tile"), desc, {buffer, buffer}, 1);
      ASSERT_TRUE(got.status.is_ok());
      for (size_t i = 0; i < expected.size(); ++i) {
        const float is = got.outputs[0].as<float>()[i], should = expected[i];
        if (std::isnan(is) && std::isnan(should)) continue;
        if (is == should) continue;
        EXPECT_LE(std::fabs(is - should), 4e-7f * std::fabs(should) + 2e-38f) << isa_name(level) << " " << i << ": " << is << " for " << should;
      }
    }
  }
}

TEST(RegionTile, IntegersAreExactInTheirDtype) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8}) {
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kMod, Op::kPow, Op::kAnd, Op::kOr, Op::kXor}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + region_op_name(op));
      Builder b(2);
      const int32_t x = b.input(dtype), y = b.input(dtype, RegionOperand{{-1, 0}});
      const int32_t z = b.f(op, b.f(Op::kMul, x, x), y);
      b.output(z);
      b.output(b.compare(Op::kLess, z, y));
      b.output(b.cast(z, DType::kF64));
      b.output(b.add(Op::kSelect, dtype, {b.compare(Op::kEqual, x, y), b.f(Op::kNeg, x), b.f(Op::kAbs, y)}));
      expect_agrees(region_desc(b, {9, 131}, {operand({9, 131}, dtype), operand({131}, dtype)},
                                {operand({9, 131}, dtype), operand({9, 131}, DType::kBool), operand({9, 131}, DType::kF64),
                                 operand({9, 131}, dtype)}),
                    dtype == DType::kI64 || dtype == DType::kU64 ? 1e10 : 120, 0);
    }
  }
}

TEST(RegionTile, CastsBetweenAllDtypes) {
  const DType all[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
                       DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8, DType::kBool};
  for (const DType from : all) {
    for (const DType to : all) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      Builder b(1);
      b.output(b.cast(b.input(from), to));
      // f64 to f32 is no rounding point of the oracle, hence the tolerance of one f32 rounding.
      const double tolerance = to == DType::kF32 ? 6e-8 : 0;
      for (const double range : {300.0, 7e4, 1e30}) {
        if (range > 1e5 && from == DType::kF16) continue;
        expect_agrees(region_desc(b, {1003}, {operand({1003}, from)}, {operand({1003}, to)}), range, tolerance);
      }
    }
  }
}

TEST(RegionTile, QuantizeRoundsHalfToEvenAndSaturates) {
  Builder b(1);
  const int32_t x = b.input(DType::kF32);
  const int32_t r = b.f(Op::kAdd, b.f(Op::kRoundEven, b.f(Op::kDiv, x, b.constant(0.5))), b.constant(128));
  b.output(b.cast(r, DType::kU8));
  b.output(b.cast(b.f(Op::kMin, b.f(Op::kMax, r, b.constant(0)), b.constant(255)), DType::kU8));
  const int64_t n = 4001;
  const Desc desc = region_desc(b, {n}, {operand({n})}, {operand({n}, DType::kU8), operand({n}, DType::kU8)});
  Buffer input(n * 4);
  for (int64_t i = 0; i < n; ++i) input.as<float>()[i] = static_cast<float>(i - 2000) * 0.125f;  // ties among them
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

TEST(RegionTile, SoftmaxOverAnyAxisAndLength) {
  for (const int64_t n : {1, 3, 10, 16, 49, 64, 100, 128, 1000, 1500, 5000, 40000, 100003}) {
    SCOPED_TRACE(n);
    expect_agrees(softmax({n > 5000 ? 2 : 9, n}, {1}), 8, 2e-6);
  }
  for (const auto& [dims, axes] : std::vector<std::pair<std::vector<int64_t>, std::vector<int>>>{
           {{2, 12, 33, 5}, {1}}, {{2, 12, 33, 5}, {0}}, {{7, 300, 70}, {1}}, {{3, 5000, 20}, {1}}, {{2, 40000, 3}, {1}},
           {{5, 6, 7}, {0, 2}}, {{5, 6, 7}, {1, 2}}, {{5, 6, 7}, {0, 1, 2}}, {{5, 6, 7}, {0, 1}}, {{5, 1, 7}, {1}}}) {
    SCOPED_TRACE(shape_text(dims));
    expect_agrees(softmax(dims, axes), 8, 2e-6);
  }
}

TEST(RegionTile, NormsWithBroadcastScales) {
  expect_agrees(layer_norm({33, 768}, {1}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({5, 7, 9}, {1, 2}, {1}), 3, 2e-5, 1, 2e-6);       // scale per channel inside the row
  expect_agrees(layer_norm({2, 6, 13, 11}, {2, 3}, {1}), 3, 2e-5, 1, 2e-6);  // instance norm
  expect_agrees(layer_norm({2, 6, 13, 11}, {0, 2, 3}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({2, 3, 70, 300}, {1, 2, 3}, {1}), 3, 2e-5, 1, 2e-6);  // longer than a tile, two strides
  expect_agrees(layer_norm({4, 20, 6}, {1}, {1}), 3, 2e-5, 1, 2e-6);
  expect_agrees(layer_norm({3, 50000, 6}, {1}, {2}), 3, 2e-5, 1, 2e-6);
}

TEST(RegionTile, ReductionsOfIntegersAndOfNothing) {
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kU8, DType::kU64, DType::kF32, DType::kF64}) {
    for (const auto& [dims, axis] : std::vector<std::pair<std::vector<int64_t>, int>>{
             {{5, 300}, 1}, {{300, 5}, 0}, {{4, 0}, 1}, {{0, 40}, 0}, {{2, 70000}, 1}, {{3, 33}, 0}}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + shape_text(dims));
      Builder b(2, {axis});
      RegionOperand kept{{static_cast<int8_t>(axis == 0 ? -1 : 0), static_cast<int8_t>(axis == 1 ? -1 : 0)}};
      const int32_t x = b.input(dtype);
      b.output(b.f(Op::kReduceSum, x), kept);
      b.output(b.f(Op::kReduceMax, x), kept);
      b.output(b.f(Op::kAdd, b.f(Op::kReduceMin, x), b.constant(1, dtype)), kept);
      const std::vector<int64_t> out{dims[static_cast<size_t>(1 - axis)]};
      expect_agrees(region_desc(b, dims, {operand(dims, dtype)}, {operand(out, dtype), operand(out, dtype), operand(out, dtype)}),
                    100, 2e-6, 1, 2e-4);
    }
  }
}

TEST(RegionTile, BroadcastTransposeIotaAndSelect) {
  Builder b(4);
  const int32_t x = b.input(DType::kF32, RegionOperand{{0, 3, 1, 2}});  // [2,H,W,C] read as [2,C,H,W]
  const int32_t bias = b.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}});
  const int32_t row = b.input(DType::kF16, RegionOperand{{-1, -1, -1, 0}});
  const int32_t column = b.input(DType::kF32, RegionOperand{{0, 1, 2, 3}});  // [2,C,H,1]
  const int32_t one = b.input(DType::kBF16, RegionOperand{{-1, -1, -1, -1}});
  const int32_t i = b.add(Op::kIota, DType::kI32, {2, -1, -1}), j = b.add(Op::kIota, DType::kI32, {3, -1, -1});
  const int32_t sum = b.f(Op::kAdd, b.f(Op::kAdd, x, bias), b.f(Op::kMul, b.cast(row, DType::kF32), column));
  b.output(b.add(Op::kSelect, DType::kF32, {b.compare(Op::kLessEqual, j, i), sum, b.cast(one, DType::kF32)}));
  b.output(b.add(Op::kIota, DType::kF32, {1, -1, -1}), b.identity());
  for (const auto& [c, h, w] : std::vector<std::array<int64_t, 3>>{{3, 5, 7}, {40, 33, 35}, {1, 9, 1}, {64, 8, 8}, {5, 1, 2000}}) {
    SCOPED_TRACE(shape_text({c, h, w}));
    expect_agrees(region_desc(b, {2, c, h, w},
                              {operand({2, h, w, c}), operand({c}), operand({w}, DType::kF16), operand({2, c, h, 1}), operand({}, DType::kBF16)},
                              {operand({2, c, h, w}), operand({2, c, h, w})}),
                  2, 5e-7, 1, 1e-6);
  }
}

TEST(RegionTile, ChannelBlockedLayout) {
  for (const auto& [c, h, w] : std::vector<std::array<int64_t, 3>>{{16, 5, 7}, {3, 9, 9}, {19, 1, 1}, {64, 14, 14}, {35, 20, 3}, {1, 4, 4}, {48, 0, 2}}) {
    SCOPED_TRACE(shape_text({c, h, w}));
    const std::vector<int64_t> dims{2, c, h, w};
    const Layout c16 = Layout::kC16;
    Builder b(4);
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kU8);
    const int32_t bias = b.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}}), gate = b.input(DType::kF32);
    const int32_t v = b.f(Op::kAdd, b.f(Op::kMul, b.f(Op::kAdd, x, bias), gate), b.cast(y, DType::kF32));
    b.output(b.f(Op::kExp, b.f(Op::kNeg, b.f(Op::kAbs, v))));  // maps 0 to 1: padding must be masked
    b.output(b.add(Op::kIota, DType::kI32, {1, -1, -1}));
    expect_agrees(region_desc(b, dims, {operand(dims, DType::kF32, c16), operand(dims, DType::kU8, c16), operand({c}), operand({2, c, 1, 1}, DType::kF32, c16)},
                              {operand(dims, DType::kF32, c16), operand(dims, DType::kI32, c16)}), 3, 2e-6, 1, 1e-6);
    // Global average per channel, and instance norm, in blocks.
    Builder r(4, {2, 3});
    const int32_t z = r.input(DType::kF32), scale = r.input(DType::kF32, RegionOperand{{-1, 0, -1, -1}});
    const int32_t mean = r.f(Op::kReduceMean, z);
    r.output(r.f(Op::kAdd, r.f(Op::kSub, z, mean), scale));
    r.output(mean, RegionOperand{{0, 1, -1, -1}});
    if (h == 0) continue;
    expect_agrees(region_desc(r, dims, {operand(dims, DType::kF32, c16), operand({c})}, {operand(dims, DType::kF32, c16), operand({2, c, 1, 1}, DType::kF32, c16)}),
                  3, 2e-5, 1, 2e-6);
  }
}

TEST(RegionTile, HalfPrecisionRoundsAfterEachStep) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Builder b(2);
    const int32_t x = b.input(dtype), y = b.input(dtype, RegionOperand{{-1, 0}});
    b.output(b.f(Op::kMul, b.f(Op::kAdd, x, y), y));
    const double ulp = dtype == DType::kF16 ? 1.0 / 1024 : 1.0 / 128;
    expect_agrees(region_desc(b, {13, 77}, {operand({13, 77}, dtype), operand({77}, dtype)}, {operand({13, 77}, dtype)}), 4, ulp, 1, ulp / 8);
  }
}

TEST(RegionTile, MayWriteOverAnInput) {
  const std::vector<int64_t> dims{3, 700};
  for (const bool two : {false, true}) {
    Builder b(2, {1});
    const int32_t x = b.input(DType::kF32), y = b.input(DType::kF32);
    b.output(b.f(Op::kAdd, b.f(Op::kExp, b.f(Op::kSub, x, b.f(Op::kReduceMax, x))), y));
    if (two) b.output(b.f(Op::kMul, x, y));
    std::vector<TensorDesc> outs(two ? 2 : 1, operand(dims));
    const Desc desc = region_desc(b, dims, {operand(dims), operand(dims)}, outs);
    std::mt19937 random(5);
    const Buffer xs = filled(desc.inputs[0], random, 2), ys = filled(desc.inputs[1], random, 2);
    for (const IsaLevel level : levels()) {
      const Tactic* tactic = find_tactic(level, "region_tile");
      const Outcome apart = launch_all(*tactic, desc, {xs, ys}, 1);
      const Buffer over(xs.bytes()), other(xs.bytes());
      std::memcpy(over.data(), xs.data(), static_cast<size_t>(xs.bytes()));
      const Config config = tactic->configs(desc).front();
      const auto prepared = tactic->prepare(desc, config);
      const Buffer worker(tactic->workspace(desc, config).per_worker_bytes);
      const void* in[] = {over.data(), ys.data()};
      void* out[] = {over.data(), other.data()};
      const Launch launch{&desc, &config, prepared.get(), in, out, nullptr, worker.data(), 0, 0,
                          tactic->units(desc, config, prepared.get(), 0)};
      ASSERT_TRUE(tactic->launch(launch).is_ok());
      EXPECT_TRUE(same_bytes(over, apart.outputs[0]));
      if (two) {
        EXPECT_TRUE(same_bytes(other, apart.outputs[1]));
      }
    }
  }
}

TEST(RegionTile, RefusesWithReasons) {
  const Tactic* tactic = find_tactic(IsaLevel::kBaseline, "region_tile");
  Desc mixed = softmax({2, 32, 4, 4}, {1});
  mixed.inputs[0].layout = mixed.outputs[0].layout = Layout::kC16;
  EXPECT_NE(tactic->supports(mixed).message().find("reduction over the channels"), std::string::npos);
  mixed.outputs[0].layout = Layout::kPlain;
  EXPECT_NE(tactic->supports(mixed).message().find("outputs are plain"), std::string::npos);
  Desc wrong = softmax({2, 32}, {1});
  wrong.inputs[0].dims = {2, 31};
  EXPECT_NE(tactic->supports(wrong).message().find("extent 31"), std::string::npos);
}

// ---- The strict check.

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
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions.push_back({Op::kConstant, DType::kU8, {-1, -1, -1}, 256}); }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions.push_back({Op::kConstant, DType::kI32, {-1, -1, -1}, NAN}); }));
  EXPECT_TRUE(refused([](RegionProgram& p) { p.instructions.push_back({Op::kExp, DType::kBool, {0, -1, -1}}); }));
}

TEST(RegionText, IsCanonical) {
  EXPECT_EQ(region_text(small_program().p),
            "rank=2 reduced=01 i0=[0,1] v0=input.f32(i0) v1=reduce_max.f32(v0) v2=sub.f32(v0,v1) o0=v2[0,1]");
}

}  // namespace
}  // namespace stoker::test
