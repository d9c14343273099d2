// Scalar interpreter of region programs, the oracle of the tile executor: floats in double
// throughout, integers exact in their dtype; casts to integers, f16 and bf16 are the rounding
// points.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/desc/region.h"
#include "kernels/desc/tensor_desc.h"
#include "kernels/region_scalar.h"

namespace stoker {

// Offset in elements of a logical position of an operand in its layout.
int64_t element_offset(const TensorDesc& desc, std::span<const int64_t> position);

class RegionInterpreter {
 public:
  // `program` must have passed check_region for these operands. Keeps references.
  RegionInterpreter(const RegionProgram& program, std::span<const int64_t> extents,
                    std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs);

  // Evaluates everything; padding lanes of kC16 outputs are written as zeros.
  void run(const void* const* inputs, void* const* outputs) const;

  // Elements of output `output` at row-major logical positions, unrounded. `slack`, if not null,
  // becomes the largest sine_error of these elements.
  std::vector<double> elements(const void* const* inputs, int output,
                               std::span<const int64_t> wanted, double* slack = nullptr) const;

 private:
  struct Row {  // reductions of the row that was evaluated last
    std::vector<int64_t> kept;
    bool known = false;
    std::vector<RegionCell> reduced;
  };
  RegionCell input_cell(const RegionInstruction& instruction, const void* const* inputs,
                        const int64_t* point) const;
  void evaluate_point(const void* const* inputs, const int64_t* point, const Row& row,
                      std::vector<RegionCell>& cells) const;
  void reduce_row(const void* const* inputs, const int64_t* point, Row& row) const;
  void fill_cells(const void* const* inputs, const int64_t* point, Row& row,
                  std::vector<RegionCell>& cells) const;

  const RegionProgram& program_;
  std::vector<int64_t> extents_;
  std::span<const TensorDesc> inputs_, outputs_;
  std::vector<int> stages_;  // per instruction: reductions to finish before
  int passes_ = 1;
};

}  // namespace stoker
