// Region programs: names, canonical text and the strict check that engine files go through.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/desc/region.h"

#include <cmath>

#include "base/numeric.h"
#include "base/status.h"

namespace stoker {
namespace {

constexpr int kMaxRank = 8;
constexpr size_t kMaxOperands = 64;
constexpr size_t kMaxInstructions = 4096;

struct OpInfo {
  const char* name;
  int arity;
};

constexpr OpInfo kOps[kRegionOpCount] = {
    {"input", 0},      {"constant", 0},    {"iota", 0},       {"neg", 1},        {"abs", 1},
    {"exp", 1},        {"log", 1},         {"sqrt", 1},       {"reciprocal", 1}, {"tanh", 1},
    {"erf", 1},        {"sigmoid", 1},     {"floor", 1},      {"ceil", 1},       {"round_even", 1},
    {"sign", 1},       {"sin", 1},         {"cos", 1},        {"not", 1},        {"cast", 1},
    {"add", 2},        {"sub", 2},         {"mul", 2},        {"div", 2},        {"min", 2},
    {"max", 2},        {"pow", 2},         {"mod", 2},        {"equal", 2},      {"less", 2},
    {"less_equal", 2}, {"and", 2},         {"or", 2},         {"xor", 2},        {"select", 3},
    {"reduce_sum", 1}, {"reduce_mean", 1}, {"reduce_max", 1}, {"reduce_min", 1}, {"reduce_prod", 1},
};

bool known_op(RegionOp op) { return static_cast<int>(op) < kRegionOpCount; }

bool computable(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
    case DType::kU8:
    case DType::kBool: return true;
    default: return false;
  }
}

bool float_only(RegionOp op) {
  return (op >= RegionOp::kExp && op <= RegionOp::kRoundEven) || op == RegionOp::kSin ||
         op == RegionOp::kCos;
}
bool logical(RegionOp op) {
  return op == RegionOp::kNot || op == RegionOp::kAnd || op == RegionOp::kOr ||
         op == RegionOp::kXor;
}
bool comparison(RegionOp op) {
  return op == RegionOp::kEqual || op == RegionOp::kLess || op == RegionOp::kLessEqual;
}

std::string check_map(const RegionProgram& program, const RegionOperand& map, int operand_rank) {
  if (static_cast<int>(map.dim_of.size()) != program.rank) {
    return fmt::format("its map has {} entries, the iteration space {} dims", map.dim_of.size(),
                       program.rank);
  }
  if (operand_rank < 0 || operand_rank > 64)
    return fmt::format("its rank {} is not usable", operand_rank);
  uint64_t seen = 0;
  for (const int8_t dim : map.dim_of) {
    if (dim == -1) continue;
    if (dim < -1 || dim >= operand_rank) {
      return fmt::format("its map names dim {}, its rank is {}", dim, operand_rank);
    }
    if (seen >> dim & 1) return fmt::format("its map names dim {} twice", dim);
    seen |= uint64_t{1} << dim;
  }
  return "";
}

std::string check_constant(const RegionInstruction& instruction) {
  const double value = instruction.constant;
  if (is_float(instruction.dtype)) return "";
  if (!(std::fabs(value) <= 9007199254740992.0) || value != std::trunc(value)) {
    return fmt::format("the constant {} is not an integer of at most 53 bits", value);
  }
  const bool is_bool = instruction.dtype == DType::kBool;
  const double low = is_bool ? 0 : static_cast<double>(integer_min(instruction.dtype));
  const double high = is_bool ? 1 : static_cast<double>(integer_max(instruction.dtype));
  if (value < low || value > high) {
    return fmt::format("the constant {} is outside of {}", value, dtype_name(instruction.dtype));
  }
  return "";
}

// Dtypes of an instruction whose arguments are known to be earlier instructions.
std::string check_dtypes(const RegionProgram& program, const RegionInstruction& instruction) {
  const RegionOp op = instruction.op;
  const auto arg = [&](int k) {
    return program.instructions[static_cast<size_t>(instruction.args[k])].dtype;
  };
  const auto differ = [&](DType a, DType b) {
    return fmt::format("dtypes {} and {} must be equal", dtype_name(a), dtype_name(b));
  };
  if (op == RegionOp::kCast) return "";
  if (op == RegionOp::kSelect) {
    if (arg(0) != DType::kBool)
      return fmt::format("the condition is {}, not bool", dtype_name(arg(0)));
    if (arg(1) != arg(2)) return differ(arg(1), arg(2));
    return arg(1) == instruction.dtype ? "" : differ(arg(1), instruction.dtype);
  }
  const DType a = arg(0);
  if (region_op_arity(op) == 2 && arg(1) != a) return differ(a, arg(1));
  if (comparison(op)) {
    return instruction.dtype == DType::kBool
               ? ""
               : fmt::format("the result is {}, not bool", dtype_name(instruction.dtype));
  }
  if (a != instruction.dtype) return differ(a, instruction.dtype);
  if (float_only(op) && !is_float(a)) return fmt::format("takes floats, not {}", dtype_name(a));
  if (logical(op) && is_float(a))
    return fmt::format("takes integers or bool, not {}", dtype_name(a));
  if (!logical(op) && a == DType::kBool) return "does not compute on bool; cast first";
  return "";
}

std::string check_instruction(const RegionProgram& program, size_t index) {
  const RegionInstruction& instruction = program.instructions[index];
  if (!known_op(instruction.op))
    return fmt::format("unknown op {}", static_cast<int>(instruction.op));
  if (!computable(instruction.dtype)) {
    return fmt::format(
        "dtype {} cannot be computed with",
        static_cast<int>(instruction.dtype) < kDTypeCount ? dtype_name(instruction.dtype) : "?");
  }
  const int arity = region_op_arity(instruction.op);
  int used = arity;
  if (instruction.op == RegionOp::kInput || instruction.op == RegionOp::kIota) {
    used = 1;
    const int limit =
        instruction.op == RegionOp::kInput ? static_cast<int>(program.inputs.size()) : program.rank;
    if (instruction.args[0] < 0 || instruction.args[0] >= limit) {
      return fmt::format("argument {} is outside of 0..{}", instruction.args[0], limit - 1);
    }
  }
  for (int k = 0; k < 3; ++k) {
    const int32_t arg = instruction.args[static_cast<size_t>(k)];
    if (k >= used && arg != -1)
      return fmt::format("takes {} arguments; argument {} is {}", used, k, arg);
    if (k < arity && (arg < 0 || static_cast<size_t>(arg) >= index)) {
      return fmt::format("argument {} is {}, not an earlier instruction", k, arg);
    }
  }
  if (instruction.op == RegionOp::kConstant) return check_constant(instruction);
  if (instruction.op == RegionOp::kIota && instruction.dtype == DType::kBool)
    return "an iota cannot be bool";
  if (is_reduction(instruction.op)) {
    bool any = false;
    for (const uint8_t flag : program.reduced) any = any || flag;
    if (!any) return "the program has no reduced axes";
  }
  return arity > 0 ? check_dtypes(program, instruction) : "";
}

std::string check_sizes(const RegionProgram& program, const std::vector<int>& operand_ranks) {
  if (program.rank < 0 || program.rank > kMaxRank) {
    return fmt::format("the iteration space has {} dims; at most {} are allowed", program.rank,
                       kMaxRank);
  }
  if (static_cast<int>(program.reduced.size()) != program.rank) {
    return fmt::format("{} reduced flags for {} dims", program.reduced.size(), program.rank);
  }
  for (const uint8_t flag : program.reduced) {
    if (flag > 1) return fmt::format("a reduced flag is {}, not 0 or 1", flag);
  }
  if (program.inputs.size() > kMaxOperands || program.outputs.size() > kMaxOperands ||
      program.instructions.size() > kMaxInstructions) {
    return fmt::format("{} inputs, {} outputs and {} instructions exceed the limits {}, {} and {}",
                       program.inputs.size(), program.outputs.size(), program.instructions.size(),
                       kMaxOperands, kMaxOperands, kMaxInstructions);
  }
  if (operand_ranks.size() != program.inputs.size() + program.outputs.size()) {
    return fmt::format("{} operands for {} inputs and {} outputs", operand_ranks.size(),
                       program.inputs.size(), program.outputs.size());
  }
  return "";
}

std::string map_text(const RegionOperand& map) {
  std::string text = "[";
  for (size_t d = 0; d < map.dim_of.size(); ++d)
    text += fmt::format("{}{}", d ? "," : "", map.dim_of[d]);
  return text + "]";
}

}  // namespace

const char* region_op_name(RegionOp op) {
  return known_op(op) ? kOps[static_cast<int>(op)].name : "?";
}
int region_op_arity(RegionOp op) { return known_op(op) ? kOps[static_cast<int>(op)].arity : 0; }
bool is_reduction(RegionOp op) { return op >= RegionOp::kReduceSum && op <= RegionOp::kReduceProd; }

bool RegionProgram::has_reduction() const {
  for (const RegionInstruction& instruction : instructions) {
    if (is_reduction(instruction.op)) return true;
  }
  return false;
}

std::string region_text(const RegionProgram& program) {
  if (program.empty() && program.instructions.empty()) return "store";
  std::string text = fmt::format("rank={}", program.rank);
  text += " reduced=";
  for (const uint8_t flag : program.reduced) text += flag ? '1' : '0';
  for (size_t k = 0; k < program.inputs.size(); ++k)
    text += fmt::format(" i{}={}", k, map_text(program.inputs[k]));
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const RegionInstruction& instruction = program.instructions[i];
    text += fmt::format(" v{}={}.{}(", i, region_op_name(instruction.op),
                        dtype_name(instruction.dtype));
    if (instruction.op == RegionOp::kConstant) {
      text += fmt::format("{}", instruction.constant);
    } else if (instruction.op == RegionOp::kInput) {
      text += fmt::format("i{}", instruction.args[0]);
    } else if (instruction.op == RegionOp::kIota) {
      text += fmt::format("d{}", instruction.args[0]);
    } else {
      for (int k = 0; k < region_op_arity(instruction.op); ++k) {
        text += fmt::format("{}v{}", k ? "," : "", instruction.args[static_cast<size_t>(k)]);
      }
    }
    text += ')';
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    text +=
        fmt::format(" o{}=v{}{}", k, program.outputs[k].value, map_text(program.outputs[k].map));
  }
  return text;
}

std::string check_region(const RegionProgram& program, const std::vector<int>& operand_ranks) {
  if (program.empty() && program.instructions.empty() && program.inputs.empty() &&
      program.rank == 0)
    return "";
  if (program.empty()) return "the program has instructions but no outputs";
  if (std::string text = check_sizes(program, operand_ranks); !text.empty()) return text;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    const std::string text = check_map(program, program.inputs[k], operand_ranks[k]);
    if (!text.empty()) return fmt::format("input {}: {}", k, text);
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const std::string text = check_instruction(program, i);
    if (!text.empty()) {
      return fmt::format("instruction {} ({}): {}", i, region_op_name(program.instructions[i].op),
                         text);
    }
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    const RegionOutput& output = program.outputs[k];
    if (output.value < 0 || static_cast<size_t>(output.value) >= program.instructions.size()) {
      return fmt::format("output {}: value {} is not one of {} instructions", k, output.value,
                         program.instructions.size());
    }
    const std::string text =
        check_map(program, output.map, operand_ranks[program.inputs.size() + k]);
    if (!text.empty()) return fmt::format("output {}: {}", k, text);
  }
  return "";
}

}  // namespace stoker
