// Depthwise convolution along the last axis that sees the present and what came before, which the
// state brings along from earlier runs. Inputs: X [N,C,L], W [C,1,k], bias [C], past_state
// [N,C,k-1]. Outputs: Y, present_state.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kOp = "causal_conv_with_state";

// Checks all extents; gives k - 1.
Result<Dim> state_extent(const Dims& x, const Dims& w, const Dims* bias, const Dims* past) {
  if (x.size() != 3 || w.size() != 3) {
    return invalid_model("{}: input {} and weight {}, expected rank 3", kOp, dims_text(x),
                         dims_text(w));
  }
  STOKER_TRY(same_dim(kOp, "channels of input and weight", x[1], w[0]).status());
  STOKER_TRY(same_dim(kOp, "axis 1 of the weight and 1", w[1], Dim(1)).status());
  if (w[2].is_const() && w[2].value() < 1) {
    return invalid_model("{}: the kernel is empty, expected at least 1 element", kOp);
  }
  const Dim carried = w[2] - Dim(1);
  if (bias) {
    if (bias->size() != 1) {
      return invalid_model("{}: bias is {}, expected rank 1", kOp, dims_text(*bias));
    }
    STOKER_TRY(same_dim(kOp, "channels of input and bias", x[1], (*bias)[0]).status());
  }
  if (past) {
    if (past->size() != 3) {
      return invalid_model("{}: past_state is {}, expected rank 3", kOp, dims_text(*past));
    }
    STOKER_TRY(same_dim(kOp, "batch sizes of input and state", x[0], (*past)[0]).status());
    STOKER_TRY(same_dim(kOp, "channels of input and state", x[1], (*past)[1]).status());
    STOKER_TRY(same_dim(kOp, "k - 1 and the length of the state", carried, (*past)[2]).status());
  }
  return carried;
}

Result<bool> is_silu(const Attributes& attributes) {
  const std::string name = attributes.get_string("activation", "none");
  if (name == "none") return false;
  if (name == "silu" || name == "swish") return true;
  return invalid_model("{}: activation is \"{}\", expected none, silu or swish", kOp, name);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kOp, 0, "input", kFloats));
  for (const size_t i : {1, 2, 3}) {
    if (i == 1 || c.has(i)) STOKER_TRY(check_same_dtype(c, kOp, 0, i));
  }
  STOKER_TRY(is_silu(c.attributes).status());
  const DType dtype = c.type(0).dtype;
  if (!all_ranked(c)) return set_unranked(c, dtype);
  const Dims& x = c.type(0).dims;
  STOKER_ASSIGN(const Dim carried,
                state_extent(x, c.type(1).dims, c.has(2) ? &c.type(2).dims : nullptr,
                             c.has(3) ? &c.type(3).dims : nullptr));
  set_output(c, 0, dtype, x);
  set_output(c, 1, dtype, {x[0], x[1], carried});
  return Status::ok();
}

Status check_views(const EvalContext& c) {
  std::array<Dims, 4> dims;
  for (size_t i = 0; i < 4; ++i) {
    if (c.has(i)) dims[i].assign(c.inputs[i].shape.begin(), c.inputs[i].shape.end());
  }
  return state_extent(dims[0], dims[1], c.has(2) ? &dims[2] : nullptr,
                      c.has(3) ? &dims[3] : nullptr)
      .status();
}

Status evaluate(const EvalContext& c) {
  STOKER_TRY(check_views(c));
  STOKER_ASSIGN(const bool silu, is_silu(c.attributes));
  const TensorView& x = c.inputs[0];
  const int64_t channels = x.shape[1], length = x.shape[2], k = c.inputs[1].shape[2];
  const Reader input(x);
  const std::vector<double> w = to_doubles(c.inputs[1]);
  const std::vector<double> bias =
      c.has(2) ? to_doubles(c.inputs[2]) : std::vector<double>(static_cast<size_t>(channels), 0.0);
  const std::vector<double> past = c.has(3) ? to_doubles(c.inputs[3]) : std::vector<double>();
  // Element `at` of one channel, counted from the first new one.
  const auto element = [&](int64_t row, int64_t at) {
    if (at >= 0) return input.number(row * length + at);
    return past.empty() ? 0.0 : past[row * (k - 1) + k - 1 + at];
  };
  const Writer y(c.outputs[0]);
  for_each_position(c.outputs[0].count(), c.wanted, [&](int64_t position) {
    const int64_t row = position / length, l = position % length, channel = row % channels;
    double sum = bias[channel];
    for (int64_t i = 0; i < k; ++i) sum += w[channel * k + i] * element(row, l + i - (k - 1));
    y.number(position, silu ? sum / (1.0 + std::exp(-sum)) : sum);
  });
  if (c.outputs.size() < 2 || !c.outputs[1].present()) return Status::ok();
  const Writer state(c.outputs[1]);
  for (int64_t row = 0; row < x.shape[0] * channels; ++row) {
    for (int64_t i = 0; i < k - 1; ++i) {
      state.number(row * (k - 1) + i, element(row, length - (k - 1) + i));
    }
  }
  return Status::ok();
}

}  // namespace

extern const Op op_causal_conv_with_state;
const Op op_causal_conv_with_state = {
    .name = "causal_conv_with_state",
    .min_inputs = 2,
    .max_inputs = 4,
    .output_count = 2,
    .attributes = {{"activation", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker
