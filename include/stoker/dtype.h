// Element types: all of ONNX. Sub-byte types are packed, low bits first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

enum class DType : uint8_t {
  kInvalid = 0,
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF4E2M1,
  kI64,
  kI32,
  kI16,
  kI8,
  kI4,
  kI2,
  kU64,
  kU32,
  kU16,
  kU8,
  kU4,
  kU2,
  kBool,
  kString,
  kC64,
  kC128,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::kC128) + 1;

// "f32", "i64", "bf16", "f8e4m3fn", "bool", "string", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

// Bits of one element; 0 for strings, whose elements have no fixed size.
int dtype_bits(DType dtype);
bool is_float(DType dtype);    // f64 ... f4e2m1
bool is_integer(DType dtype);  // signed and unsigned, not bool
bool is_signed(DType dtype);   // signed integers and floats

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kU64;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

}  // namespace stoker
