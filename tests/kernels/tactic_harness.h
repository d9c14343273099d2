// Runs tactics of every ISA level on seeded operands and compares their bits between splits of the
// work. Buffers are followed by guard bytes, so that a store beyond an operand is found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "base/memory.h"
#include "device/isa.h"
#include "kernels/desc/check.h"
#include "kernels/tactic.h"
#include "tests/base/allocations.h"

namespace stoker::test {

inline const char* const kGuardName = "guard bytes behind a buffer were written";
inline constexpr int64_t kGuardBytes = 64;

// Exactly `bytes` usable bytes, a guard behind them.
class Buffer {
 public:
  Buffer() : Buffer(0) {}
  explicit Buffer(int64_t bytes, uint8_t fill = 0)
      : bytes_(bytes), memory_(allocate_aligned(bytes + kGuardBytes)) {
    std::memset(memory_.get(), fill, static_cast<size_t>(bytes));
    std::memset(data() + bytes, 0xa5, kGuardBytes);
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  int64_t bytes() const { return bytes_; }
  bool intact() const {
    for (int64_t i = 0; i < kGuardBytes; ++i) {
      if (data()[bytes_ + i] != std::byte{0xa5}) return false;
    }
    return true;
  }

 private:
  int64_t bytes_;
  std::shared_ptr<void> memory_;
};

inline std::span<const Tactic> tactics_of(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline: return cpu_tactics_baseline();
    case IsaLevel::kV3: return cpu_tactics_v3();
    case IsaLevel::kV4: return cpu_tactics_v4();
    default: return cpu_tactics_v4x();
  }
}

// The levels that this machine runs.
inline std::vector<IsaLevel> levels() {
  std::vector<IsaLevel> result;
  for (int i = 0; i <= static_cast<int>(detect_isa()); ++i)
    result.push_back(static_cast<IsaLevel>(i));
  return result;
}

inline const Tactic* find_tactic(IsaLevel level, const std::string& name) {
  for (const Tactic& tactic : tactics_of(level)) {
    if (name == tactic.name) return &tactic;
  }
  return nullptr;
}

inline int64_t element_bytes(DType dtype) { return dtype_bits(dtype) / 8; }

// Position of logical element `index` (row-major) in memory of that desc.
inline int64_t stored_position(const TensorDesc& desc, int64_t index) {
  if (desc.layout == Layout::kPlain) return index;
  int64_t spatial = 1;
  for (size_t d = 2; d < desc.dims.size(); ++d) spatial *= desc.dims[d];
  const int64_t pixel = index % spatial, channel = index / spatial % desc.dims[1];
  const int64_t image = index / spatial / desc.dims[1], groups = (desc.dims[1] + 15) / 16;
  return ((image * groups + channel / 16) * spatial + pixel) * 16 + channel % 16;
}

inline Buffer stored(const TensorDesc& desc, const Tensor& plain) {
  const int64_t size = element_bytes(desc.dtype);
  Buffer buffer(stored_count(desc) * size);
  for (int64_t i = 0; i < plain.count(); ++i) {
    std::memcpy(buffer.data() + stored_position(desc, i) * size,
                static_cast<const std::byte*>(plain.data()) + i * size, static_cast<size_t>(size));
  }
  return buffer;
}

// Logical elements of an output as doubles; checks that padded lanes hold zeros.
inline std::vector<double> logical(const TensorDesc& desc, const Buffer& buffer) {
  const int64_t count = logical_count(desc), all = stored_count(desc);
  std::vector<double> result(static_cast<size_t>(count));
  std::vector<bool> real(static_cast<size_t>(all), false);
  const auto at = [&](int64_t i) -> double {
    switch (desc.dtype) {
      case DType::kF32: return buffer.as<float>()[i];
      case DType::kI32: return buffer.as<int32_t>()[i];
      case DType::kU8: return buffer.as<uint8_t>()[i];
      default: return buffer.as<int8_t>()[i];
    }
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = stored_position(desc, i);
    real[static_cast<size_t>(position)] = true;
    result[static_cast<size_t>(i)] = at(position);
  }
  for (int64_t i = 0; i < all; ++i) {
    if (real[static_cast<size_t>(i)]) continue;
    EXPECT_EQ(at(i), 0.0) << "padded lane at " << i;
  }
  return result;
}

inline Tensor random_tensor(DType dtype, const std::vector<int64_t>& dims, std::mt19937& random) {
  Tensor tensor = *Tensor::allocate(dtype, dims);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint32_t bits = random();
    switch (dtype) {
      case DType::kF32:
        static_cast<float*>(tensor.data())[i] =
            static_cast<float>(static_cast<int32_t>(bits) / 2147483648.0);
        break;
      case DType::kI32:
        static_cast<int32_t*>(tensor.data())[i] = static_cast<int32_t>(bits % 2001) - 1000;
        break;
      default: static_cast<uint8_t*>(tensor.data())[i] = static_cast<uint8_t>(bits >> 11);
    }
  }
  return tensor;
}

inline std::vector<double> doubles(const Tensor& tensor) {
  TensorDesc desc{tensor.dtype(), tensor.shape()};
  return logical(desc, stored(desc, tensor));
}

// Turns the first operand's zero point of an integer gemm or conv without an epilogue into an
// operand, the last one; returns what stands there.
template <class Params>
Tensor carry_zero(Desc& desc, int32_t Params::*zero, int32_t Params::*input) {
  auto& params = std::get<Params>(desc.params);
  RegionProgram program;
  program.rank = desc.outputs[0].rank();
  program.reduced.assign(static_cast<size_t>(program.rank), 0);
  RegionOperand all, one;
  for (int d = 0; d < program.rank; ++d) {
    all.dim_of.push_back(static_cast<int8_t>(d));
    one.dim_of.push_back(-1);
  }
  program.inputs = {all, one};
  program.instructions = {{RegionOp::kInput, DType::kI32, {0, -1, -1}, 0}};
  program.outputs = {{0, all}};
  params.epilogue = program;
  params.*input = static_cast<int32_t>(desc.inputs.size());
  Tensor value = *Tensor::allocate(desc.inputs[0].dtype, {});
  *static_cast<uint8_t*>(value.data()) = static_cast<uint8_t>(params.*zero);
  params.*zero = 0;
  desc.inputs.push_back({value.dtype(), {}});
  return value;
}

struct RunResult {
  Status status;
  Buffer output;
  std::vector<Buffer> further;  // outputs behind the first
  int64_t allocations = 0;      // by the launches
};

// Chooses packings as the tactic wants, packs, prepares and launches; every phase cut into
// `pieces`. `choice` is the position of the config in the tactic's list.
inline RunResult run_tactic(const Tactic& tactic, Desc desc, const std::vector<Tensor>& inputs,
                            int pieces, size_t choice = 0) {
  int64_t allocated = 0;
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!desc.inputs[i].present()) {
      buffers.emplace_back();
      continue;
    }
    const Packing packing =
        tactic.packing ? tactic.packing(desc, static_cast<int>(i)) : Packing::kNone;
    if (packing == Packing::kNone) {
      buffers.push_back(stored(desc.inputs[i], inputs[i]));
      continue;
    }
    const auto packed = pack_weight(desc, static_cast<int>(i), packing, inputs[i]);
    if (!packed) return {packed.status(), {}, {}};
    buffers.push_back(stored(TensorDesc{DType::kU8, packed->shape()}, *packed));
    desc.inputs[i].packing = packing;
  }
  if (const Status status = check_desc(desc); !status) return {status.at("check_desc"), {}, {}};
  if (const Status status = tactic.supports(desc); !status) return {status, {}, {}};
  const Config config = configs_of(tactic, desc).at(choice);
  const auto prepared = tactic.prepare ? tactic.prepare(desc, config) : nullptr;
  const Workspace need = tactic.workspace ? tactic.workspace(desc, config) : Workspace{};
  const Buffer shared(need.shared_bytes, 0xee);
  std::vector<Buffer> outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorDesc& y : desc.outputs) {
    outputs.emplace_back(stored_count(y) * element_bytes(y.dtype), 0xcc);
    out.push_back(outputs.back().data());
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    in.push_back(desc.inputs[i].present() ? buffers[i].data() : nullptr);
  const int phases = tactic.phases ? tactic.phases(desc, config) : 1;
  for (int phase = 0; phase < phases; ++phase) {
    const int64_t units = tactic.units ? tactic.units(desc, config, prepared.get(), phase) : 1;
    for (int piece = pieces - 1; piece >= 0; --piece) {  // the order of pieces must not matter
      const Buffer worker(need.per_worker_bytes, 0xee);
      Launch launch{&desc,
                    &config,
                    prepared.get(),
                    in.data(),
                    out.data(),
                    shared.data(),
                    worker.data(),
                    phase,
                    units * piece / pieces,
                    units * (piece + 1) / pieces};
      const int64_t before = allocations();
      if (const Status status = tactic.launch(launch); !status) return {status, {}, {}};
      allocated += allocations() - before;
      EXPECT_TRUE(worker.intact()) << tactic.name << ": worker workspace: " << kGuardName;
    }
  }
  EXPECT_TRUE(shared.intact()) << tactic.name << ": shared workspace: " << kGuardName;
  for (const Buffer& output : outputs)
    EXPECT_TRUE(output.intact()) << tactic.name << ": output: " << kGuardName;
  return {Status::ok(), outputs[0], {outputs.begin() + 1, outputs.end()}, allocated};
}

inline bool same_bytes(const Buffer& a, const Buffer& b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

}  // namespace stoker::test
