// Builder of region programs, and the comparison of the tile executor on every ISA level with the
// scalar interpreter, for several cuts of the work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "base/numeric.h"
#include "kernels/desc/region.h"
#include "kernels/region_interpreter.h"
#include "tests/kernels/tactic_harness.h"

namespace stoker::test {

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
  int32_t constant(double value, DType dtype = DType::kF32) {
    return add(Op::kConstant, dtype, {-1, -1, -1}, value);
  }
  int32_t f(Op op, int32_t a, int32_t b = -1, int32_t c = -1) {
    return add(op, p.instructions[static_cast<size_t>(c >= 0 ? b : a)].dtype, {a, b, c});
  }
  int32_t compare(Op op, int32_t a, int32_t b) { return add(op, DType::kBool, {a, b, -1}); }
  int32_t cast(int32_t a, DType to) { return add(Op::kCast, to, {a, -1, -1}); }
  void output(int32_t value, RegionOperand map) { p.outputs.push_back({value, std::move(map)}); }
  void output(int32_t value) { output(value, identity()); }
};

inline Desc region_desc(const Builder& b, std::vector<int64_t> extents, std::vector<TensorDesc> in,
                        std::vector<TensorDesc> out) {
  RegionParams params;
  params.program = b.p;
  params.extents = std::move(extents);
  return Desc{params, std::move(in), std::move(out)};
}

// Fills with values in (-range, range), as whole numbers for integers; padding lanes stay zero.
inline Buffer filled(const TensorDesc& desc, std::mt19937& random, double range) {
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

inline Outcome launch_all(const Tactic& tactic, const Desc& desc, const std::vector<Buffer>& inputs,
                          int pieces) {
  Outcome outcome;
  outcome.status = tactic.supports(desc);
  if (!outcome.status) return outcome;
  const Config config = configs_of(tactic, desc).front();
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
    const Launch launch{&desc,
                        &config,
                        prepared.get(),
                        in.data(),
                        out.data(),
                        nullptr,
                        worker.data(),
                        0,
                        units * piece / pieces,
                        units * (piece + 1) / pieces};
    outcome.status = tactic.launch(launch);
    EXPECT_TRUE(worker.intact()) << kGuardName;
  }
  for (const Buffer& buffer : outcome.outputs) EXPECT_TRUE(buffer.intact()) << kGuardName;
  return outcome;
}

inline double value_at(const TensorDesc& desc, const Buffer& buffer, int64_t index) {
  return load_double(desc.dtype)(buffer.data(), stored_position(desc, index));
}

inline void expect_zero_lanes(const TensorDesc& desc, const Buffer& buffer) {
  if (desc.layout == Layout::kPlain) return;
  std::vector<bool> real(static_cast<size_t>(stored_count(desc)), false);
  for (int64_t i = 0; i < logical_count(desc); ++i)
    real[static_cast<size_t>(stored_position(desc, i))] = true;
  for (size_t i = 0; i < real.size(); ++i) {
    if (real[i]) continue;
    ASSERT_EQ(load_double(desc.dtype)(buffer.data(), static_cast<int64_t>(i)), 0.0)
        << "padding lane " << i;
  }
}

// All levels against the interpreter; relative tolerance for floats, exact for integers.
inline void expect_agrees(const Desc& desc, double range, double tolerance, uint32_t seed = 1,
                          double absolute = 0) {
  std::mt19937 random(seed);
  std::vector<Buffer> inputs;
  std::vector<const void*> pointers;
  for (const TensorDesc& input : desc.inputs) inputs.push_back(filled(input, random, range));
  for (const Buffer& buffer : inputs) pointers.push_back(buffer.data());
  const auto& params = desc.as<RegionParams>();
  // Float outputs unrounded: the oracle stores them as plain f64.
  std::vector<TensorDesc> wide = desc.outputs;
  std::vector<Buffer> expected;
  std::vector<void*> results;
  for (TensorDesc& output : wide) {
    output.layout = Layout::kPlain;
    if (is_float(output.dtype)) output.dtype = DType::kF64;
    expected.emplace_back(stored_count(output) * element_bytes(output.dtype));
    results.push_back(expected.back().data());
  }
  RegionInterpreter(params.program, params.extents, desc.inputs, wide)
      .run(pointers.data(), results.data());
  for (const IsaLevel level : levels()) {
    SCOPED_TRACE(std::string(isa_name(level)));
    const Tactic* tactic = find_tactic(level, "region_tile");
    ASSERT_TRUE(tactic);
    const Outcome whole = launch_all(*tactic, desc, inputs, 1);
    ASSERT_TRUE(whole.status.is_ok()) << whole.status.message();
    for (size_t k = 0; k < desc.outputs.size(); ++k) {
      const TensorDesc& output = desc.outputs[k];
      for (int64_t i = 0; i < logical_count(output); ++i) {
        const double is = value_at(output, whole.outputs[k], i),
                     should = value_at(wide[k], expected[k], i);
        if (std::isnan(should) && std::isnan(is)) continue;
        if (is == should) continue;
        ASSERT_TRUE(is_float(output.dtype))
            << "output " << k << " element " << i << ": " << is << " for " << should;
        ASSERT_LE(std::fabs(is - should), tolerance * std::fabs(should) + absolute)
            << "output " << k << " element " << i << ": " << is << " for " << should;
      }
      expect_zero_lanes(output, whole.outputs[k]);
    }
    for (const int pieces : {2, 7}) {
      const Outcome cut = launch_all(*tactic, desc, inputs, pieces);
      for (size_t k = 0; k < desc.outputs.size(); ++k) {
        ASSERT_TRUE(same_bytes(whole.outputs[k], cut.outputs[k]))
            << "bits depend on the cut, " << pieces << " pieces";
      }
    }
  }
}

inline TensorDesc operand(std::vector<int64_t> dims, DType dtype = DType::kF32,
                          Layout layout = Layout::kPlain) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.layout = layout;
  return desc;
}

}  // namespace stoker::test
