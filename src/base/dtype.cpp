// SPDX-License-Identifier: Apache-2.0
#include "stoker/dtype.h"

#include <array>

namespace stoker {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
    {"invalid", 0},  {"f64", 64},       {"f32", 32},   {"f16", 16},       {"bf16", 16},
    {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8}, {"f8e8m0", 8},
    {"f4e2m1", 4},   {"i64", 64},       {"i32", 32},   {"i16", 16},       {"i8", 8},
    {"i4", 4},       {"i2", 2},         {"u64", 64},   {"u32", 32},       {"u16", 16},
    {"u8", 8},       {"u4", 4},         {"u2", 2},     {"bool", 8},       {"string", 0},
    {"c64", 64},     {"c128", 128},
}};

}  // namespace

std::string_view dtype_name(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < kRows.size() ? kRows[index].name : "invalid";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int dtype_bits(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < kRows.size() ? kRows[index].bits : 0;
}

bool is_float(DType dtype) { return dtype >= DType::kF64 && dtype <= DType::kF4E2M1; }
bool is_integer(DType dtype) { return dtype >= DType::kI64 && dtype <= DType::kU2; }
bool is_signed(DType dtype) {
  return is_float(dtype) || (dtype >= DType::kI64 && dtype <= DType::kI2);
}

}  // namespace stoker
