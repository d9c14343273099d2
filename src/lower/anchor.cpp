// SPDX-License-Identifier: Apache-2.0
#include "lower/anchor.h"

#include <cmath>

#include "base/numeric.h"

namespace stoker {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// The product of the operands' scales divided by `divisor`, in f32 as the integer kernels of other
// runtimes have it: one factor, or one per channel.
Result<LoweredOperand> combined_scale(const QuantizedOperand& x, const QuantizedOperand& w,
                                      float divisor) {
  const float x_scale = x.scale.values<float>()[0];
  LoweredOperand operand;
  STOKER_ASSIGN(operand.frozen, Tensor::allocate(DType::kF32, {w.scale.count()}));
  auto target = operand.frozen->values<float>();
  for (size_t c = 0; c < target.size(); ++c)
    target[c] = x_scale * w.scale.values<float>()[c] / divisor;
  operand.frozen_name = w.source->name + ".scale";
  return operand;
}

Result<int> load_scale(RegionBuilder& builder, const LoweredOperand& scale, int64_t channel_axis) {
  if (scale.frozen->count() == 1)
    return builder.constant(DType::kF32, scale.frozen->values<float>()[0]);
  return builder.load_along(scale, channel_axis);
}

// An i32 bias is exact in the accumulator when its scale is the product of the operands' scales.
bool bias_fits(const Tensor& bias_scale, const QuantizedOperand& x, const QuantizedOperand& w) {
  for (int64_t c = 0; c < bias_scale.count(); ++c) {
    const float w_scale =
        w.scale.values<float>()[static_cast<size_t>(w.scale.count() == 1 ? 0 : c)];
    const float expected = x.scale.values<float>()[0] * w_scale;
    if (std::fabs(bias_scale.values<float>()[static_cast<size_t>(c)] - expected) >
        1e-5f * std::fabs(expected))
      return false;
  }
  return true;
}

// Members behind the anchor, in order.
std::vector<const Node*> followers(const NodeGroup& group) {
  std::vector<const Node*> nodes;
  bool behind = false;
  for (const Node* member : group.members) {
    if (behind && !member->is("dequantize_linear")) nodes.push_back(member);
    if (member == group.anchor) behind = true;
  }
  return nodes;
}

// relu* then quantize_linear: the scale of the result can be folded into the accumulator's.
const Node* folded_quantize(const std::vector<const Node*>& nodes) {
  if (nodes.empty() || nodes.size() > 2 || !nodes.back()->is("quantize_linear")) return nullptr;
  if (nodes.size() == 2 && !nodes[0]->is("relu")) return nullptr;
  const Node* quantize = nodes.back();
  return scalar_constant(quantize->inputs[1]) && is_narrow(quantize->outputs[0]->type.dtype)
             ? quantize
             : nullptr;
}

// acc [+ bias] -> f32 * (sx*sw/sy) -> relu -> round -> + zero -> saturate, the integer reference
// path.
Status requantize(RegionBuilder& b, const LoweredOperand& scale, int accumulator,
                  int64_t channel_axis, const Node& quantize, bool relu) {
  const DType to = quantize.outputs[0]->type.dtype;
  const double zero =
      quantize.inputs.size() > 2 ? scalar_constant(quantize.inputs[2]).value_or(0) : 0;
  STOKER_ASSIGN(const int factor, load_scale(b, scale, channel_axis));
  int value = b.emit(RegionOp::kMul, DType::kF32, b.emit(RegionOp::kCast, DType::kF32, accumulator),
                     factor);
  if (relu) value = b.emit(RegionOp::kMax, DType::kF32, value, b.constant(DType::kF32, 0));
  value = b.emit(RegionOp::kRoundEven, DType::kF32, value);
  if (zero != 0) value = b.emit(RegionOp::kAdd, DType::kF32, value, b.constant(DType::kF32, zero));
  value = b.emit(RegionOp::kMax, DType::kF32, value,
                 b.constant(DType::kF32, static_cast<double>(integer_min(to))));
  value = b.emit(RegionOp::kMin, DType::kF32, value,
                 b.constant(DType::kF32, static_cast<double>(integer_max(to))));
  b.define(quantize.outputs[0], b.emit(RegionOp::kCast, to, value));
  return Status::ok();
}

class EpilogueBuilder {
 public:
  EpilogueBuilder(const NodeGroup& group, const std::optional<QuantizedOperand>& x,
                  const std::optional<QuantizedOperand>& w, const AnchorBias& bias,
                  int64_t channel_axis, double alpha, const Value* zero)
      : group_(group),
        x_(x),
        w_(w),
        bias_(bias),
        channel_axis_(channel_axis),
        alpha_(alpha),
        zero_(zero),
        out_(group.anchor->outputs[0]),
        builder_(out_->type.dims) {}

  Result<Epilogue> run() {
    if (group_.outputs.size() != 1)
      return unsupported("a fused anchor with {} outputs", group_.outputs.size());
    const std::vector<const Node*> nodes = followers(group_);
    const bool plain = !w_ && !bias_.value && alpha_ == 1 && !zero_;
    if (plain && nodes.empty()) return Epilogue{};
    builder_.accumulator(nullptr, x_ ? DType::kI32 : out_->type.dtype);
    STOKER_ASSIGN(const bool done, x_ ? integer_head(nodes) : float_head());
    if (!done) {
      for (const Node* node : nodes) {
        const Dims& dims = node->outputs[0]->type.dims;
        if (dims != out_->type.dims)
          return unsupported("{} changes the shape to {}", node->name, dims_text(dims));
        STOKER_TRY(builder_.node(*node));
      }
    }
    STOKER_TRY(builder_.output(group_.outputs[0]));
    STOKER_TRY(builder_.check(group_.outputs));
    int32_t zero_input = -1;
    if (zero_) {
      STOKER_ASSIGN(const int32_t input, builder_.carry(operand_of(zero_)));
      zero_input = input + 1;  // input 0 is the accumulator, for which the step has two operands
    }
    return Epilogue{builder_.take_program(), builder_.take_operands(), zero_input};
  }

 private:
  Result<int> load_bias() {
    const Value* value = bias_.value;
    return bias_.axis >= 0 ? builder_.load_along(operand_of(value), bias_.axis)
                           : builder_.of(value);
  }

  Result<bool> float_head() {
    const DType dtype = out_->type.dtype;
    int value = 0;
    if (w_) {
      const LoweredOperand scale = operand_of(w_->dequantize->inputs[1]);
      STOKER_ASSIGN(const int factor, w_->scale.count() == 1
                                          ? builder_.of(scale.value)
                                          : builder_.load_along(scale, channel_axis_));
      value = builder_.emit(RegionOp::kMul, dtype, value, factor);
    }
    if (alpha_ != 1)
      value = builder_.emit(RegionOp::kMul, dtype, value, builder_.constant(dtype, alpha_));
    if (bias_.value) {
      STOKER_ASSIGN(int bias, load_bias());
      if (bias_.factor != 1)
        bias = builder_.emit(RegionOp::kMul, dtype, bias, builder_.constant(dtype, bias_.factor));
      value = builder_.emit(RegionOp::kAdd, dtype, value, bias);
    }
    builder_.define(out_, value);
    return false;
  }

  // True when the followers are done as well.
  Result<bool> integer_head(const std::vector<const Node*>& nodes) {
    if (alpha_ != 1 || bias_.factor != 1) return unsupported("a scaled integer product");
    int accumulator = 0;
    const Value* float_bias = bias_.value;
    if (bias_.value) {
      STOKER_ASSIGN(auto bias, quantized_operand(group_, bias_.value, 0));
      if (bias) {
        if (bias->source->type.dtype != DType::kI32 || bias->zero != 0 ||
            !bias_fits(bias->scale, *x_, *w_)) {
          return unsupported(
              "a quantized bias whose scale is not the product of the operands' scales");
        }
        STOKER_ASSIGN(const int loaded,
                      builder_.load_along(operand_of(bias->source), channel_axis_));
        accumulator = builder_.emit(RegionOp::kAdd, DType::kI32, accumulator, loaded);
        float_bias = nullptr;
      }
    }
    const Node* quantize = float_bias ? nullptr : folded_quantize(nodes);
    const auto divisor =
        quantize ? static_cast<float>(*scalar_constant(quantize->inputs[1])) : 1.0f;
    STOKER_ASSIGN(const LoweredOperand scale, combined_scale(*x_, *w_, divisor));
    if (quantize) {
      STOKER_TRY(
          requantize(builder_, scale, accumulator, channel_axis_, *quantize, nodes.size() == 2));
      return true;
    }
    STOKER_ASSIGN(const int factor, load_scale(builder_, scale, channel_axis_));
    int value = builder_.emit(RegionOp::kMul, DType::kF32,
                              builder_.emit(RegionOp::kCast, DType::kF32, accumulator), factor);
    if (float_bias) {
      STOKER_ASSIGN(const int loaded, load_bias());
      value = builder_.emit(RegionOp::kAdd, DType::kF32, value, loaded);
    }
    builder_.define(out_, value);
    return false;
  }

  const NodeGroup& group_;
  const std::optional<QuantizedOperand>& x_;
  const std::optional<QuantizedOperand>& w_;
  const AnchorBias& bias_;
  const int64_t channel_axis_;
  const double alpha_;
  const Value* zero_;
  const Value* out_;
  RegionBuilder builder_;
};

}  // namespace

Result<std::optional<QuantizedOperand>> quantized_operand(const NodeGroup& group,
                                                          const Value* value,
                                                          int64_t channel_axis) {
  const Node* node = value ? value->producer : nullptr;
  if (!node || !group.contains(node) || !node->is("dequantize_linear"))
    return std::optional<QuantizedOperand>{};
  QuantizedOperand operand;
  operand.dequantize = node;
  operand.source = node->inputs[0];
  const Value* scale = node->inputs[1];
  if (!scale->is_constant() || scale->type.dtype != DType::kF32)
    return unsupported("a scale that is computed or not f32");
  operand.scale = *scale->constant;
  if (operand.scale.rank() > 1 || node->attributes.get_int("block_size", 0) != 0)
    return unsupported("scales by blocks");
  int64_t axis = node->attributes.get_int("axis", 1);
  if (axis < 0 && value->type.ranked) axis += value->type.rank();
  if (operand.scale.count() != 1 && axis != channel_axis)
    return unsupported("scales along axis {}, expected {}", axis, channel_axis);
  if (node->inputs.size() > 2 && node->inputs[2]) {
    const auto zeros = constant_ints(node->inputs[2]);
    if (!zeros || zeros->empty()) return unsupported("a zero point that is computed");
    for (const int64_t zero : *zeros) {
      if (zero != zeros->front()) return unsupported("zero points that differ between channels");
    }
    operand.zero = static_cast<int32_t>(zeros->front());
  }
  return std::optional<QuantizedOperand>(std::move(operand));
}

Result<IntegerZeros> integer_zeros(const Node& anchor) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const DType dtype = anchor.inputs[i]->type.dtype;
    if (!is_narrow(dtype)) return unsupported("{} operands", dtype_name(dtype));
  }
  const auto zero_of = [&](size_t input) -> const Value* {
    return anchor.inputs.size() > input ? anchor.inputs[input] : nullptr;
  };
  IntegerZeros zeros;
  const Value *first = zero_of(2), *second = zero_of(3);
  if (first && !first->is_constant()) {
    zeros.running = first;
  } else if (first) {
    const auto number = scalar_constant(first);
    if (!number) return unsupported("a zero point per row");
    zeros.first = static_cast<int32_t>(*number);
  }
  if (!second) return zeros;
  if (!second->is_constant()) return unsupported("a zero point of the weight that is computed");
  const LoadInt load = load_int(second->type.dtype);
  const int64_t count = second->constant->count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = load(second->constant->data(), i);
    if (i > 0 && number != zeros.second) return unsupported("zero points per column");
    zeros.second = static_cast<int32_t>(number);
  }
  return zeros;
}

Result<Epilogue> build_epilogue(const NodeGroup& group, const std::optional<QuantizedOperand>& x,
                                const std::optional<QuantizedOperand>& w, const AnchorBias& bias,
                                int64_t channel_axis, double alpha, const Value* zero) {
  return EpilogueBuilder(group, x, w, bias, channel_axis, alpha, zero).run();
}

}  // namespace stoker
