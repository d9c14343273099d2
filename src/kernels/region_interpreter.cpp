// One point at a time; reductions by passes over their row. Slow and plain on purpose.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/region_interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/numeric.h"

namespace stoker {
namespace {

using Cell = RegionInterpreter::Cell;

int64_t wrap(DType dtype, int64_t value) {
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

int64_t add_wrap(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t mul_wrap(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
int64_t neg_wrap(int64_t a) { return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a)); }

int64_t float_to_int(DType to, double value) {
  int64_t bits = 0;
  unsigned char memory[8] = {};
  store_double(to)(memory, 0, value);  // truncates and saturates
  bits = load_int(to)(memory, 0);
  return bits;
}

double round_float(DType to, double value) {
  if (to != DType::kF16 && to != DType::kBF16) return value;
  uint16_t memory = 0;
  store_double(to)(&memory, 0, value);
  return load_double(to)(&memory, 0);
}

Cell cast(DType from, DType to, const Cell& a) {
  Cell r;
  const double value = is_float(from) ? a.number
                       : from == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(a.integer))
                                             : static_cast<double>(a.integer);
  if (is_float(to)) {
    r.number = round_float(to, value);
  } else if (is_float(from)) {
    r.integer = to == DType::kBool ? value != 0 : float_to_int(to, value);
  } else {
    r.integer = wrap(to, a.integer);
  }
  return r;
}

double unary_float(RegionOp op, double x) {
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

int64_t unary_int(RegionOp op, DType dtype, int64_t x) {
  const bool unsigned64 = dtype == DType::kU64;
  switch (op) {
    case RegionOp::kNeg: return neg_wrap(x);
    case RegionOp::kAbs: return x < 0 && !unsigned64 ? neg_wrap(x) : x;
    case RegionOp::kSign: return unsigned64 ? x != 0 : (x > 0) - (x < 0);
    case RegionOp::kNot: return dtype == DType::kBool ? x == 0 : ~x;
    default: return 0;
  }
}

double binary_float(RegionOp op, double x, double y) {
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

int64_t pow_int(int64_t x, int64_t y, bool is_unsigned) {
  if (!is_unsigned && y < 0) return x == 1 ? 1 : (x == -1 ? ((y & 1) ? -1 : 1) : 0);
  int64_t base = x, result = 1;
  for (uint64_t e = static_cast<uint64_t>(y); e; e >>= 1) {
    if (e & 1) result = mul_wrap(result, base);
    base = mul_wrap(base, base);
  }
  return result;
}

// Division by zero gives 0: data must not be able to stop the process.
int64_t divide(RegionOp op, int64_t x, int64_t y, bool is_unsigned) {
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

int64_t binary_int(RegionOp op, int64_t x, int64_t y, bool is_unsigned) {
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

Cell binary(RegionOp op, DType argument, DType result, const Cell& a, const Cell& b) {
  Cell r;
  if (!is_float(argument)) {
    r.integer = wrap(result, binary_int(op, a.integer, b.integer, argument == DType::kU64));
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

// Running state of one reduction.
struct Reduction {
  explicit Reduction(const RegionInstruction& instruction) : op(instruction.op), dtype(instruction.dtype) {
    const bool max = op == RegionOp::kReduceMax, min = op == RegionOp::kReduceMin;
    const double infinity = std::numeric_limits<double>::infinity();
    cell.number = max ? -infinity : (min ? infinity : (op == RegionOp::kReduceProd ? 1 : 0));
    cell.integer = op == RegionOp::kReduceProd ? 1 : 0;
    if (max) cell.integer = integer_min(dtype);
    if (min) cell.integer = dtype == DType::kU64 ? -1 : integer_max(dtype);
  }
  void add(const Cell& a) {
    ++count;
    const RegionOp step = op == RegionOp::kReduceMax    ? RegionOp::kMax
                          : op == RegionOp::kReduceMin  ? RegionOp::kMin
                          : op == RegionOp::kReduceProd ? RegionOp::kMul
                                                        : RegionOp::kAdd;
    if (is_float(dtype)) cell.number = binary_float(step, cell.number, a.number);
    else cell.integer = binary_int(step, cell.integer, a.integer, dtype == DType::kU64);
  }
  Cell result() const {
    Cell r = cell;
    if (op == RegionOp::kReduceMean) {
      r.number = cell.number / static_cast<double>(count);
      r.integer = divide(RegionOp::kDiv, cell.integer, count, dtype == DType::kU64);
    }
    if (!is_float(dtype)) r.integer = wrap(dtype, r.integer);
    return r;
  }
  RegionOp op;
  DType dtype;
  Cell cell;
  int64_t count = 0;
};

// Next point in row-major order over the dims whose flag equals `which`; false at the end.
bool advance(const std::vector<int64_t>& extents, const std::vector<uint8_t>& reduced, uint8_t which,
             std::vector<int64_t>& point) {
  for (size_t d = point.size(); d-- > 0;) {
    if ((reduced[d] != 0) != (which != 0)) continue;
    if (++point[d] < extents[d]) return true;
    point[d] = 0;
  }
  return false;
}

int64_t mapped_offset(const TensorDesc& desc, const RegionOperand& map, const int64_t* point) {
  std::vector<int64_t> position(desc.dims.size(), 0);
  for (size_t d = 0; d < map.dim_of.size(); ++d) {
    const int dim = map.dim_of[d];
    if (dim >= 0 && desc.dims[static_cast<size_t>(dim)] != 1) position[static_cast<size_t>(dim)] = point[d];
  }
  return element_offset(desc, position);
}

}  // namespace

int64_t element_offset(const TensorDesc& desc, std::span<const int64_t> position) {
  const bool c16 = desc.layout == Layout::kC16 && desc.rank() >= 2;
  int64_t offset = 0;
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const bool channel = c16 && d == 1;
    const int64_t extent = channel ? (desc.dims[1] + kLaneCount - 1) / kLaneCount : desc.dims[d];
    offset = offset * extent + (channel ? position[1] / kLaneCount : position[d]);
  }
  return c16 ? offset * kLaneCount + position[1] % kLaneCount : offset;
}

RegionInterpreter::RegionInterpreter(const RegionProgram& program, std::span<const int64_t> extents,
                                     std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs)
    : program_(program), extents_(extents.begin(), extents.end()), inputs_(inputs), outputs_(outputs) {
  for (const RegionInstruction& instruction : program.instructions) {
    int stage = 0;
    for (int k = 0; k < region_op_arity(instruction.op); ++k) {
      stage = std::max(stage, stages_[static_cast<size_t>(instruction.args[static_cast<size_t>(k)])]);
    }
    if (is_reduction(instruction.op)) ++stage;
    passes_ = std::max(passes_, stage + 1);
    stages_.push_back(stage);
  }
}

Cell RegionInterpreter::input_cell(const RegionInstruction& instruction, const void* const* inputs,
                                   const int64_t* point) const {
  const size_t k = static_cast<size_t>(instruction.args[0]);
  const TensorDesc& desc = inputs_[k];
  const int64_t offset = mapped_offset(desc, program_.inputs[k], point);
  Cell cell;
  if (is_float(desc.dtype)) cell.number = load_double(desc.dtype)(inputs[k], offset);
  else cell.integer = load_int(desc.dtype)(inputs[k], offset);
  return cast(desc.dtype, instruction.dtype, cell);
}

void RegionInterpreter::evaluate_point(const void* const* inputs, const int64_t* point, const Row& row,
                                       std::vector<Cell>& cells) const {
  cells.resize(program_.instructions.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const RegionInstruction& instruction = program_.instructions[i];
    const auto arg = [&](size_t k) -> const Cell& { return cells[static_cast<size_t>(instruction.args[k])]; };
    const auto arg_dtype = [&](size_t k) { return program_.instructions[static_cast<size_t>(instruction.args[k])].dtype; };
    Cell& cell = cells[i];
    cell = Cell{};
    if (instruction.op == RegionOp::kInput) {
      cell = input_cell(instruction, inputs, point);
    } else if (instruction.op == RegionOp::kConstant) {
      if (is_float(instruction.dtype)) cell.number = round_float(instruction.dtype, instruction.constant);
      else cell.integer = static_cast<int64_t>(instruction.constant);
    } else if (instruction.op == RegionOp::kIota) {
      Cell index;
      index.integer = point[instruction.args[0]];
      cell = cast(DType::kI64, instruction.dtype, index);
    } else if (is_reduction(instruction.op)) {
      if (i < row.reduced.size()) cell = row.reduced[i];
    } else if (instruction.op == RegionOp::kCast) {
      cell = cast(arg_dtype(0), instruction.dtype, arg(0));
    } else if (instruction.op == RegionOp::kSelect) {
      cell = arg(0).integer ? arg(1) : arg(2);
    } else if (region_op_arity(instruction.op) == 2) {
      cell = binary(instruction.op, arg_dtype(0), instruction.dtype, arg(0), arg(1));
    } else if (is_float(instruction.dtype)) {
      cell.number = unary_float(instruction.op, arg(0).number);
    } else {
      cell.integer = wrap(instruction.dtype, unary_int(instruction.op, instruction.dtype, arg(0).integer));
    }
  }
}

void RegionInterpreter::reduce_row(const void* const* inputs, const int64_t* point, Row& row) const {
  const size_t count = program_.instructions.size();
  row.reduced.assign(count, Cell{});
  bool empty = false;
  for (size_t d = 0; d < extents_.size(); ++d) empty = empty || (program_.reduced[d] && extents_[d] == 0);
  std::vector<Cell> cells;
  for (int pass = 0; pass + 1 < passes_; ++pass) {
    std::vector<int64_t> at(point, point + extents_.size());
    for (size_t d = 0; d < at.size(); ++d) at[d] = program_.reduced[d] ? 0 : at[d];
    std::vector<Reduction> running;
    for (const RegionInstruction& instruction : program_.instructions) running.emplace_back(instruction);
    bool more = !empty;
    while (more) {
      evaluate_point(inputs, at.data(), row, cells);
      for (size_t i = 0; i < count; ++i) {
        const RegionInstruction& instruction = program_.instructions[i];
        if (!is_reduction(instruction.op) || stages_[i] != pass + 1) continue;
        running[i].add(cells[static_cast<size_t>(instruction.args[0])]);
      }
      more = advance(extents_, program_.reduced, 1, at);
    }
    for (size_t i = 0; i < count; ++i) {
      if (is_reduction(program_.instructions[i].op) && stages_[i] == pass + 1) row.reduced[i] = running[i].result();
    }
  }
}

void RegionInterpreter::fill_cells(const void* const* inputs, const int64_t* point, Row& row,
                                   std::vector<Cell>& cells) const {
  if (passes_ > 1) {
    std::vector<int64_t> kept;
    for (size_t d = 0; d < extents_.size(); ++d) kept.push_back(program_.reduced[d] ? 0 : point[d]);
    if (!row.known || row.kept != kept) {
      reduce_row(inputs, point, row);
      row.kept = kept;
      row.known = true;
    }
  }
  evaluate_point(inputs, point, row, cells);
}

void RegionInterpreter::run(const void* const* inputs, void* const* outputs) const {
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const TensorDesc& desc = outputs_[k];
    if (desc.layout != Layout::kC16 || desc.rank() < 2 || desc.dims[1] % kLaneCount == 0) continue;
    // Zeroes the padding lanes alone: the output may lie over an input that is still to be read.
    std::vector<int64_t> position(desc.dims.size(), 0);
    for (const int64_t extent : desc.dims) if (extent == 0) return;
    do {
      const int64_t offset = element_offset(desc, position);
      if (position[1] != desc.dims[1] - 1) continue;
      const int64_t bytes = dtype_bits(desc.dtype) / 8, lanes = kLaneCount - desc.dims[1] % kLaneCount;
      std::memset(static_cast<char*>(outputs[k]) + (offset + 1) * bytes, 0, static_cast<size_t>(lanes * bytes));
    } while (advance(desc.dims, std::vector<uint8_t>(desc.dims.size(), 1), 1, position));
  }
  // Rows first, then the points of a row, so that the reductions of a row are computed once.
  std::vector<int64_t> point(extents_.size(), 0);
  bool empty_row = false;
  for (size_t d = 0; d < extents_.size(); ++d) {
    if (extents_[d] != 0) continue;
    if (!program_.reduced[d] || passes_ == 1) return;
    empty_row = true;
  }
  Row row;
  std::vector<Cell> cells;
  do {
    do {
      fill_cells(inputs, point.data(), row, cells);
      for (size_t k = 0; k < outputs_.size(); ++k) {
        const TensorDesc& desc = outputs_[k];
        if (logical_count(desc) == 0) continue;
        const int32_t value = program_.outputs[k].value;
        const DType from = program_.instructions[static_cast<size_t>(value)].dtype;
        const Cell cell = cast(from, desc.dtype, cells[static_cast<size_t>(value)]);
        const int64_t offset = mapped_offset(desc, program_.outputs[k].map, point.data());
        if (is_float(desc.dtype)) store_double(desc.dtype)(outputs[k], offset, cell.number);
        else store_int(desc.dtype)(outputs[k], offset, cell.integer);
      }
    } while (passes_ > 1 && !empty_row && advance(extents_, program_.reduced, 1, point));
  } while (passes_ > 1 ? advance(extents_, program_.reduced, 0, point)
                       : advance(extents_, std::vector<uint8_t>(extents_.size(), 1), 1, point));
}

std::vector<double> RegionInterpreter::elements(const void* const* inputs, int output,
                                                std::span<const int64_t> wanted) const {
  const TensorDesc& desc = outputs_[static_cast<size_t>(output)];
  const RegionOutput& target = program_.outputs[static_cast<size_t>(output)];
  const DType from = program_.instructions[static_cast<size_t>(target.value)].dtype;
  std::vector<double> results;
  Row row;
  std::vector<Cell> cells;
  for (int64_t index : wanted) {
    std::vector<int64_t> position(desc.dims.size());
    for (size_t d = desc.dims.size(); d-- > 0;) {
      position[d] = index % desc.dims[d];
      index /= desc.dims[d];
    }
    std::vector<int64_t> point(extents_.size(), 0);
    for (size_t d = 0; d < point.size(); ++d) {
      const int dim = target.map.dim_of[d];
      if (dim >= 0) point[d] = position[static_cast<size_t>(dim)];
    }
    fill_cells(inputs, point.data(), row, cells);
    Cell cell = cells[static_cast<size_t>(target.value)];
    if (is_float(from) && is_float(desc.dtype)) {
      results.push_back(cell.number);  // unrounded, also for f16 and bf16 outputs
      continue;
    }
    cell = cast(from, desc.dtype, cell);
    results.push_back(is_float(desc.dtype) ? cell.number
                      : desc.dtype == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(cell.integer))
                                                  : static_cast<double>(cell.integer));
  }
  return results;
}

}  // namespace stoker
