// The 32-bit MurmurHash3 (x86 variant; Austin Appleby, public domain) of every element's bytes in
// little-endian order, or of every string.
// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "ops/support.h"

namespace stoker {

namespace {

constexpr DTypeSet kHashed = dtypes(
    {DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kF32, DType::kF64, DType::kString});

uint32_t scrambled(uint32_t block) { return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

uint32_t hash_bytes(const unsigned char* data, size_t size, uint32_t seed) {
  uint32_t hash = seed;
  const auto word = [&](size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint32_t{data[at + i]} << (8 * i);
    return value;
  };
  const size_t whole = size / 4 * 4;
  for (size_t at = 0; at < whole; at += 4) {
    hash = std::rotl(hash ^ scrambled(word(at, 4)), 13) * 5 + 0xe6546b64u;
  }
  if (size > whole) hash ^= scrambled(word(whole, size - whole));
  hash ^= static_cast<uint32_t>(size);
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  return hash ^ (hash >> 16);
}

uint32_t hash_bits(uint64_t bits, size_t size, uint32_t seed) {
  unsigned char bytes[8];
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(bits >> (8 * i));
  return hash_bytes(bytes, size, seed);
}

Status infer(InferContext& c) {
  const DType out = c.attributes.get_int("positive", 1) != 0 ? DType::kU32 : DType::kI32;
  return infer_unary(c, "murmur_hash3", kHashed, out);
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(x, y.count(), "murmur_hash3", "input"));
  const auto seed = static_cast<uint32_t>(c.attributes.get_int("seed"));
  // In an evaluation at f64 the bits are still those of the graph's dtype.
  const DType dtype = c.attributes.get_dtype("input_dtype", x.dtype);
  const Reader read(x);
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t position) {
    uint32_t hash = 0;
    if (x.dtype == DType::kString) {
      const std::string& text = (*x.strings)[static_cast<size_t>(read.offset(position))];
      hash = hash_bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size(), seed);
    } else if (dtype == DType::kF32) {
      hash = hash_bits(std::bit_cast<uint32_t>(static_cast<float>(read.number(position))), 4, seed);
    } else if (dtype == DType::kF64) {
      hash = hash_bits(std::bit_cast<uint64_t>(read.number(position)), 8, seed);
    } else {
      const auto bits = static_cast<uint64_t>(read.integer(position));
      hash = hash_bits(bits, static_cast<size_t>(dtype_bits(dtype)) / 8, seed);
    }
    write.integer(position, hash);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_murmur_hash3;
const Op op_murmur_hash3 = {
    .name = "murmur_hash3",
    .attributes = {{"input_dtype", AttributeKind::kDType},
                   {"positive", AttributeKind::kInt},
                   {"seed", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
