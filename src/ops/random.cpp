// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <cmath>

namespace stoker {

PhiloxBlock philox_4x32_10(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

namespace {

// log 2 in two parts: the first times any exponent is exact.
constexpr double kLog2High = 0x1.62e42fefa38p-1, kLog2Low = 0x1.ef35793c7673p-45;

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// Seeds and nodes draw their keys from two different streams, so that neither meets the other.
std::array<uint32_t, 2> stream_key(uint64_t identity, uint32_t purpose) {
  const PhiloxBlock mixed = philox_4x32_10({low(identity), high(identity), 0, 0}, {purpose, 0});
  return {mixed[0], mixed[1]};
}

}  // namespace

RandomStream::RandomStream(const RandomKey& key, std::optional<uint64_t> seed)
    : key_(seed ? stream_key(*seed, 1) : stream_key(key.node, 2)), run_(key.run) {}

RandomStream RandomStream::of(const ValueContext& context) {
  const Attributes& attributes = context.attributes;
  if (!attributes.has("seed")) return RandomStream(context.random);
  // An int attribute reads as NaN here, which no float attribute of a real model is.
  const double seed = attributes.get_float("seed", std::nan(""));
  const uint64_t bits = std::isnan(seed) ? static_cast<uint64_t>(attributes.get_int("seed"))
                                         : __builtin_bit_cast(uint64_t, seed);
  return RandomStream(context.random, bits);
}

uint32_t RandomStream::bits32() {
  if (used_ == block_.size()) {
    block_ = philox_4x32_10({low(block_number_), high(block_number_), low(run_), high(run_)}, key_);
    ++block_number_;
    used_ = 0;
  }
  return block_[used_++];
}

uint64_t RandomStream::bits64() {
  const uint64_t first = bits32();
  return first | uint64_t{bits32()} << 32;
}

double RandomStream::uniform() { return static_cast<double>(bits64() >> 11) * 0x1p-53; }

// Marsaglia's polar method: two normal numbers from a point of the unit disc.
double RandomStream::normal() {
  if (spare_normal_) {
    const double value = *spare_normal_;
    spare_normal_.reset();
    return value;
  }
  double u = 0, v = 0, s = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double scale = std::sqrt(-2 * portable_log(s) / s);
  spare_normal_ = v * scale;
  return u * scale;
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m-1)/(m+1)) by its series.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return exponent * kLog2High + (2 * t * sum + exponent * kLog2Low);
}

// x = k log 2 + r with |r| <= log(2)/2; exp r by its series.
double portable_exp(double x) {
  if (!(x > -746)) return std::isnan(x) ? x : 0;
  if (x > 710) return HUGE_VAL;
  const double k = std::nearbyint(x * 1.4426950408889634);
  const double r = (x - k * kLog2High) - k * kLog2Low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace stoker
