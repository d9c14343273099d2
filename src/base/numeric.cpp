// Conversions of single elements: 8-bit and 4-bit floats go through one description of their
// format, f16 and bf16 have fast forms since whole tensors pass through them.
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace stoker {
namespace {

struct SmallFormat {
  int bits, mantissa_bits, bias;
  uint32_t max_code;       // largest finite magnitude
  uint32_t nan_code;       // 0: the format has no NaN
  uint32_t overflow_code;  // what too large a value becomes when it does not saturate
  bool infinity;           // overflow_code is an infinity with a sign
  bool unsigned_zero;      // the code of -0 means NaN instead
};

constexpr SmallFormat kE4M3FN = {8, 3, 7, 0x7e, 0x7f, 0x7f, false, false};
constexpr SmallFormat kE4M3FNUZ = {8, 3, 8, 0x7f, 0x80, 0x80, false, true};
constexpr SmallFormat kE5M2 = {8, 2, 15, 0x7b, 0x7f, 0x7c, true, false};
constexpr SmallFormat kE5M2FNUZ = {8, 2, 16, 0x7f, 0x80, 0x80, false, true};
constexpr SmallFormat kE2M1 = {4, 1, 1, 0x7, 0, 0x7, true, false};

double decode(const SmallFormat& f, uint32_t code) {
  const uint32_t sign_bit = 1u << (f.bits - 1);
  const uint32_t magnitude = code & (sign_bit - 1);
  if (f.unsigned_zero ? code == sign_bit : magnitude > f.max_code) {
    const bool inf = f.infinity && magnitude == f.overflow_code;
    const double value =
        inf ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return code & sign_bit ? -value : value;
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint32_t one = 1u << f.mantissa_bits;
  const uint32_t mantissa = magnitude & (one - 1);
  const double significand = exponent == 0 ? mantissa : mantissa | one;
  const double value = std::ldexp(significand, std::max(exponent, 1) - f.bias - f.mantissa_bits);
  return code & sign_bit ? -value : value;
}

uint32_t encode(const SmallFormat& f, double value, bool saturate) {
  const uint32_t sign_bit = 1u << (f.bits - 1);
  const uint32_t sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value)) return f.unsigned_zero ? f.nan_code : f.nan_code | sign;
  const double a = std::fabs(value);
  uint32_t code = f.max_code + 1;
  const int lowest = 1 - f.bias;
  if (a == 0) {
    code = 0;
  } else if (!std::isinf(a)) {
    const int exponent = std::max(std::ilogb(a), lowest);
    // A significand that rounds up to the next power of two carries into the exponent by itself.
    const double q = std::nearbyint(std::scalbn(a, f.mantissa_bits - exponent));
    const int64_t wide =
        (static_cast<int64_t>(exponent - lowest) << f.mantissa_bits) + static_cast<int64_t>(q);
    if (wide <= static_cast<int64_t>(f.max_code)) code = static_cast<uint32_t>(wide);
  }
  if (code > f.max_code) {
    if (saturate) return f.max_code | sign;
    return f.unsigned_zero ? f.overflow_code : f.overflow_code | sign;
  }
  return f.unsigned_zero && code == 0 ? 0 : code | sign;
}

// e8m0: a bare power of two; neither sign nor zero.
double decode_e8m0(uint32_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(code) - 127);
}
uint32_t encode_e8m0(double value) {
  if (std::isnan(value) || value < 0) return 0xff;
  if (value == 0) return 0;
  if (std::isinf(value)) return 0xfe;
  const int exponent = std::ilogb(value);
  const double fraction = std::scalbn(value, -exponent);
  // A tie goes to the even exponent code.
  const int code = exponent + 127;
  const int rounded = code + (fraction > 1.5 || (fraction == 1.5 && (code & 1)) ? 1 : 0);
  return static_cast<uint32_t>(std::min(std::max(rounded, 0), 0xfe));
}

// A double as a float whose last bit is sticky, so that rounding it again to a narrower format
// gives the same as rounding the double once.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return __builtin_bit_cast(float, bits | 1u);
}

const std::array<double, 256>& table_of(const SmallFormat& f) {
  static const auto make = [](const SmallFormat& format) {
    std::array<double, 256> table{};
    for (uint32_t i = 0; i < (1u << format.bits); ++i) table[i] = decode(format, i);
    return table;
  };
  static const std::array<double, 256> e4m3fn = make(kE4M3FN), e4m3fnuz = make(kE4M3FNUZ),
                                       e5m2 = make(kE5M2), e5m2fnuz = make(kE5M2FNUZ),
                                       e2m1 = make(kE2M1);
  if (&f == &kE4M3FN) return e4m3fn;
  if (&f == &kE4M3FNUZ) return e4m3fnuz;
  if (&f == &kE5M2) return e5m2;
  return &f == &kE5M2FNUZ ? e5m2fnuz : e2m1;
}

// Unsigned code of element `index` of packed memory with `Bits` bits an element.
template <int Bits>
uint32_t load_bits(const void* data, int64_t index) {
  constexpr int kPerByte = 8 / Bits;
  const uint32_t byte = static_cast<const uint8_t*>(data)[index / kPerByte];
  return (byte >> (index % kPerByte * Bits)) & ((1u << Bits) - 1);
}
template <int Bits>
void store_bits(void* data, int64_t index, uint32_t code) {
  constexpr int kPerByte = 8 / Bits;
  uint8_t& byte = static_cast<uint8_t*>(data)[index / kPerByte];
  const int shift = static_cast<int>(index % kPerByte) * Bits;
  const uint32_t mask = ((1u << Bits) - 1) << shift;
  byte = static_cast<uint8_t>((byte & ~mask) | ((code << shift) & mask));
}

template <class T>
T load_raw(const void* data, int64_t index) {
  return static_cast<const T*>(data)[index];
}
template <class T>
void store_raw(void* data, int64_t index, T value) {
  static_cast<T*>(data)[index] = value;
}

// Truncates and saturates. The bounds are compared as doubles: 2^63 and 2^64 are exact there.
template <class T>
T double_to_integer(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}
int64_t clamp_int(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// One codec a dtype: how an element turns into a double or an integer and back.
template <class T>
struct IntegerCodec {
  static double to_double(const void* p, int64_t i) {
    return static_cast<double>(load_raw<T>(p, i));
  }
  static void from_double(void* p, int64_t i, double v) {
    store_raw<T>(p, i, double_to_integer<T>(v));
  }
  static int64_t to_int(const void* p, int64_t i) {
    return static_cast<int64_t>(load_raw<T>(p, i));
  }
  static void from_int(void* p, int64_t i, int64_t v) {
    if constexpr (sizeof(T) < 8) {
      using Limits = std::numeric_limits<T>;
      v = clamp_int(v, Limits::min(), Limits::max());
    }
    store_raw<T>(p, i, static_cast<T>(v));
  }
};

template <int Bits, bool Signed>
struct PackedCodec {
  static constexpr int64_t kMin = Signed ? -(1 << (Bits - 1)) : 0;
  static constexpr int64_t kMax = Signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
  static int64_t to_int(const void* p, int64_t i) {
    const int64_t code = load_bits<Bits>(p, i);
    return code > kMax ? code - (1 << Bits) : code;
  }
  static void from_int(void* p, int64_t i, int64_t v) {
    store_bits<Bits>(p, i, static_cast<uint32_t>(clamp_int(v, kMin, kMax)));
  }
  static double to_double(const void* p, int64_t i) { return static_cast<double>(to_int(p, i)); }
  static void from_double(void* p, int64_t i, double v) {
    from_int(p, i, double_to_integer<int64_t>(v));
  }
};

// Floats convert to integers through double.
template <class Float>
struct FloatCodec : Float {
  static int64_t to_int(const void* p, int64_t i) {
    return double_to_integer<int64_t>(Float::to_double(p, i));
  }
  static void from_int(void* p, int64_t i, int64_t v) {
    Float::from_double(p, i, static_cast<double>(v));
  }
};
struct F64 {
  static double to_double(const void* p, int64_t i) { return load_raw<double>(p, i); }
  static void from_double(void* p, int64_t i, double v) { store_raw<double>(p, i, v); }
};
struct F32 {
  static double to_double(const void* p, int64_t i) { return load_raw<float>(p, i); }
  static void from_double(void* p, int64_t i, double v) {
    store_raw<float>(p, i, static_cast<float>(v));
  }
};
struct F16 {
  static double to_double(const void* p, int64_t i) { return f16_to_f32(load_raw<uint16_t>(p, i)); }
  static void from_double(void* p, int64_t i, double v) {
    store_raw<uint16_t>(p, i, f32_to_f16(round_to_odd(v)));
  }
};
struct BF16 {
  static double to_double(const void* p, int64_t i) {
    return bf16_to_f32(load_raw<uint16_t>(p, i));
  }
  static void from_double(void* p, int64_t i, double v) {
    store_raw<uint16_t>(p, i, f32_to_bf16(round_to_odd(v)));
  }
};
template <const SmallFormat& kFormat, bool kSaturate = true>
struct Small {
  static double to_double(const void* p, int64_t i) {
    if constexpr (kFormat.bits == 4) return table_of(kFormat)[load_bits<4>(p, i)];
    return table_of(kFormat)[load_raw<uint8_t>(p, i)];
  }
  static void from_double(void* p, int64_t i, double v) {
    const uint32_t code = encode(kFormat, v, kSaturate);
    if constexpr (kFormat.bits == 4) {
      store_bits<4>(p, i, code);
    } else {
      store_raw<uint8_t>(p, i, static_cast<uint8_t>(code));
    }
  }
};
struct E8M0 {
  static double to_double(const void* p, int64_t i) { return decode_e8m0(load_raw<uint8_t>(p, i)); }
  static void from_double(void* p, int64_t i, double v) {
    store_raw<uint8_t>(p, i, static_cast<uint8_t>(encode_e8m0(v)));
  }
};
struct Bool {
  static double to_double(const void* p, int64_t i) { return load_raw<uint8_t>(p, i) != 0; }
  static void from_double(void* p, int64_t i, double v) { store_raw<uint8_t>(p, i, v != 0); }
  static int64_t to_int(const void* p, int64_t i) { return load_raw<uint8_t>(p, i) != 0; }
  static void from_int(void* p, int64_t i, int64_t v) { store_raw<uint8_t>(p, i, v != 0); }
};

struct Access {
  LoadDouble load_double = nullptr;
  StoreDouble store_double = nullptr;
  LoadInt load_int = nullptr;
  StoreInt store_int = nullptr;
};
template <class Codec>
constexpr Access access_of() {
  return {Codec::to_double, Codec::from_double, Codec::to_int, Codec::from_int};
}

constexpr Access access(DType dtype) {
  switch (dtype) {
    case DType::kF64: return access_of<FloatCodec<F64>>();
    case DType::kF32: return access_of<FloatCodec<F32>>();
    case DType::kF16: return access_of<FloatCodec<F16>>();
    case DType::kBF16: return access_of<FloatCodec<BF16>>();
    case DType::kF8E4M3FN: return access_of<FloatCodec<Small<kE4M3FN>>>();
    case DType::kF8E4M3FNUZ: return access_of<FloatCodec<Small<kE4M3FNUZ>>>();
    case DType::kF8E5M2: return access_of<FloatCodec<Small<kE5M2>>>();
    case DType::kF8E5M2FNUZ: return access_of<FloatCodec<Small<kE5M2FNUZ>>>();
    case DType::kF8E8M0: return access_of<FloatCodec<E8M0>>();
    case DType::kF4E2M1: return access_of<FloatCodec<Small<kE2M1>>>();
    case DType::kI64: return access_of<IntegerCodec<int64_t>>();
    case DType::kI32: return access_of<IntegerCodec<int32_t>>();
    case DType::kI16: return access_of<IntegerCodec<int16_t>>();
    case DType::kI8: return access_of<IntegerCodec<int8_t>>();
    case DType::kU64: return access_of<IntegerCodec<uint64_t>>();
    case DType::kU32: return access_of<IntegerCodec<uint32_t>>();
    case DType::kU16: return access_of<IntegerCodec<uint16_t>>();
    case DType::kU8: return access_of<IntegerCodec<uint8_t>>();
    case DType::kI4: return access_of<PackedCodec<4, true>>();
    case DType::kI2: return access_of<PackedCodec<2, true>>();
    case DType::kU4: return access_of<PackedCodec<4, false>>();
    case DType::kU2: return access_of<PackedCodec<2, false>>();
    case DType::kBool: return access_of<Bool>();
    default: return {};
  }
}

int integer_bits(DType dtype) { return is_integer(dtype) ? dtype_bits(dtype) : 1; }

}  // namespace

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return __builtin_bit_cast(float, sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude >= 0x400u)
    return __builtin_bit_cast(float, sign | ((magnitude << 13) + (112u << 23)));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -value : value;
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Adding 0.5 lines the subnormal's last bit up with the float's, so the addition rounds it.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (__builtin_bit_cast(uint32_t, shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

LoadDouble load_double(DType dtype) { return access(dtype).load_double; }
StoreDouble store_double(DType dtype) { return access(dtype).store_double; }
LoadInt load_int(DType dtype) { return access(dtype).load_int; }
StoreInt store_int(DType dtype) { return access(dtype).store_int; }

StoreDouble store_double_unsaturated(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN: return Small<kE4M3FN, false>::from_double;
    case DType::kF8E4M3FNUZ: return Small<kE4M3FNUZ, false>::from_double;
    case DType::kF8E5M2: return Small<kE5M2, false>::from_double;
    case DType::kF8E5M2FNUZ: return Small<kE5M2FNUZ, false>::from_double;
    default: return store_double(dtype);
  }
}

int64_t integer_min(DType dtype) {
  const int bits = integer_bits(dtype);
  if (!is_integer(dtype) || !is_signed(dtype)) return 0;
  return bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
}

int64_t integer_max(DType dtype) {
  const int bits = integer_bits(dtype);
  if (bits == 64) return INT64_MAX;
  return is_integer(dtype) && is_signed(dtype) ? (int64_t{1} << (bits - 1)) - 1
                                               : (int64_t{1} << bits) - 1;
}

}  // namespace stoker
