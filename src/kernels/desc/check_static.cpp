// What can be proved about a desc before its shape is known; the first half of check_desc, and what
// the verifier of engine files uses at load.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string_view>

#include "base/status.h"
#include "kernels/desc/attention.h"
#include "kernels/desc/check.h"
#include "kernels/desc/recurrent.h"
#include "kernels/desc/resize.h"

namespace stoker {
namespace {

constexpr int64_t kMaxWindow = INT32_MAX;  // strides, dilations, pads, pool kernels

bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

Status expect_counts(const Desc& desc, size_t inputs, size_t outputs) {
  if (desc.inputs.size() == inputs && desc.outputs.size() == outputs) return Status::ok();
  return invalid_argument("expected {} inputs and {} outputs, found {} and {}", inputs, outputs,
                          desc.inputs.size(), desc.outputs.size());
}

// The dtypes that kInput instructions read and outputs store. `accumulator`: of input 0 of an
// epilogue.
Status check_region_dtypes(const RegionProgram& program, std::span<const TensorDesc* const> inputs,
                           std::span<const TensorDesc* const> outputs, DType accumulator) {
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const RegionInstruction& instruction = program.instructions[i];
    if (instruction.op != RegionOp::kInput) continue;
    const TensorDesc* operand = inputs[static_cast<size_t>(instruction.args[0])];
    const DType found = operand ? operand->dtype : accumulator;
    if (found != instruction.dtype) {
      return invalid_argument("instruction {} reads input {} as {}, the operand is {}", i,
                              instruction.args[0], dtype_text(instruction.dtype),
                              dtype_text(found));
    }
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    const DType value = program.instructions[static_cast<size_t>(program.outputs[k].value)].dtype;
    if (value != outputs[k]->dtype) {
      return invalid_argument("output {} stores {} into an operand of {}", k, dtype_text(value),
                              dtype_text(outputs[k]->dtype));
    }
  }
  return Status::ok();
}

Status check_program(const RegionProgram& program, std::span<const TensorDesc* const> inputs,
                     std::span<const TensorDesc* const> outputs, DType accumulator) {
  std::vector<int> ranks;
  for (const TensorDesc* operand : inputs)
    ranks.push_back(operand ? operand->rank() : program.rank);
  for (const TensorDesc* operand : outputs) ranks.push_back(operand->rank());
  if (std::string text = check_region(program, ranks); !text.empty())
    return invalid_argument("{}", text);
  return check_region_dtypes(program, inputs, outputs, accumulator);
}

Status check_epilogue(const Desc& desc, const RegionProgram& epilogue, DType accumulator,
                      int y_rank) {
  if (epilogue.empty()) {
    if (!epilogue.instructions.empty() || !epilogue.inputs.empty()) {
      return invalid_argument("epilogue: instructions without outputs");
    }
    STOKER_TRY(expect_counts(desc, 2, 1));
    const DType stored = desc.outputs[0].dtype;
    const bool narrow_float = stored == DType::kF16 || stored == DType::kBF16;
    if (stored == accumulator || (narrow_float && stored == desc.inputs[0].dtype))
      return Status::ok();
    return invalid_argument("without an epilogue the output is the accumulator, {}; found {}",
                            dtype_text(accumulator), dtype_text(stored));
  }
  if (epilogue.inputs.empty())
    return invalid_argument("epilogue: input 0, the accumulator, is missing");
  STOKER_TRY(
      expect_counts(desc, epilogue.inputs.size() + 1, epilogue.outputs.size()).at("epilogue"));
  if (epilogue.rank != y_rank) {
    return invalid_argument("epilogue: rank {}, the result has rank {}", epilogue.rank, y_rank);
  }
  for (const uint8_t flag : epilogue.reduced) {
    if (flag) return invalid_argument("epilogue: reductions are not possible there");
  }
  std::vector<const TensorDesc*> inputs{nullptr}, outputs;
  for (size_t i = 2; i < desc.inputs.size(); ++i) inputs.push_back(&desc.inputs[i]);
  for (const TensorDesc& output : desc.outputs) outputs.push_back(&output);
  STOKER_TRY(check_program(epilogue, inputs, outputs, accumulator).at("epilogue"));
  for (size_t d = 0; d < epilogue.inputs[0].dim_of.size(); ++d) {
    if (epilogue.inputs[0].dim_of[d] != static_cast<int8_t>(d)) {
      return invalid_argument(
          "epilogue: the accumulator's map must be the identity, found {} at dim {}",
          static_cast<int>(epilogue.inputs[0].dim_of[d]), d);
    }
  }
  return Status::ok();
}

Status check_zero(const char* name, int32_t zero, DType dtype) {
  const int32_t low = dtype == DType::kI8 ? -128 : 0;
  const int32_t high = dtype == DType::kI8 ? 127 : dtype == DType::kU8 ? 255 : 0;
  if (zero >= low && zero <= high) return Status::ok();
  return invalid_argument("{} {} is outside of {}..{} of {}", name, zero, low, high,
                          dtype_text(dtype));
}

// A zero point that is an operand.
Status check_zero_input(const Desc& desc, int32_t input, int32_t zero) {
  if (input == -1) return Status::ok();
  if (input < 2 || input >= static_cast<int64_t>(desc.inputs.size()) || zero != 0) {
    return invalid_argument("zero point {} beside input {} of {}", zero, input, desc.inputs.size());
  }
  const TensorDesc& operand = desc.inputs[static_cast<size_t>(input)];
  const DType of = desc.inputs[0].dtype;
  if (operand.dtype == of && (of == DType::kU8 || of == DType::kI8)) return Status::ok();
  return invalid_argument("the zero point of {} is {}", dtype_text(of), dtype_text(operand.dtype));
}

Result<DType> check_products(const Desc& desc) {
  if (desc.inputs.size() < 2 || desc.outputs.empty()) {
    return invalid_argument("expected at least 2 inputs and 1 output, found {} and {}",
                            desc.inputs.size(), desc.outputs.size());
  }
  const DType a = desc.inputs[0].dtype, b = desc.inputs[1].dtype;
  const bool weights_of_8_bits = desc.family() == Family::kGemm && a == DType::kF32 && is_byte(b);
  const DType accumulator = weights_of_8_bits ? DType::kF32 : accumulator_dtype(a, b);
  if (accumulator == DType::kInvalid) {
    return invalid_argument("{} and {} cannot be multiplied", dtype_text(a), dtype_text(b));
  }
  return accumulator;
}

Status check_family(const Desc& desc, const GemmParams& params) {
  STOKER_ASSIGN(const DType accumulator, check_products(desc));
  const TensorDesc& a = desc.inputs[0];
  const TensorDesc& b = desc.inputs[1];
  if (a.rank() < 2 || b.rank() < 2) {
    return invalid_argument("operands need rank 2 or more, found {} and {}", a.rank(), b.rank());
  }
  if (a.layout != Layout::kPlain || b.layout != Layout::kPlain)
    return invalid_argument("operands must be plain");
  for (const TensorDesc& output : desc.outputs) {
    if (output.layout != Layout::kPlain) return invalid_argument("outputs must be plain");
  }
  STOKER_TRY(check_zero("a_zero", params.a_zero, a.dtype));
  STOKER_TRY(check_zero("b_zero", params.b_zero, b.dtype));
  STOKER_TRY(check_zero_input(desc, params.a_zero_input, params.a_zero));
  return check_epilogue(desc, params.epilogue, accumulator, std::max(a.rank(), b.rank()));
}

Status check_list(const char* name, const std::vector<int64_t>& values, size_t count, int64_t low) {
  if (values.size() != count)
    return invalid_argument("{} {}, expected {}", values.size(), name, count);
  for (const int64_t value : values) {
    if (value < low || value > kMaxWindow) {
      return invalid_argument("{} hold {}, expected {}..{}", name, value, low, kMaxWindow);
    }
  }
  return Status::ok();
}

Status check_pads(const std::vector<int64_t>& pads, ConvParams::AutoPad auto_pad, size_t spatial) {
  if (auto_pad > ConvParams::AutoPad::kValid) {
    return invalid_argument("unknown auto_pad {}", static_cast<int>(auto_pad));
  }
  return pads.empty() && auto_pad != ConvParams::AutoPad::kExplicit
             ? Status::ok()
             : check_list("pads", pads, 2 * spatial, 0);
}

Status check_family(const Desc& desc, const ConvParams& params) {
  STOKER_ASSIGN(const DType accumulator, check_products(desc));
  const TensorDesc &x = desc.inputs[0], &w = desc.inputs[1];
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) {
    return invalid_argument("x and w need equal ranks of 3 to 5, found {} and {}", x.rank(),
                            w.rank());
  }
  if (w.layout != Layout::kPlain) return invalid_argument("the weight must be plain or packed");
  const size_t spatial = static_cast<size_t>(x.rank() - 2);
  STOKER_TRY(check_list("strides", params.strides, spatial, 1));
  STOKER_TRY(check_list("dilations", params.dilations, spatial, 1));
  if (params.transposed) {
    if (!is_float(x.dtype) || params.auto_pad != ConvParams::AutoPad::kExplicit)
      return invalid_argument("a transposed conv takes floats and explicit pads");
    STOKER_TRY(check_list("pads", params.pads, 2 * spatial, -kMaxWindow));
  }
  if (!params.transposed) STOKER_TRY(check_pads(params.pads, params.auto_pad, spatial));
  if (params.group < 1 || params.group > kMaxWindow)
    return invalid_argument("group {}", params.group);
  STOKER_TRY(check_zero("x_zero", params.x_zero, x.dtype));
  STOKER_TRY(check_zero("w_zero", params.w_zero, w.dtype));
  STOKER_TRY(check_zero_input(desc, params.x_zero_input, params.x_zero));
  return check_epilogue(desc, params.epilogue, accumulator, x.rank());
}

Status check_family(const Desc& desc, const RegionParams& params) {
  if (params.program.empty()) return invalid_argument("the region program has no outputs");
  STOKER_TRY(expect_counts(desc, params.program.inputs.size(), params.program.outputs.size()));
  if (params.extents.size() != static_cast<size_t>(std::max(params.program.rank, 0))) {
    return invalid_argument("{} extents for a region of rank {}", params.extents.size(),
                            params.program.rank);
  }
  std::vector<const TensorDesc*> inputs, outputs;
  for (const TensorDesc& input : desc.inputs) inputs.push_back(&input);
  for (const TensorDesc& output : desc.outputs) outputs.push_back(&output);
  return check_program(params.program, inputs, outputs, DType::kInvalid);
}

Status check_family(const Desc& desc, const PoolParams& params) {
  STOKER_TRY(expect_counts(desc, 1, 1));
  const TensorDesc& x = desc.inputs[0];
  if (x.rank() < 3 || x.rank() > 5 || desc.outputs[0].rank() != x.rank()) {
    return invalid_argument("x and y need equal ranks of 3 to 5, found {} and {}", x.rank(),
                            desc.outputs[0].rank());
  }
  if (desc.outputs[0].dtype != x.dtype) return invalid_argument("input and output dtypes differ");
  if (params.kind > PoolParams::Kind::kAverage) {
    return invalid_argument("unknown pool kind {}", static_cast<int>(params.kind));
  }
  if (params.global) {
    if (params.kernel.empty() && params.pads.empty()) return Status::ok();
    return invalid_argument("a global pool has neither kernel nor pads");
  }
  const size_t spatial = static_cast<size_t>(x.rank() - 2);
  STOKER_TRY(check_list("kernel extents", params.kernel, spatial, 1));
  STOKER_TRY(check_list("strides", params.strides, spatial, 1));
  STOKER_TRY(check_list("dilations", params.dilations, spatial, 1));
  return check_pads(params.pads, params.auto_pad, spatial);
}

Status check_concat(const Desc& desc, const CopyParams& params, int rank) {
  if (params.concat_axis >= rank) {
    return invalid_argument("concat_axis {} is outside of 0..{}", params.concat_axis, rank - 1);
  }
  for (size_t d = 0; d < params.perm.size(); ++d) {
    if (params.perm[d] != static_cast<int64_t>(d))
      return invalid_argument("a concat does not permute");
  }
  for (const int64_t start : params.starts) {
    if (start != 0) return invalid_argument("a concat does not slice");
  }
  for (const int64_t step : params.steps) {
    if (step != 1) return invalid_argument("a concat does not slice");
  }
  return desc.inputs.empty() ? invalid_argument("a concat needs an input") : Status::ok();
}

Status check_family(const Desc& desc, const CopyParams& params) {
  if (desc.outputs.size() != 1)
    return invalid_argument("expected 1 output, found {}", desc.outputs.size());
  const TensorDesc& y = desc.outputs[0];
  for (const TensorDesc& input : desc.inputs) {
    if (input.rank() != y.rank() || input.dtype != y.dtype) {
      return invalid_argument("input {} of rank {}, output {} of rank {}: they must be equal",
                              dtype_text(input.dtype), input.rank(), dtype_text(y.dtype), y.rank());
    }
  }
  const size_t rank = y.dims.size();
  if (params.perm.size() != rank)
    return invalid_argument("perm of {} entries, rank {}", params.perm.size(), rank);
  uint32_t seen = 0;
  for (const int64_t dim : params.perm) {
    if (dim < 0 || dim >= y.rank() || (seen >> dim & 1)) {
      return invalid_argument("perm is not a permutation: {} is outside of 0..{} or repeated", dim,
                              y.rank() - 1);
    }
    seen |= 1u << dim;
  }
  for (const auto* list : {&params.starts, &params.steps}) {
    if (!list->empty() && list->size() != rank) {
      return invalid_argument("starts or steps of {} entries, rank {}", list->size(), rank);
    }
  }
  for (const int64_t step : params.steps) {
    if (step == 0 || step > kMaxWindow || step < -kMaxWindow)
      return invalid_argument("slice step {}", step);
  }
  if (params.concat_axis < -1) return invalid_argument("concat_axis {}", params.concat_axis);
  if (params.concat_axis >= 0) return check_concat(desc, params, y.rank());
  return expect_counts(desc, 1, 1);
}

Status check_family(const Desc& desc, const GatherParams& params) {
  STOKER_TRY(expect_counts(desc, 2, 1));
  const TensorDesc& data = desc.inputs[0];
  const TensorDesc& indices = desc.inputs[1];
  if (indices.dtype != DType::kI32 && indices.dtype != DType::kI64) {
    return invalid_argument("indices are {}, expected i32 or i64", dtype_text(indices.dtype));
  }
  if (desc.outputs[0].dtype != data.dtype) return invalid_argument("data and output dtypes differ");
  if (params.axis < 0 || params.axis >= data.rank()) {
    return invalid_argument("axis {} is outside of 0..{}", params.axis, data.rank() - 1);
  }
  if (desc.outputs[0].rank() != data.rank() - 1 + indices.rank()) {
    return invalid_argument("output of rank {}, expected {}", desc.outputs[0].rank(),
                            data.rank() - 1 + indices.rank());
  }
  for (const TensorDesc* operand : {&data, &indices, &desc.outputs[0]}) {
    if (operand->layout != Layout::kPlain) return invalid_argument("operands must be plain");
  }
  return Status::ok();
}

Status check_family(const Desc& desc, const AttentionParams&) {
  return check_attention_static(desc);
}

Status check_family(const Desc& desc, const ResizeParams&) { return check_resize_static(desc); }

Status check_family(const Desc& desc, const RecurrentParams&) {
  return check_recurrent_static(desc);
}

Status check_family(const Desc&, const FallbackParams& params) {
  return params.op.empty() ? invalid_argument("a fallback step without an op") : Status::ok();
}

}  // namespace

DType accumulator_dtype(DType a, DType b) {
  if (is_byte(a) && is_byte(b)) return DType::kI32;
  if (a != b) return DType::kInvalid;
  switch (a) {
    case DType::kF16:
    case DType::kBF16: return DType::kF32;
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64: return a;
    default: return DType::kInvalid;
  }
}

Status check_desc_static(const Desc& desc) {
  const char* family = family_name(desc.family());
  STOKER_TRY(check_operands(desc).at(family));
  return std::visit([&](const auto& params) { return check_family(desc, params); }, desc.params)
      .at(family);
}

}  // namespace stoker
