// How a transposed convolution of plain output is cut into boxes of the output, and what they read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cpu/conv/conv_shape.h"
#include "kernels/cpu/gemm/block.h"

namespace stoker::cpu {

struct BoxPlan {
  ConvShape shape;
  bool blocked = false;               // x in c16
  int64_t channels = 0, filters = 0;  // per group
  int64_t box_filters = 1, box_rows = 1, box_columns = 1;
  int64_t filter_blocks = 0, row_blocks = 0, column_blocks = 0;
  int64_t packed_rows = 0, packed_panels = 0;  // at most, per unit and kernel depth
  int tile_panels = 1;
  Epilogue epilogue;

  int64_t line() const { return (box_columns + 15) / 16 * 16; }  // a row with its columns in turn
  int64_t phase() const;                                         // columns of one phase
  int64_t box_row() const { return std::min(shape.stride[2], box_columns) * phase(); }
  int64_t packed_row_bytes() const { return packed_panels * channels * 64; }
  int64_t units() const {
    return shape.n * shape.group * filter_blocks * shape.out[0] * row_blocks * column_blocks;
  }
};

Result<BoxPlan> plan_boxes(const Desc& desc);

struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// Input positions that reach outputs [begin, end) of a dim through some tap.
Range reaching(const ConvShape& s, size_t d, int64_t begin, int64_t end);

}  // namespace stoker::cpu
