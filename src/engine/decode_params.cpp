// Decoding of what a step asks for: family parameters, region programs, attributes.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "engine/decoder.h"

namespace stoker::engine {

RegionProgram Decoder::region(const fb::RegionProgram* r) {
  RegionProgram result;
  if (!r) return result;
  result.rank = r->rank();
  result.reduced = list(r->reduced());
  result.inputs = tables(r->inputs(), [&](const fb::OperandMap& m) { return map(&m); });
  const uint32_t count = r->instructions() ? r->instructions()->size() : 0;
  if (charge(int64_t{count} * static_cast<int64_t>(sizeof(fb::Instruction)))) {
    for (uint32_t i = 0; i < count; ++i) {
      const fb::Instruction& from = *r->instructions()->Get(i);
      const auto op = number(from.op(), static_cast<RegionOp>(kRegionOpCount - 1), "region op");
      result.instructions.push_back(
          {op, dtype(from.dtype()), {from.arg0(), from.arg1(), from.arg2()}, from.constant()});
    }
  }
  result.outputs = tables(r->outputs(), [&](const fb::RegionOutput& o) {
    return RegionOutput{o.value(), map(o.map())};
  });
  return result;
}

Tensor Decoder::tensor_value(const fb::TensorValue& t) {
  const DType type = dtype(t.dtype());
  const Shape shape = list(t.shape());
  if (!ok() || type == DType::kInvalid) return {};
  Result<Tensor> tensor = Tensor();
  if (type == DType::kString) {
    tensor = Tensor::from_strings(shape, texts(t.strings()));
  } else {
    const uint32_t size = t.bytes() ? t.bytes()->size() : 0;
    if (!charge(size)) return {};
    tensor = Tensor::from_bytes(
        type, shape,
        {reinterpret_cast<const std::byte*>(size ? t.bytes()->data() : nullptr), size});
  }
  if (tensor.is_ok()) return *tensor;
  fail(corrupt_file("attribute: {}", tensor.status().message()));
  return {};
}

Attribute Decoder::attribute(const fb::Attribute& a) {
  using Kind = fb::AttributeValue;
  if (a.value()) {
    switch (a.value_type()) {
      case Kind::IntValue: return a.value_as_IntValue()->value();
      case Kind::FloatValue: return a.value_as_FloatValue()->value();
      case Kind::StringValue: return text(a.value_as_StringValue()->value());
      case Kind::DTypeValue: return dtype(a.value_as_DTypeValue()->value());
      case Kind::IntsValue: return list(a.value_as_IntsValue()->values());
      case Kind::FloatsValue: return list(a.value_as_FloatsValue()->values());
      case Kind::StringsValue: return texts(a.value_as_StringsValue()->values());
      case Kind::TensorValue: return tensor_value(*a.value_as_TensorValue());
      case Kind::NONE: break;
    }
  }
  fail(corrupt_file("an attribute of unknown kind {}", static_cast<int>(a.value_type())));
  return int64_t{0};
}

Attributes Decoder::attributes(const TableVector<fb::Attribute>* list) {
  Attributes result;
  for (uint32_t i = 0; list && i < list->size() && charge(16); ++i) {
    const std::string name = text(list->Get(i)->name());
    if (result.has(name)) fail(corrupt_file("attribute {} stands twice", name));
    result.set(name, attribute(*list->Get(i)));
  }
  return result;
}

ConvParams Decoder::conv(const fb::Conv& c) {
  ConvParams p;
  p.strides = list(c.strides());
  p.dilations = list(c.dilations());
  p.pads = list(c.pads());
  p.group = c.group();
  p.auto_pad = number(c.auto_pad(), ConvParams::AutoPad::kValid, "auto_pad");
  p.x_zero = c.x_zero();
  p.w_zero = c.w_zero();
  p.x_zero_input = c.x_zero_input();
  p.epilogue = region(c.epilogue());
  p.transposed = c.transposed();
  return p;
}

PoolParams Decoder::pool_params(const fb::Pool& from) {
  PoolParams p;
  p.kind = number(from.kind(), PoolParams::Kind::kAverage, "pool kind");
  p.kernel = list(from.kernel());
  p.strides = list(from.strides());
  p.dilations = list(from.dilations());
  p.pads = list(from.pads());
  p.auto_pad = number(from.auto_pad(), ConvParams::AutoPad::kValid, "auto_pad");
  p.ceil_mode = from.ceil_mode();
  p.count_include_pad = from.count_include_pad();
  p.global = from.global();
  return p;
}

static AttentionParams attention_params(const fb::Attention& from) {
  AttentionParams p;
  p.scale = from.scale();
  p.softcap = from.softcap();
  p.q_heads = from.q_heads();
  p.kv_heads = from.kv_heads();
  p.window = from.window();
  p.causal = from.causal();
  p.packed = from.packed();
  p.mask_repeats = from.mask_repeats();
  p.nan_rows = from.nan_rows();
  p.masked_score = from.masked_score();
  return p;
}

ResizeParams Decoder::resize_params(const fb::Resize& from) {
  ResizeParams p;
  p.rule.mode = number(from.mode(), ResampleRule::Mode::kCubic, "resize mode");
  p.rule.coordinates =
      number(from.coordinates(), ResampleRule::Coordinates::kTfCropAndResize, "resize coordinates");
  p.rule.nearest = number(from.nearest(), ResampleRule::Nearest::kSimple, "nearest mode");
  p.rule.antialias = from.antialias();
  p.rule.exclude_outside = from.exclude_outside();
  p.rule.cubic_a = from.cubic_a();
  p.scales = list(from.scales());
  return p;
}

RecurrentParams Decoder::recurrent_params(const fb::Recurrent& from) {
  RecurrentParams p;
  p.cell = number(from.cell(), RecurrentParams::Cell::kRnn, "cell");
  p.direction = number(from.direction(), RecurrentParams::Direction::kBidirectional, "direction");
  p.activations = tables(from.activations(), [&](const fb::Activation& a) {
    return Activation{number(a.kind(), ActivationKind::kSoftplus, "activation"), a.alpha(),
                      a.beta()};
  });
  p.clip = from.clip();
  p.batch_first = from.batch_first();
  p.coupled = from.coupled();
  p.linear_first = from.linear_first();
  return p;
}

Params Decoder::params(const fb::Step& s) {
  if (s.params()) {
    switch (s.params_type()) {
      case fb::Params::Gemm: {
        const fb::Gemm& g = *s.params_as_Gemm();
        return GemmParams{g.transpose_a(), g.transpose_b(),  g.a_zero(),
                          g.b_zero(),      g.a_zero_input(), region(g.epilogue())};
      }
      case fb::Params::Conv: return conv(*s.params_as_Conv());
      case fb::Params::Region: {
        const fb::Region& r = *s.params_as_Region();
        return RegionParams{region(r.program()), list(r.extents())};
      }
      case fb::Params::Pool: return pool_params(*s.params_as_Pool());
      case fb::Params::Copy: {
        const fb::Copy& c = *s.params_as_Copy();
        return CopyParams{list(c.perm()), list(c.starts()), list(c.steps()), c.concat_axis()};
      }
      case fb::Params::Gather: return GatherParams{s.params_as_Gather()->axis()};
      case fb::Params::Fallback: {
        const fb::Fallback& f = *s.params_as_Fallback();
        return FallbackParams{text(f.op()), attributes(f.attributes())};
      }
      case fb::Params::Attention: return attention_params(*s.params_as_Attention());
      case fb::Params::Resize: return resize_params(*s.params_as_Resize());
      case fb::Params::Recurrent: return recurrent_params(*s.params_as_Recurrent());
      case fb::Params::NONE: break;
    }
  }
  fail(corrupt_file("a step of unknown family {}", static_cast<int>(s.params_type())));
  return FallbackParams{};
}

}  // namespace stoker::engine
