// One point at a time; reductions by passes over their row. Slow and plain on purpose.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/region_interpreter.h"

#include <algorithm>
#include <cstring>

#include "base/numeric.h"
#include "kernels/region_error.h"

namespace stoker {

using Cell = RegionCell;

namespace {

// Next point in row-major order over the dims whose flag equals `which`; false at the end.
bool advance(const std::vector<int64_t>& extents, const std::vector<uint8_t>& reduced,
             uint8_t which, std::vector<int64_t>& point) {
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
    if (dim >= 0 && desc.dims[static_cast<size_t>(dim)] != 1)
      position[static_cast<size_t>(dim)] = point[d];
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
                                     std::span<const TensorDesc> inputs,
                                     std::span<const TensorDesc> outputs)
    : program_(program),
      extents_(extents.begin(), extents.end()),
      inputs_(inputs),
      outputs_(outputs) {
  for (const RegionInstruction& instruction : program.instructions) {
    int stage = 0;
    for (int k = 0; k < region_op_arity(instruction.op); ++k) {
      stage =
          std::max(stage, stages_[static_cast<size_t>(instruction.args[static_cast<size_t>(k)])]);
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
  // A row of no points still has reductions and what depends on them, but nothing to read.
  if (logical_count(desc) == 0) return RegionCell{};
  const int64_t offset = mapped_offset(desc, program_.inputs[k], point);
  Cell cell;
  if (is_float(desc.dtype))
    cell.number = load_double(desc.dtype)(inputs[k], offset);
  else
    cell.integer = load_int(desc.dtype)(inputs[k], offset);
  return cell_cast(desc.dtype, instruction.dtype, cell);
}

void RegionInterpreter::evaluate_point(const void* const* inputs, const int64_t* point,
                                       const Row& row, std::vector<Cell>& cells) const {
  cells.resize(program_.instructions.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const RegionInstruction& instruction = program_.instructions[i];
    const auto arg = [&](size_t k) -> const Cell& {
      return cells[static_cast<size_t>(instruction.args[k])];
    };
    const auto arg_dtype = [&](size_t k) {
      return program_.instructions[static_cast<size_t>(instruction.args[k])].dtype;
    };
    Cell& cell = cells[i];
    cell = Cell{};
    if (instruction.op == RegionOp::kInput) {
      cell = input_cell(instruction, inputs, point);
    } else if (instruction.op == RegionOp::kConstant) {
      if (is_float(instruction.dtype))
        cell.number = round_number(instruction.dtype, instruction.constant);
      else
        cell.integer = static_cast<int64_t>(instruction.constant);
    } else if (instruction.op == RegionOp::kIota) {
      Cell index;
      index.integer = point[instruction.args[0]];
      cell = cell_cast(DType::kI64, instruction.dtype, index);
    } else if (is_reduction(instruction.op)) {
      if (i < row.reduced.size()) cell = row.reduced[i];
    } else if (instruction.op == RegionOp::kCast) {
      cell = cell_cast(arg_dtype(0), instruction.dtype, arg(0));
    } else if (instruction.op == RegionOp::kSelect) {
      cell = arg(0).integer ? arg(1) : arg(2);
    } else if (region_op_arity(instruction.op) == 2) {
      cell = cell_binary(instruction.op, arg_dtype(0), instruction.dtype, arg(0), arg(1));
    } else if (is_float(instruction.dtype)) {
      cell.number = unary_number(instruction.op, arg(0).number);
    } else {
      cell.integer = wrap_integer(instruction.dtype,
                                  unary_integer(instruction.op, instruction.dtype, arg(0).integer));
    }
  }
}

void RegionInterpreter::reduce_row(const void* const* inputs, const int64_t* point,
                                   Row& row) const {
  const size_t count = program_.instructions.size();
  row.reduced.assign(count, Cell{});
  bool empty = false;
  for (size_t d = 0; d < extents_.size(); ++d)
    empty = empty || (program_.reduced[d] && extents_[d] == 0);
  std::vector<Cell> cells;
  for (int pass = 0; pass + 1 < passes_; ++pass) {
    std::vector<int64_t> at(point, point + extents_.size());
    for (size_t d = 0; d < at.size(); ++d) at[d] = program_.reduced[d] ? 0 : at[d];
    std::vector<CellReduction> running;
    for (const RegionInstruction& instruction : program_.instructions)
      running.emplace_back(instruction);
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
      if (is_reduction(program_.instructions[i].op) && stages_[i] == pass + 1)
        row.reduced[i] = running[i].result();
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
    for (const int64_t extent : desc.dims)
      if (extent == 0) return;
    do {
      const int64_t offset = element_offset(desc, position);
      if (position[1] != desc.dims[1] - 1) continue;
      const int64_t bytes = dtype_bits(desc.dtype) / 8,
                    lanes = kLaneCount - desc.dims[1] % kLaneCount;
      std::memset(static_cast<char*>(outputs[k]) + (offset + 1) * bytes, 0,
                  static_cast<size_t>(lanes * bytes));
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
        const Cell cell = cell_cast(from, desc.dtype, cells[static_cast<size_t>(value)]);
        const int64_t offset = mapped_offset(desc, program_.outputs[k].map, point.data());
        if (is_float(desc.dtype))
          store_double(desc.dtype)(outputs[k], offset, cell.number);
        else
          store_int(desc.dtype)(outputs[k], offset, cell.integer);
      }
    } while (passes_ > 1 && !empty_row && advance(extents_, program_.reduced, 1, point));
  } while (passes_ > 1 ? advance(extents_, program_.reduced, 0, point)
                       : advance(extents_, std::vector<uint8_t>(extents_.size(), 1), 1, point));
}

std::vector<double> RegionInterpreter::elements(const void* const* inputs, int output,
                                                std::span<const int64_t> wanted,
                                                double* slack) const {
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
    if (slack && has_sine(program_))
      *slack = std::max(*slack, sine_error(program_, cells, target.value));
    Cell cell = cells[static_cast<size_t>(target.value)];
    if (is_float(from) && is_float(desc.dtype)) {
      results.push_back(cell.number);  // unrounded, also for f16 and bf16 outputs
      continue;
    }
    cell = cell_cast(from, desc.dtype, cell);
    results.push_back(is_float(desc.dtype) ? cell.number
                      : desc.dtype == DType::kU64
                          ? static_cast<double>(static_cast<uint64_t>(cell.integer))
                          : static_cast<double>(cell.integer));
  }
  return results;
}

}  // namespace stoker
