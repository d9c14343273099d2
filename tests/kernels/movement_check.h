// Bit-exact comparison of a tactic that moves elements with the reference tactic of its family, on
// every ISA level and for several cuts of the work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/tactic_harness.h"

namespace stoker::test {

inline const Tactic* reference_of(Family family) {
  for (const Tactic& tactic : reference_tactics()) {
    if (tactic.family == family) return &tactic;
  }
  return nullptr;
}

inline Buffer random_bytes(const TensorDesc& desc, std::mt19937& random) {
  const int64_t size = element_bytes(desc.dtype);
  Buffer buffer(stored_count(desc) * size);
  for (int64_t i = 0; i < logical_count(desc); ++i) {
    for (int64_t b = 0; b < size; ++b) {
      buffer.data()[stored_position(desc, i) * size + b] = static_cast<std::byte>(random() >> 7);
    }
  }
  return buffer;
}

inline Status launch_cut(const Tactic& tactic, const Desc& desc, const std::vector<Buffer>& inputs,
                         const Buffer& output, int pieces) {
  STOKER_TRY(tactic.supports(desc));
  const Config config = configs_of(tactic, desc).front();
  const auto prepared = tactic.prepare ? tactic.prepare(desc, config) : nullptr;
  const int64_t units = tactic.units ? tactic.units(desc, config, prepared.get(), 0) : 1;
  std::vector<const void*> in;
  for (const Buffer& buffer : inputs) in.push_back(buffer.data());
  void* out[] = {output.data()};
  for (int piece = pieces - 1; piece >= 0; --piece) {
    const Launch launch{&desc,
                        &config,
                        prepared.get(),
                        in.data(),
                        out,
                        nullptr,
                        nullptr,
                        0,
                        units * piece / pieces,
                        units * (piece + 1) / pieces};
    STOKER_TRY(tactic.launch(launch));
  }
  return Status::ok();
}

// The bits of `name` against those of the reference.
inline void expect_same_bits(const char* name, const Desc& desc,
                             const std::vector<Buffer>& inputs) {
  const int64_t bytes = stored_count(desc.outputs[0]) * element_bytes(desc.outputs[0].dtype);
  const Buffer expected(bytes, 0xcc);
  const Status reference = launch_cut(*reference_of(desc.family()), desc, inputs, expected, 1);
  ASSERT_TRUE(reference.is_ok()) << reference.message();
  for (const IsaLevel level : levels()) {
    const Tactic* tactic = find_tactic(level, name);
    ASSERT_TRUE(tactic) << name;
    for (const int pieces : {1, 2, 5}) {
      SCOPED_TRACE(std::string(isa_name(level)) + ", pieces: " + std::to_string(pieces));
      const Buffer output(bytes, 0xcc);
      const Status status = launch_cut(*tactic, desc, inputs, output, pieces);
      ASSERT_TRUE(status.is_ok()) << status.message();
      ASSERT_TRUE(output.intact()) << kGuardName;
      ASSERT_TRUE(same_bytes(output, expected));
    }
  }
}

}  // namespace stoker::test
