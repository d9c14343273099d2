// The recurrent family: its extents, what the verifier proves about it, and the op that says the
// same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/status.h"
#include "kernels/desc/desc.h"

namespace stoker {

// The ops, and the names that ONNX gives to the directions, by position.
inline constexpr const char* kRecurrentCells[] = {"lstm", "gru", "rnn"};
inline constexpr const char* kRecurrentDirections[] = {"forward", "reverse", "bidirectional"};

// Positions of the operands behind X, W and R.
enum RecurrentOperand : size_t {
  kBias = 3,
  kLengths,
  kInitialH,
  kInitialC,
  kPeepholes,
  kInputScale,  // of W
  kStateScale   // of R
};

// The extents of a recurrent layer at the bound shape.
struct RecurrentExtents {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1, gates = 1;
};
int64_t gate_count(const RecurrentParams& params);
RecurrentExtents recurrent_extents(const Desc& desc);
// Is the operand at this position there?
bool has_operand(const Desc& desc, size_t index);

// Where a gate of 16 hidden units, `block`, stands among the panels of a direction. Gates that are
// multiplied in one sweep over the hidden state stand together: all of them, or the first two of a
// GRU whose reset gate multiplies the state before its product.
int64_t gates_of_first_sweep(const RecurrentParams& params);
int64_t gate_panel(const RecurrentParams& params, int64_t blocks, int64_t block, int64_t gate);

// Is the weight, W (1) or R (2), of 8 bits? What counts as its zero, and the operand of its scales.
bool is_byte_weight(const Desc& desc, size_t weight);
int64_t zero_of_weight(DType dtype);
size_t scale_operand(size_t weight);
// The scale of a row of a direction, among `scales` of which there are `count`.
float row_scale(const RecurrentExtents& e, std::span<const float> scales, int64_t direction,
                int64_t row);

// The op's call that says the same once the weights are floats, for the reference; the op's
// operands are the first `kInputScale` ones.
FallbackParams recurrent_call(const RecurrentParams& params);

// The halves of check_desc and check_desc_static. Extents without overflow stay with the caller.
Status check_recurrent_static(const Desc& desc);
Status check_recurrent(const Desc& desc);

}  // namespace stoker
