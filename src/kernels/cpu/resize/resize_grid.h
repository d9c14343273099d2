// How the resize tactics see their tensors, in any layout:
//   [outer...][row][chunk]
// A chunk is what inner axes that stay as they are hold (the 16 lanes of c16, the channels of
// NHWC); the row is the innermost axis that changes; neighbouring outer axes that stay are one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/desc/resize.h"

namespace stoker::cpu {

struct ResizeGrid {
  struct Axis {
    ResizeAxis rule;
    bool kept = true;
    int64_t in() const { return rule.in; }
    int64_t out() const { return rule.out; }
  };
  std::vector<Axis> outer;
  Axis row;
  int64_t chunk = 1;  // elements
  int64_t rows = 1;   // of the output
  int64_t block_rows = 1, blocks = 0;

  int64_t units() const { return blocks; }
  // Rows of a unit.
  int64_t begin(int64_t unit) const { return unit * block_rows; }
  int64_t end(int64_t unit) const { return std::min(rows, (unit + 1) * block_rows); }
};

ResizeGrid resize_grid(const Desc& desc);

// Equal layouts, and in c16 nothing but spatial axes that change.
Status check_resize_layouts(const Desc& desc);
// c16 where that is possible, and plain.
std::vector<std::vector<Layout>> resize_layouts(const Desc& desc);

}  // namespace stoker::cpu
