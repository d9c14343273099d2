// Encoding of what a step asks for: family parameters, region programs, attributes.
// SPDX-License-Identifier: Apache-2.0
#include "engine/encoder.h"

namespace stoker::engine {

Offset<fb::RegionProgram> Encoder::region(const RegionProgram& program) {
  const auto reduced = b_.CreateVector(program.reduced);
  const auto inputs =
      tables<fb::OperandMap>(program.inputs, [&](const auto& input) { return map(input); });
  std::vector<fb::Instruction> list;
  for (const RegionInstruction& i : program.instructions) {
    list.emplace_back(static_cast<uint8_t>(i.op), static_cast<uint8_t>(i.dtype), i.args[0],
                      i.args[1], i.args[2], i.constant);
  }
  const auto instructions = b_.CreateVectorOfStructs(list);
  const auto outputs = tables<fb::RegionOutput>(program.outputs, [&](const RegionOutput& output) {
    const auto operand = map(output.map);
    return fb::CreateRegionOutput(b_, output.value, operand);
  });
  return fb::CreateRegionProgram(b_, program.rank, reduced, inputs, instructions, outputs);
}

Offset<fb::TensorValue> Encoder::tensor_value(const Tensor& tensor) {
  if (tensor.bytes() > kMaxTableSection / 2) {
    fail(error(StatusCode::kResourceExhausted,
               "a tensor of {} bytes in an attribute: it belongs into the weights",
               tensor.bytes()));
    return 0;
  }
  const auto shape = b_.CreateVector(tensor.shape());
  const bool is_string = tensor.dtype() == DType::kString;
  const auto* data = static_cast<const uint8_t*>(tensor.data());
  const auto bytes = b_.CreateVector(data, is_string ? 0 : static_cast<size_t>(tensor.bytes()));
  const auto strings = texts(is_string ? tensor.strings() : std::vector<std::string>());
  return fb::CreateTensorValue(b_, static_cast<uint8_t>(tensor.dtype()), shape, bytes, strings);
}

Offset<fb::Attribute> Encoder::attribute(const std::string& name, const Attribute& value) {
  const uint32_t key = text(name);
  struct Visitor {
    Encoder& e;
    Offset<void> operator()(int64_t v) { return fb::CreateIntValue(e.b_, v).Union(); }
    Offset<void> operator()(double v) { return fb::CreateFloatValue(e.b_, v).Union(); }
    Offset<void> operator()(const std::string& v) {
      return fb::CreateStringValue(e.b_, e.text(v)).Union();
    }
    Offset<void> operator()(DType v) {
      return fb::CreateDTypeValue(e.b_, static_cast<uint8_t>(v)).Union();
    }
    Offset<void> operator()(const std::vector<int64_t>& v) {
      return fb::CreateIntsValue(e.b_, e.b_.CreateVector(v)).Union();
    }
    Offset<void> operator()(const std::vector<double>& v) {
      return fb::CreateFloatsValue(e.b_, e.b_.CreateVector(v)).Union();
    }
    Offset<void> operator()(const std::vector<std::string>& v) {
      return fb::CreateStringsValue(e.b_, e.texts(v)).Union();
    }
    Offset<void> operator()(const Tensor& v) { return e.tensor_value(v).Union(); }
  };
  static_assert(std::variant_size_v<Attribute> == static_cast<size_t>(fb::AttributeValue::MAX));
  const auto stored = std::visit(Visitor{*this}, value);
  return fb::CreateAttribute(b_, key, static_cast<fb::AttributeValue>(value.index() + 1), stored);
}

Offset<void> Encoder::params(const GemmParams& p) {
  const auto epilogue = region(p.epilogue);
  return fb::CreateGemm(b_, p.transpose_a, p.transpose_b, p.a_zero, p.b_zero, epilogue,
                        p.a_zero_input)
      .Union();
}

Offset<void> Encoder::params(const ConvParams& p) {
  const auto strides = b_.CreateVector(p.strides);
  const auto dilations = b_.CreateVector(p.dilations);
  const auto pads = b_.CreateVector(p.pads);
  const auto epilogue = region(p.epilogue);
  return fb::CreateConv(b_, strides, dilations, pads, p.group, static_cast<uint8_t>(p.auto_pad),
                        p.x_zero, p.w_zero, epilogue, p.transposed, p.x_zero_input)
      .Union();
}

Offset<void> Encoder::params(const RegionParams& p) {
  const auto program = region(p.program);
  const auto extents = b_.CreateVector(p.extents);
  return fb::CreateRegion(b_, program, extents).Union();
}

Offset<void> Encoder::params(const PoolParams& p) {
  const auto kernel = b_.CreateVector(p.kernel);
  const auto strides = b_.CreateVector(p.strides);
  const auto dilations = b_.CreateVector(p.dilations);
  const auto pads = b_.CreateVector(p.pads);
  return fb::CreatePool(b_, static_cast<uint8_t>(p.kind), kernel, strides, dilations, pads,
                        static_cast<uint8_t>(p.auto_pad), p.ceil_mode, p.count_include_pad,
                        p.global)
      .Union();
}

Offset<void> Encoder::params(const CopyParams& p) {
  const auto perm = b_.CreateVector(p.perm);
  const auto starts = b_.CreateVector(p.starts);
  const auto steps = b_.CreateVector(p.steps);
  return fb::CreateCopy(b_, perm, starts, steps, p.concat_axis).Union();
}

Offset<void> Encoder::params(const FallbackParams& p) {
  const uint32_t op = text(p.op);
  const auto list = attributes(p.attributes);
  return fb::CreateFallback(b_, op, list).Union();
}

Offset<void> Encoder::params(const AttentionParams& p) {
  return fb::CreateAttention(b_, p.scale, p.softcap, p.q_heads, p.kv_heads, p.window, p.causal,
                             p.packed, p.mask_repeats, p.nan_rows, p.masked_score)
      .Union();
}

Offset<void> Encoder::params(const ResizeParams& p) {
  const ResampleRule& r = p.rule;
  const auto scales = b_.CreateVector(p.scales);
  return fb::CreateResize(b_, static_cast<uint8_t>(r.mode), static_cast<uint8_t>(r.coordinates),
                          static_cast<uint8_t>(r.nearest), r.antialias, r.exclude_outside,
                          r.cubic_a, scales)
      .Union();
}

Offset<void> Encoder::params(const RecurrentParams& p) {
  const auto activations = tables<fb::Activation>(p.activations, [&](const Activation& a) {
    return fb::CreateActivation(b_, static_cast<uint8_t>(a.kind), a.alpha, a.beta);
  });
  return fb::CreateRecurrent(b_, static_cast<uint8_t>(p.cell), static_cast<uint8_t>(p.direction),
                             activations, p.clip, p.batch_first, p.coupled, p.linear_first)
      .Union();
}

}  // namespace stoker::engine
