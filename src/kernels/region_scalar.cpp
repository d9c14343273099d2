// Scalar arithmetic of region programs: what each instruction means, in double and in exact
// integers.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/region_scalar.h"

#include <cmath>
#include <limits>

#include "base/numeric.h"

namespace stoker {

using Cell = RegionCell;

int64_t wrap_integer(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI32: return static_cast<int32_t>(value);
    case DType::kI16: return static_cast<int16_t>(value);
    case DType::kI8: return static_cast<int8_t>(value);
    case DType::kU32: return static_cast<uint32_t>(value);
    case DType::kU16: return static_cast<uint16_t>(value);
    case DType::kU8: return static_cast<uint8_t>(value);
    case DType::kBool: return value != 0;
    default: return value;
  }
}

static int64_t add_wrap(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
static int64_t mul_wrap(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
static int64_t neg_wrap(int64_t a) {
  return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a));
}

static int64_t float_to_int(DType to, double value) {
  int64_t bits = 0;
  unsigned char memory[8] = {};
  store_double(to)(memory, 0, value);  // truncates and saturates
  bits = load_int(to)(memory, 0);
  return bits;
}

double round_number(DType to, double value) {
  if (to != DType::kF16 && to != DType::kBF16) return value;
  uint16_t memory = 0;
  store_double(to)(&memory, 0, value);
  return load_double(to)(&memory, 0);
}

Cell cell_cast(DType from, DType to, const Cell& a) {
  Cell r;
  const double value = is_float(from)        ? a.number
                       : from == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(a.integer))
                                             : static_cast<double>(a.integer);
  if (is_float(to)) {
    r.number = round_number(to, value);
  } else if (is_float(from)) {
    r.integer = to == DType::kBool ? value != 0 : float_to_int(to, value);
  } else {
    r.integer = wrap_integer(to, a.integer);
  }
  return r;
}

double unary_number(RegionOp op, double x) {
  switch (op) {
    case RegionOp::kNeg: return -x;
    case RegionOp::kAbs: return std::fabs(x);
    case RegionOp::kExp: return std::exp(x);
    case RegionOp::kLog: return std::log(x);
    case RegionOp::kSqrt: return std::sqrt(x);
    case RegionOp::kReciprocal: return 1 / x;
    case RegionOp::kTanh: return std::tanh(x);
    case RegionOp::kErf: return std::erf(x);
    case RegionOp::kSigmoid: return 1 / (1 + std::exp(-x));
    case RegionOp::kFloor: return std::floor(x);
    case RegionOp::kCeil: return std::ceil(x);
    case RegionOp::kRoundEven: return std::nearbyint(x);
    case RegionOp::kSign: return x > 0 ? 1 : (x < 0 ? -1 : x);
    case RegionOp::kSin: return std::sin(x);
    case RegionOp::kCos: return std::cos(x);
    default: return 0;
  }
}

int64_t unary_integer(RegionOp op, DType dtype, int64_t x) {
  const bool unsigned64 = dtype == DType::kU64;
  switch (op) {
    case RegionOp::kNeg: return neg_wrap(x);
    case RegionOp::kAbs: return x < 0 && !unsigned64 ? neg_wrap(x) : x;
    case RegionOp::kSign: return unsigned64 ? x != 0 : (x > 0) - (x < 0);
    case RegionOp::kNot: return dtype == DType::kBool ? x == 0 : ~x;
    default: return 0;
  }
}

static double binary_float(RegionOp op, double x, double y) {
  switch (op) {
    case RegionOp::kAdd: return x + y;
    case RegionOp::kSub: return x - y;
    case RegionOp::kMul: return x * y;
    case RegionOp::kDiv: return x / y;
    case RegionOp::kMin: return x < y || std::isnan(x) ? x : y;
    case RegionOp::kMax: return x > y || std::isnan(x) ? x : y;
    case RegionOp::kPow: return std::pow(x, y);
    case RegionOp::kMod: return std::fmod(x, y);
    default: return 0;
  }
}

static int64_t pow_int(int64_t x, int64_t y, bool is_unsigned) {
  if (!is_unsigned && y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) ? -1 : 1) : 0);
  int64_t base = x, result = 1;
  for (uint64_t e = static_cast<uint64_t>(y); e; e >>= 1) {
    if (e & 1) result = mul_wrap(result, base);
    base = mul_wrap(base, base);
  }
  return result;
}

// Division by zero gives 0: data must not be able to stop the process.
static int64_t divide(RegionOp op, int64_t x, int64_t y, bool is_unsigned) {
  if (y == 0) return 0;
  if (is_unsigned) {
    const uint64_t a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
    return static_cast<int64_t>(op == RegionOp::kDiv ? a / b : a % b);
  }
  if (y == -1) return op == RegionOp::kDiv ? neg_wrap(x) : 0;
  if (op == RegionOp::kDiv) return x / y;
  const int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static int64_t binary_int(RegionOp op, int64_t x, int64_t y, bool is_unsigned) {
  const bool less = is_unsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  switch (op) {
    case RegionOp::kAdd: return add_wrap(x, y);
    case RegionOp::kSub: return add_wrap(x, neg_wrap(y));
    case RegionOp::kMul: return mul_wrap(x, y);
    case RegionOp::kDiv:
    case RegionOp::kMod: return divide(op, x, y, is_unsigned);
    case RegionOp::kMin: return less ? x : y;
    case RegionOp::kMax: return less ? y : x;
    case RegionOp::kPow: return pow_int(x, y, is_unsigned);
    case RegionOp::kAnd: return x & y;
    case RegionOp::kOr: return x | y;
    case RegionOp::kXor: return x ^ y;
    case RegionOp::kEqual: return x == y;
    case RegionOp::kLess: return less;
    case RegionOp::kLessEqual: return less || x == y;
    default: return 0;
  }
}

Cell cell_binary(RegionOp op, DType argument, DType result, const Cell& a, const Cell& b) {
  Cell r;
  if (!is_float(argument)) {
    r.integer = wrap_integer(result, binary_int(op, a.integer, b.integer, argument == DType::kU64));
  } else if (op == RegionOp::kEqual) {
    r.integer = a.number == b.number;
  } else if (op == RegionOp::kLess) {
    r.integer = a.number < b.number;
  } else if (op == RegionOp::kLessEqual) {
    r.integer = a.number <= b.number;
  } else {
    r.number = binary_float(op, a.number, b.number);
  }
  return r;
}

CellReduction::CellReduction(const RegionInstruction& instruction)
    : op_(instruction.op), dtype_(instruction.dtype) {
  const bool max = op_ == RegionOp::kReduceMax, min = op_ == RegionOp::kReduceMin;
  const double infinity = std::numeric_limits<double>::infinity();
  cell_.number = max ? -infinity : (min ? infinity : (op_ == RegionOp::kReduceProd ? 1 : 0));
  cell_.integer = op_ == RegionOp::kReduceProd ? 1 : 0;
  if (max) cell_.integer = integer_min(dtype_);
  if (min) cell_.integer = dtype_ == DType::kU64 ? -1 : integer_max(dtype_);
}

void CellReduction::add(const Cell& a) {
  ++count_;
  const RegionOp step = op_ == RegionOp::kReduceMax    ? RegionOp::kMax
                        : op_ == RegionOp::kReduceMin  ? RegionOp::kMin
                        : op_ == RegionOp::kReduceProd ? RegionOp::kMul
                                                       : RegionOp::kAdd;
  if (is_float(dtype_))
    cell_.number = binary_float(step, cell_.number, a.number);
  else
    cell_.integer = binary_int(step, cell_.integer, a.integer, dtype_ == DType::kU64);
}

Cell CellReduction::result() const {
  Cell r = cell_;
  if (op_ == RegionOp::kReduceMean) {
    r.number = cell_.number / static_cast<double>(count_);
    r.integer = divide(RegionOp::kDiv, cell_.integer, count_, dtype_ == DType::kU64);
  }
  if (!is_float(dtype_)) r.integer = wrap_integer(dtype_, r.integer);
  return r;
}

}  // namespace stoker
