// Desc: what is asked of a kernel, as plain data: family parameters and operands at a bound shape.
// How it is done is the tactic's Config; where the bytes are is the Launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <variant>

#include "base/activation.h"
#include "base/attributes.h"
#include "base/resample.h"
#include "kernels/desc/region.h"
#include "kernels/desc/tensor_desc.h"

namespace stoker {

// Y = epilogue(A * B). Operands: A [batch..., M, K] (or [.., K, M] transposed), B [batch..., K, N]
// (or [.., N, K]); batch dims broadcast as in numpy; then the epilogue's further inputs. f32: f32
// accumulator. u8/i8 x u8/i8: (a - a_zero) * (b - b_zero) in an i32 accumulator. f32 x u8/i8 (8-bit
// weights): a * (b - b_zero) in an f32 accumulator; the epilogue scales.
struct GemmParams {
  bool transpose_a = false, transpose_b = false;
  int32_t a_zero = 0, b_zero = 0;
  // >= 2: a_zero is this operand, one element of A's dtype that each run brings along. The epilogue
  // counts it among its inputs but does not read it.
  int32_t a_zero_input = -1;
  RegionProgram epilogue;  // over Y's dims; input 0 = accumulator, input k = desc.inputs[k + 1]
};

// Convolution over [N, C, spatial...] (1 to 3 spatial dims), weight [O, C/group, kernel...].
// Operands: x, w, then the epilogue's further inputs (bias is one of them). Integers as for gemm;
// padding counts as x = x_zero.
struct ConvParams {
  enum class AutoPad : uint8_t { kExplicit, kSameUpper, kSameLower, kValid };
  std::vector<int64_t> strides, dilations;  // one per spatial dim
  std::vector<int64_t> pads;                // begins then ends
  int64_t group = 1;
  AutoPad auto_pad = AutoPad::kExplicit;
  int32_t x_zero = 0, w_zero = 0;
  int32_t x_zero_input = -1;  // as a_zero_input of a gemm
  RegionProgram epilogue;     // over Y's dims; input 0 = accumulator, input k = desc.inputs[k + 1]
  // The gradient of the convolution towards its input: element i of x adds x * w to y at
  // i * stride - pad + tap * dilation. Floats only; weight [C, O/group, kernel...]; explicit pads,
  // whose ends are negative where y is longer than the taps reach (output_padding).
  bool transposed = false;
};

// A region of its own. Operands: the program's inputs; outputs: the program's outputs.
struct RegionParams {
  RegionProgram program;
  std::vector<int64_t> extents;  // of the iteration space, at the bound shape
};

struct PoolParams {
  enum class Kind : uint8_t { kMax, kAverage };
  Kind kind = Kind::kMax;
  std::vector<int64_t> kernel, strides, dilations, pads;  // global pooling: kernel = {}
  ConvParams::AutoPad auto_pad = ConvParams::AutoPad::kExplicit;
  bool ceil_mode = false;
  bool count_include_pad = false;
  bool global = false;
};

// Moves elements without computing: output dim i walks along input dim perm[i] (transpose),
// starting at starts[i] with steps[i] of the *input* dim perm[i] (slice); several inputs are
// concatenated along output dim `concat_axis` (then perm/starts/steps are the identity). Input and
// output may differ in layout: the layout change of a graph edge is a copy whose perm is the
// identity. dtypes are equal.
struct CopyParams {
  std::vector<int64_t> perm;
  std::vector<int64_t> starts, steps;  // empty: 0 and 1
  int64_t concat_axis = -1;
};

// The copy that moves everything as it stands: a change of layout or place.
CopyParams identity_copy(int64_t rank);

// Y = X gathered along `axis` by integer indices (negative ones count from the end; out of range is
// an error of the run). Operands: data, indices.
struct GatherParams {
  int64_t axis = 0;
};

// Whatever has no family: the op's reference evaluation. Operands as the op's inputs (absent ones
// have dtype kInvalid).
struct FallbackParams {
  std::string op;
  Attributes attributes;
};

// Y = softmax(softcap(scale * Q K^T) + mask) V, of each head. Operands: Q [batch, heads, q, head],
// K [batch, kv heads, kv, head], V [batch, kv heads, kv, value head], then optionally a mask that
// broadcasts to [batch, heads, q, kv]: bool (false rules out) or numbers that are added (-inf rules
// out; a bool mask instead sets the score to a finite masked_score). What is ruled out has no part
// in the result, whatever it holds. Packed: Q, K, V and Y are [batch, length, heads * head]. Query
// heads share the key heads in equal groups.
struct AttentionParams {
  double scale = 1, softcap = 0;        // softcap 0: none
  int64_t q_heads = 0, kv_heads = 0;    // of packed operands; otherwise 0: the operands tell
  int64_t window = 0;                   // causal: so many positions at most; 0: all
  bool causal = false, packed = false;  // causal: query i sees positions up to i
  bool mask_repeats = false;            // a last extent of 1 repeats; otherwise it may fall short
  double masked_score = -std::numeric_limits<double>::infinity();
  bool nan_rows = false;  // a row that is ruled out whole: NaN, otherwise 0
};

// Y = X resampled along any axes, as ONNX Resize says it (base/resample.h). Operand: X, of any
// dtype of whole bytes in mode nearest, otherwise floats.
struct ResizeParams {
  ResampleRule rule;
  std::vector<double> scales;  // one per dim; empty: what the extents of Y and X say
};

// A recurrent layer, as ONNX LSTM, GRU and RNN say it. Operands, in their order: X [steps, batch,
// input], W [directions, gates * hidden, input], R [directions, gates * hidden, hidden]; then, each
// of them absent or there, B [directions, 2 * gates * hidden], lengths i32[batch], initial h
// [directions, batch, hidden]; of an LSTM also initial c and the peepholes [directions, 3 *
// hidden]. Outputs: Y [steps, directions, batch, hidden], the last h and, of an LSTM, the last c.
// Steps beyond a sequence's length give zeros; a length outside of 0..steps is an error of the run.
// W and R may be of 8 bits, beside f32: i8 counts from 0, u8 from 128; operands 8 and 9 are their
// scales, f32: one, one of each direction, or one of each row of each direction.
struct RecurrentParams {
  enum class Cell : uint8_t { kLstm, kGru, kRnn };
  enum class Direction : uint8_t { kForward, kReverse, kBidirectional };
  Cell cell = Cell::kLstm;
  Direction direction = Direction::kForward;
  // Direction by direction. LSTM: of the gates, the candidate, the cell; GRU: of the gates, the
  // candidate; RNN: one.
  std::vector<Activation> activations;
  double clip = 0;            // of what the activations are given; 0: none
  bool batch_first = false;   // X [batch, steps, ..], Y [batch, steps, directions, hidden], states
                              // [batch, directions, hidden]
  bool coupled = false;       // LSTM: the forget gate is 1 - the input gate
  bool linear_first = false;  // GRU: the reset gate multiplies R h + b instead of h
};

// The kinds come in the order of Family, which files know by its numbers: append only.
using Params =
    std::variant<GemmParams, ConvParams, RegionParams, PoolParams, CopyParams, GatherParams,
                 FallbackParams, AttentionParams, ResizeParams, RecurrentParams>;

enum class Family : uint8_t {
  kGemm,
  kConv,
  kRegion,
  kPool,
  kCopy,
  kGather,
  kFallback,
  kAttention,
  kResize,
  kRecurrent
};  // index of Params
inline constexpr int kFamilyCount = 10;
const char* family_name(Family family);

struct Desc {
  Params params;
  std::vector<TensorDesc> inputs, outputs;

  Family family() const { return static_cast<Family>(params.index()); }
  template <class T>
  const T& as() const {
    return std::get<T>(params);
  }
};

// Writes the values of a step's parameter expressions into its parameters: the extents of a region,
// the starts of a copy. Nothing to do for an empty list.
void set_param_values(Params& params, std::vector<int64_t> values);

// Canonical one-line text: equal descs have equal keys. The timing cache's key.
std::string desc_key(const Desc& desc);

// Floating point or integer operations (a multiply-add counts 2) and the bytes of all operands.
struct Work {
  double flops = 0;
  double bytes = 0;
};
Work desc_work(const Desc& desc);

// Explicit pads (begins then ends) of a conv or pool at the bound input extents. SAME gives
// negative ones where the stride exceeds the window.
std::vector<int64_t> resolve_pads(Family family, ConvParams::AutoPad auto_pad,
                                  const std::vector<int64_t>& pads,
                                  const std::vector<int64_t>& spatial,
                                  const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& dilations);

}  // namespace stoker
