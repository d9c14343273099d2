// Operands in double, the families' op calls and their epilogues.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference_parts.h"

#include <algorithm>

#include "base/numeric.h"
#include "kernels/desc/recurrent.h"
#include "kernels/region_interpreter.h"
#include "kernels/tactic.h"
#include "ops/op.h"

namespace stoker {

static TensorDesc plain_desc(DType dtype, std::vector<int64_t> dims) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  return desc;
}

// An operand as plain doubles, minus its zero point.
Result<Tensor> operand_to_f64(const Desc& desc, size_t index, const void* data, int64_t zero) {
  TensorDesc from = desc.inputs[index];
  Tensor unpacked;
  if (from.packing != Packing::kNone) {
    STOKER_ASSIGN(const int64_t bytes, packed_bytes(desc, static_cast<int>(index), from.packing));
    STOKER_ASSIGN(const Tensor packed,
                  Tensor::wrap(DType::kU8, {bytes}, const_cast<void*>(data), nullptr));
    STOKER_ASSIGN(unpacked, unpack_weight(desc, static_cast<int>(index), from.packing, packed));
    data = unpacked.data();
    from.layout = Layout::kPlain;
  }
  STOKER_ASSIGN(Tensor result, Tensor::allocate(DType::kF64, from.dims));
  const LoadDouble load = load_double(from.dtype);
  if (!load)
    return Status(
        unsupported("operand {} of dtype {} has no numbers", index, dtype_name(from.dtype)));
  double* to = static_cast<double*>(result.data());
  std::vector<int64_t> at(from.dims.size(), 0);
  for (int64_t i = 0; i < result.count(); ++i) {
    const int64_t offset = from.layout == Layout::kPlain ? i : element_offset(from, at);
    to[i] = load(data, offset) - static_cast<double>(zero);
    if (from.layout == Layout::kPlain) continue;
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < from.dims[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

static const char* auto_pad_text(ConvParams::AutoPad pad) {
  switch (pad) {
    case ConvParams::AutoPad::kSameUpper: return "SAME_UPPER";
    case ConvParams::AutoPad::kSameLower: return "SAME_LOWER";
    case ConvParams::AutoPad::kValid: return "VALID";
    case ConvParams::AutoPad::kExplicit: break;
  }
  return "NOTSET";
}

// What the family's op is called and told.
struct OpCall {
  std::string op;
  Attributes attributes;
};

static void set_window(Attributes& attributes, ConvParams::AutoPad auto_pad,
                       const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                       const std::vector<int64_t>& pads) {
  attributes.set("auto_pad", std::string(auto_pad_text(auto_pad)));
  if (!strides.empty()) attributes.set("strides", strides);
  if (!dilations.empty()) attributes.set("dilations", dilations);
  if (!pads.empty() && auto_pad == ConvParams::AutoPad::kExplicit) attributes.set("pads", pads);
}

static OpCall op_call(const Desc& desc) {
  OpCall call;
  if (desc.family() == Family::kGemm) {
    call.op = "matmul";
  } else if (desc.family() == Family::kConv) {
    const auto& p = desc.as<ConvParams>();
    call.op = p.transposed ? "conv_transpose" : "conv";
    const auto& weight = desc.inputs[1].dims;
    call.attributes.set("kernel_shape", std::vector<int64_t>(weight.begin() + 2, weight.end()));
    call.attributes.set("group", p.group);
    std::vector<int64_t> pads = p.pads, extra(weight.size() - 2, 0);
    for (size_t d = 0; p.transposed && d < extra.size(); ++d) {
      int64_t& end = pads[d + extra.size()];
      extra[d] = std::max<int64_t>(-end, 0);
      end = std::max<int64_t>(end, 0);
    }
    if (p.transposed) call.attributes.set("output_padding", extra);
    set_window(call.attributes, p.auto_pad, p.strides, p.dilations, pads);
  } else {
    const auto& p = desc.as<PoolParams>();
    const bool max = p.kind == PoolParams::Kind::kMax;
    call.op = p.global ? (max ? "global_max_pool" : "global_average_pool")
                       : (max ? "max_pool" : "average_pool");
    if (p.global) return call;
    call.attributes.set("kernel_shape", p.kernel);
    call.attributes.set("ceil_mode", int64_t{p.ceil_mode});
    if (!max) call.attributes.set("count_include_pad", int64_t{p.count_include_pad});
    set_window(call.attributes, p.auto_pad, p.strides, p.dilations, p.pads);
  }
  return call;
}

Status evaluate_reference(const std::string& name, const Attributes& attributes,
                          std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          std::span<const int64_t> wanted) {
  const Op* op = find_op(name);
  if (!op || !op->evaluate) return internal_error("op '{}' has no reference evaluation", name);
  EvalContext context{attributes, inputs, outputs, wanted};
  return op->evaluate(context).at(name);
}

// The last two dims exchanged; rank 1 stays.
static TensorView matrix_view(const Tensor& tensor, bool transpose) {
  TensorView view = view_of(tensor);
  const size_t rank = view.shape.size();
  if (transpose && rank >= 2) {
    std::swap(view.shape[rank - 1], view.shape[rank - 2]);
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  }
  return view;
}

// Accumulator (gemm, conv) or result (pool) in f64, plain, of output 0's dims.
Result<Tensor> reference_accumulate(const Desc& desc, const void* const* inputs,
                                    std::span<const int64_t> wanted) {
  const OpCall call = op_call(desc);
  STOKER_ASSIGN(Tensor result, Tensor::allocate(DType::kF64, desc.outputs[0].dims));
  const TensorView outputs[] = {view_of(result)};
  const Family family = desc.family();
  if (family == Family::kPool) {
    STOKER_ASSIGN(const Tensor x, operand_to_f64(desc, 0, inputs[0], 0));
    const TensorView views[] = {view_of(x)};
    STOKER_TRY(evaluate_reference(call.op, call.attributes, views, outputs, wanted));
    return result;
  }
  int64_t zeros[2] = {0, 0};
  bool transposed[2] = {false, false};
  if (family == Family::kGemm) {
    const auto& p = desc.as<GemmParams>();
    zeros[0] = zero_point(desc, inputs, p.a_zero_input, p.a_zero), zeros[1] = p.b_zero;
    transposed[0] = p.transpose_a, transposed[1] = p.transpose_b;
  } else {
    const auto& p = desc.as<ConvParams>();
    zeros[0] = zero_point(desc, inputs, p.x_zero_input, p.x_zero), zeros[1] = p.w_zero;
  }
  STOKER_ASSIGN(const Tensor a, operand_to_f64(desc, 0, inputs[0], zeros[0]));
  STOKER_ASSIGN(const Tensor b, operand_to_f64(desc, 1, inputs[1], zeros[1]));
  const TensorView views[] = {matrix_view(a, transposed[0]), matrix_view(b, transposed[1])};
  STOKER_TRY(evaluate_reference(call.op, call.attributes, views, outputs, wanted));
  return result;
}

Result<PlainRecurrent> plain_recurrent(const Desc& desc, const void* const* inputs) {
  PlainRecurrent plain{desc, std::vector<const void*>(inputs, inputs + desc.inputs.size()), {}};
  const RecurrentExtents e = recurrent_extents(desc);
  for (const size_t weight : {size_t{1}, size_t{2}}) {
    if (!is_byte_weight(desc, weight)) continue;
    const TensorDesc& of = desc.inputs[weight];
    const size_t at = scale_operand(weight);
    const std::span scales(static_cast<const float*>(inputs[at]),
                           static_cast<size_t>(logical_count(desc.inputs[at])));
    STOKER_ASSIGN(const Tensor integers,
                  operand_to_f64(desc, weight, inputs[weight], zero_of_weight(of.dtype)));
    STOKER_ASSIGN(Tensor floats, Tensor::allocate(DType::kF32, of.dims));
    const double* from = static_cast<const double*>(integers.data());
    const int64_t rows = e.gates * e.hidden, columns = of.dims[2];
    for (int64_t i = 0; i < floats.count(); ++i) {
      const int64_t row = i / columns;
      static_cast<float*>(floats.data())[i] =
          static_cast<float>(from[i]) * row_scale(e, scales, row / rows, row % rows);
    }
    plain.desc.inputs[weight] = {DType::kF32, of.dims};
    plain.inputs[weight] = floats.data();
    plain.made.push_back(std::move(floats));
  }
  if (plain.desc.inputs.size() > kInputScale) plain.desc.inputs.resize(kInputScale);
  while (!plain.desc.inputs.back().present()) plain.desc.inputs.pop_back();
  return plain;
}

Result<ReferenceEpilogue> reference_epilogue(const Desc& desc, const void* const* inputs,
                                             const Tensor& accumulator) {
  ReferenceEpilogue e;
  const bool gemm = desc.family() == Family::kGemm, conv = desc.family() == Family::kConv;
  if (gemm) e.program = desc.as<GemmParams>().epilogue;
  if (conv) e.program = desc.as<ConvParams>().epilogue;
  const bool integer = (gemm || conv) && !is_float(desc.inputs[0].dtype);
  e.accumulator = accumulator;
  if (integer) {  // exact in double up to 2^53; the accumulator is 32 bits and wraps
    STOKER_ASSIGN(e.accumulator, Tensor::allocate(DType::kI32, accumulator.shape()));
    const double* from = static_cast<const double*>(accumulator.data());
    int32_t* to = static_cast<int32_t*>(e.accumulator.data());
    for (int64_t i = 0; i < accumulator.count(); ++i)
      to[i] = static_cast<int32_t>(static_cast<int64_t>(from[i]));
  }
  e.inputs = {plain_desc(e.accumulator.dtype(), accumulator.shape())};
  e.data = {e.accumulator.data()};
  for (size_t k = 2; k < desc.inputs.size(); ++k) {
    e.inputs.push_back(desc.inputs[k]);
    e.data.push_back(inputs[k]);
  }
  if (!e.program.empty()) return e;
  RegionOperand identity;
  for (int d = 0; d < accumulator.rank(); ++d) identity.dim_of.push_back(static_cast<int8_t>(d));
  RegionInstruction input;
  input.op = RegionOp::kInput;
  input.dtype = integer ? DType::kI32 : DType::kF64;
  input.args[0] = 0;
  e.program.rank = accumulator.rank();
  e.program.reduced.assign(static_cast<size_t>(accumulator.rank()), 0);
  e.program.inputs = {identity};
  e.program.instructions = {input};
  e.program.outputs = {{0, identity}};
  return e;
}

TensorView buffer_view(const TensorDesc& desc, const void* data) {
  TensorView view;
  if (!desc.present()) return view;
  view.dtype = desc.dtype;
  view.shape = desc.dims;
  view.strides = dense_strides(desc.dims);
  void* memory = const_cast<void*>(data);
  if (desc.dtype == DType::kString)
    view.strings = static_cast<std::vector<std::string>*>(memory);
  else
    view.data = memory;
  return view;
}

}  // namespace stoker
