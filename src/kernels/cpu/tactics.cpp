// The one list of CPU tactics, fast ones of a family first. Compiled once per ISA level.
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/tactic.h"

namespace stoker {
namespace cpu {

extern const Tactic gemm_f32_panel;
extern const Tactic gemm_i8_panel;
extern const Tactic gemm_w8_panel;
extern const Tactic conv_f32_stem;
extern const Tactic conv_f32_c16;
extern const Tactic conv_f32_depthwise_c16;
extern const Tactic conv_f32_im2col;
extern const Tactic resize_nearest;
extern const Tactic resize_taps;
extern const Tactic recurrent_f32;
extern const Tactic conv_transpose_f32_c16;
extern const Tactic conv_transpose_f32_plain;
extern const Tactic conv_i8_stem;
extern const Tactic conv_i8_c16;
extern const Tactic conv_i8_depthwise_c16;
extern const Tactic region_tile;
extern const Tactic pool_c16;
extern const Tactic pool_plain;
extern const Tactic copy_plain;
extern const Tactic gather_rows;
extern const Tactic gather_panel;
extern const Tactic attention_f32;

}  // namespace cpu

std::span<const Tactic> STOKER_CONCAT(cpu_tactics_, STOKER_ISA)() {
  // clang-format off
  static const std::array kTactics = {
      cpu::gemm_f32_panel,
      cpu::gemm_i8_panel,
      cpu::gemm_w8_panel,
      cpu::conv_f32_stem,
      cpu::conv_f32_c16,
      cpu::conv_f32_depthwise_c16,
      cpu::conv_f32_im2col,
      cpu::conv_transpose_f32_c16,
      cpu::conv_transpose_f32_plain,
      cpu::conv_i8_stem,
      cpu::conv_i8_c16,
      cpu::conv_i8_depthwise_c16,
      cpu::region_tile,
      cpu::pool_c16,
      cpu::pool_plain,
      cpu::copy_plain,
      cpu::gather_rows,
      cpu::gather_panel,
      cpu::attention_f32,
      cpu::resize_nearest,
      cpu::resize_taps,
      cpu::recurrent_f32,
  };
  // clang-format on
  return kTactics;
}

}  // namespace stoker
