// The reference tactics: every family in double precision (integers exactly), through the ops' reference
// evaluations and the region interpreter. Slow, complete, the oracle of all other tactics.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/numeric.h"
#include "kernels/reference_move.h"
#include "kernels/region_interpreter.h"
#include "kernels/tactic.h"
#include "ops/op.h"

namespace stoker {
namespace {

TensorDesc plain_desc(DType dtype, std::vector<int64_t> dims) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  return desc;
}

// An operand as plain doubles, minus its zero point.
Result<Tensor> to_f64(const Desc& desc, size_t index, const void* data, int64_t zero) {
  TensorDesc from = desc.inputs[index];
  Tensor unpacked;
  if (from.packing != Packing::kNone) {
    STOKER_ASSIGN(const int64_t bytes, packed_bytes(desc, static_cast<int>(index), from.packing));
    STOKER_ASSIGN(const Tensor packed, Tensor::wrap(DType::kU8, {bytes}, const_cast<void*>(data), nullptr));
    STOKER_ASSIGN(unpacked, unpack_weight(desc, static_cast<int>(index), from.packing, packed));
    data = unpacked.data();
    from.layout = Layout::kPlain;
  }
  STOKER_ASSIGN(Tensor result, Tensor::allocate(DType::kF64, from.dims));
  const LoadDouble load = load_double(from.dtype);
  if (!load) return Status(unsupported("operand {} of dtype {} has no numbers", index, dtype_name(from.dtype)));
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

const char* auto_pad_text(ConvParams::AutoPad pad) {
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

void set_window(Attributes& attributes, ConvParams::AutoPad auto_pad, const std::vector<int64_t>& strides,
                const std::vector<int64_t>& dilations, const std::vector<int64_t>& pads) {
  attributes.set("auto_pad", std::string(auto_pad_text(auto_pad)));
  if (!strides.empty()) attributes.set("strides", strides);
  if (!dilations.empty()) attributes.set("dilations", dilations);
  if (!pads.empty() && auto_pad == ConvParams::AutoPad::kExplicit) attributes.set("pads", pads);
}

OpCall op_call(const Desc& desc) {
  OpCall call;
  if (desc.family() == Family::kGemm) {
    call.op = "matmul";
  } else if (desc.family() == Family::kConv) {
    const auto& p = desc.as<ConvParams>();
    call.op = "conv";
    const auto& weight = desc.inputs[1].dims;
    call.attributes.set("kernel_shape", std::vector<int64_t>(weight.begin() + 2, weight.end()));
    call.attributes.set("group", p.group);
    set_window(call.attributes, p.auto_pad, p.strides, p.dilations, p.pads);
  } else {
    const auto& p = desc.as<PoolParams>();
    const bool max = p.kind == PoolParams::Kind::kMax;
    call.op = p.global ? (max ? "global_max_pool" : "global_average_pool") : (max ? "max_pool" : "average_pool");
    if (p.global) return call;
    call.attributes.set("kernel_shape", p.kernel);
    call.attributes.set("ceil_mode", int64_t{p.ceil_mode});
    if (!max) call.attributes.set("count_include_pad", int64_t{p.count_include_pad});
    set_window(call.attributes, p.auto_pad, p.strides, p.dilations, p.pads);
  }
  return call;
}

Status evaluate(const std::string& name, const Attributes& attributes, std::span<const TensorView> inputs,
                std::span<const TensorView> outputs, std::span<const int64_t> wanted) {
  const Op* op = find_op(name);
  if (!op || !op->evaluate) return internal_error("op '{}' has no reference evaluation", name);
  EvalContext context{attributes, inputs, outputs, wanted};
  return op->evaluate(context).at(name);
}

// The last two dims exchanged; rank 1 stays.
TensorView matrix_view(const Tensor& tensor, bool transpose) {
  TensorView view = view_of(tensor);
  const size_t rank = view.shape.size();
  if (transpose && rank >= 2) {
    std::swap(view.shape[rank - 1], view.shape[rank - 2]);
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  }
  return view;
}

// Accumulator (gemm, conv) or result (pool) in f64, plain, of output 0's dims.
Result<Tensor> accumulate(const Desc& desc, const void* const* inputs, std::span<const int64_t> wanted) {
  const OpCall call = op_call(desc);
  STOKER_ASSIGN(Tensor result, Tensor::allocate(DType::kF64, desc.outputs[0].dims));
  const TensorView outputs[] = {view_of(result)};
  const Family family = desc.family();
  if (family == Family::kPool) {
    STOKER_ASSIGN(const Tensor x, to_f64(desc, 0, inputs[0], 0));
    const TensorView views[] = {view_of(x)};
    STOKER_TRY(evaluate(call.op, call.attributes, views, outputs, wanted));
    return result;
  }
  int64_t zeros[2] = {0, 0};
  bool transposed[2] = {false, false};
  if (family == Family::kGemm) {
    const auto& p = desc.as<GemmParams>();
    zeros[0] = p.a_zero, zeros[1] = p.b_zero;
    transposed[0] = p.transpose_a, transposed[1] = p.transpose_b;
  } else {
    const auto& p = desc.as<ConvParams>();
    zeros[0] = p.x_zero, zeros[1] = p.w_zero;
  }
  STOKER_ASSIGN(const Tensor a, to_f64(desc, 0, inputs[0], zeros[0]));
  STOKER_ASSIGN(const Tensor b, to_f64(desc, 1, inputs[1], zeros[1]));
  const TensorView views[] = {matrix_view(a, transposed[0]), matrix_view(b, transposed[1])};
  STOKER_TRY(evaluate(call.op, call.attributes, views, outputs, wanted));
  return result;
}

// The epilogue as a region over the accumulator; an empty one stores it.
struct Epilogue {
  RegionProgram program;
  std::vector<TensorDesc> inputs;
  std::vector<const void*> data;
  Tensor accumulator;
};

Result<Epilogue> make_epilogue(const Desc& desc, const void* const* inputs, const Tensor& accumulator) {
  Epilogue e;
  const bool gemm = desc.family() == Family::kGemm, conv = desc.family() == Family::kConv;
  if (gemm) e.program = desc.as<GemmParams>().epilogue;
  if (conv) e.program = desc.as<ConvParams>().epilogue;
  const bool integer = (gemm || conv) && !is_float(desc.inputs[0].dtype);
  e.accumulator = accumulator;
  if (integer) {  // exact in double up to 2^53; the accumulator is 32 bits and wraps
    STOKER_ASSIGN(e.accumulator, Tensor::allocate(DType::kI32, accumulator.shape()));
    const double* from = static_cast<const double*>(accumulator.data());
    int32_t* to = static_cast<int32_t*>(e.accumulator.data());
    for (int64_t i = 0; i < accumulator.count(); ++i) to[i] = static_cast<int32_t>(static_cast<int64_t>(from[i]));
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

// ---- supports.

Status check_numbers(const Desc& desc) {
  const auto check = [](const TensorDesc& operand, const char* what, size_t k) {
    if (!operand.present() || load_double(operand.dtype)) return Status::ok();
    return unsupported("{} {} of dtype {} has no numbers", what, k, dtype_name(operand.dtype));
  };
  for (size_t k = 0; k < desc.inputs.size(); ++k) STOKER_TRY(check(desc.inputs[k], "input", k));
  for (size_t k = 0; k < desc.outputs.size(); ++k) STOKER_TRY(check(desc.outputs[k], "output", k));
  return Status::ok();
}

Status supports_numbers(const Desc& desc) {
  if (desc.outputs.empty() || desc.inputs.empty()) return unsupported("operands are missing");
  return check_numbers(desc);
}

Status supports_region(const Desc& desc) {
  const auto& program = desc.as<RegionParams>().program;
  std::vector<int> ranks;
  for (const TensorDesc& input : desc.inputs) ranks.push_back(input.rank());
  for (const TensorDesc& output : desc.outputs) ranks.push_back(output.rank());
  const std::string text = check_region(program, ranks);
  if (!text.empty()) return unsupported("region: {}", text);
  return check_numbers(desc);
}

Status supports_moves(const Desc& desc) {
  if (desc.outputs.empty() || desc.inputs.empty()) return unsupported("operands are missing");
  if (dtype_bits(desc.outputs[0].dtype) == 0) return unsupported("strings are not moved by kernels");
  return Status::ok();
}

Status supports_fallback(const Desc& desc) {
  const auto& p = desc.as<FallbackParams>();
  const Op* op = find_op(p.op);
  if (!op) return unsupported("there is no op '{}'", p.op);
  if (!op->evaluate) return unsupported("op '{}' has no reference evaluation; the runtime executes it", p.op);
  const auto plain = [](const TensorDesc& d) { return d.layout == Layout::kPlain && d.packing == Packing::kNone; };
  if (!std::all_of(desc.inputs.begin(), desc.inputs.end(), plain) ||
      !std::all_of(desc.outputs.begin(), desc.outputs.end(), plain)) {
    return unsupported("op '{}' takes plain operands only", p.op);
  }
  return Status::ok();
}

std::vector<Config> one_config(const Desc&) { return {Config{}}; }

// ---- launch.

Status launch_computed(const Launch& l) {
  const Desc& desc = *l.desc;
  if (l.unit_begin >= l.unit_end) return Status::ok();
  STOKER_ASSIGN(const Tensor accumulator, accumulate(desc, l.inputs, {}));
  STOKER_ASSIGN(const Epilogue e, make_epilogue(desc, l.inputs, accumulator));
  RegionInterpreter(e.program, desc.outputs[0].dims, e.inputs, desc.outputs).run(e.data.data(), l.outputs);
  return Status::ok();
}

Status launch_region(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  const auto& p = l.desc->as<RegionParams>();
  RegionInterpreter(p.program, p.extents, l.desc->inputs, l.desc->outputs).run(l.inputs, l.outputs);
  return Status::ok();
}

Status launch_copy(const Launch& l) {
  return l.unit_begin >= l.unit_end ? Status::ok() : reference_copy(*l.desc, l.inputs, l.outputs[0]);
}

Status launch_gather(const Launch& l) {
  return l.unit_begin >= l.unit_end ? Status::ok() : reference_gather(*l.desc, l.inputs, l.outputs[0]);
}

// A view of an operand's buffer. The buffer of a string tensor is its std::vector<std::string>.
TensorView buffer_view(const TensorDesc& desc, const void* data) {
  TensorView view;
  if (!desc.present()) return view;
  view.dtype = desc.dtype;
  view.shape = desc.dims;
  view.strides = dense_strides(desc.dims);
  void* memory = const_cast<void*>(data);
  if (desc.dtype == DType::kString) view.strings = static_cast<std::vector<std::string>*>(memory);
  else view.data = memory;
  return view;
}

Status launch_fallback(const Launch& l) {
  if (l.unit_begin >= l.unit_end) return Status::ok();
  const auto& p = l.desc->as<FallbackParams>();
  std::vector<TensorView> inputs, outputs;
  for (size_t k = 0; k < l.desc->inputs.size(); ++k) inputs.push_back(buffer_view(l.desc->inputs[k], l.inputs[k]));
  for (size_t k = 0; k < l.desc->outputs.size(); ++k) outputs.push_back(buffer_view(l.desc->outputs[k], l.outputs[k]));
  return evaluate(p.op, p.attributes, inputs, outputs, {});
}

Tactic reference(const char* name, Family family, Status (*supports)(const Desc&), Status (*launch)(const Launch&)) {
  Tactic tactic;
  tactic.name = name;
  tactic.family = family;
  tactic.reference = true;
  tactic.supports = supports;
  tactic.configs = one_config;
  tactic.launch = launch;
  return tactic;
}

// ---- Chosen elements.

Result<std::vector<double>> moved_elements(const Desc& desc, const void* const* inputs, std::span<const int64_t> wanted) {
  const TensorDesc& y = desc.outputs[0];
  STOKER_ASSIGN(Tensor whole, Tensor::allocate(y.dtype, {stored_count(y)}));
  STOKER_TRY(desc.family() == Family::kCopy ? reference_copy(desc, inputs, whole.data())
                                            : reference_gather(desc, inputs, whole.data()));
  const LoadDouble load = load_double(y.dtype);
  if (!load) return Status(unsupported("elements of dtype {} are not numbers", dtype_name(y.dtype)));
  std::vector<double> result;
  for (int64_t index : wanted) {
    std::vector<int64_t> at(y.dims.size());
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = index % y.dims[d];
      index /= y.dims[d];
    }
    result.push_back(load(whole.data(), element_offset(y, at)));
  }
  return result;
}

Result<std::vector<double>> fallback_elements(const Desc& desc, const void* const* inputs, int output,
                                              std::span<const int64_t> wanted) {
  const auto& p = desc.as<FallbackParams>();
  std::vector<Tensor> keep;
  std::vector<TensorView> in, out;
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    if (!is_float(desc.inputs[k].dtype)) {
      in.push_back(buffer_view(desc.inputs[k], inputs[k]));
      continue;
    }
    STOKER_ASSIGN(Tensor wide, to_f64(desc, k, inputs[k], 0));
    keep.push_back(wide);
    in.push_back(view_of(wide));
  }
  std::vector<Tensor> results;
  for (const TensorDesc& y : desc.outputs) {
    if (!y.present()) {
      results.emplace_back();
      out.emplace_back();
      continue;
    }
    STOKER_ASSIGN(Tensor wide, Tensor::allocate(is_float(y.dtype) ? DType::kF64 : y.dtype, y.dims));
    results.push_back(wide);
    out.push_back(view_of(wide));
  }
  STOKER_TRY(evaluate(p.op, p.attributes, in, out, output == 0 ? wanted : std::span<const int64_t>{}));
  const Tensor& chosen = results[static_cast<size_t>(output)];
  const LoadDouble load = load_double(chosen.dtype());
  if (!load) return Status(unsupported("elements of dtype {} are not numbers", dtype_name(chosen.dtype())));
  std::vector<double> values;
  for (const int64_t index : wanted) values.push_back(load(chosen.data(), index));
  return values;
}

}  // namespace

std::span<const Tactic> reference_tactics() {
  static const std::array<Tactic, kFamilyCount> tactics = {
      reference("gemm_reference", Family::kGemm, supports_numbers, launch_computed),
      reference("conv_reference", Family::kConv, supports_numbers, launch_computed),
      reference("region_reference", Family::kRegion, supports_region, launch_region),
      reference("pool_reference", Family::kPool, supports_numbers, launch_computed),
      reference("copy_reference", Family::kCopy, supports_moves, launch_copy),
      reference("gather_reference", Family::kGather, supports_moves, launch_gather),
      reference("fallback_reference", Family::kFallback, supports_fallback, launch_fallback),
  };
  return tactics;
}

Result<std::vector<double>> reference_elements(const Desc& desc, const void* const* inputs, int output,
                                               std::span<const int64_t> wanted) {
  if (output < 0 || static_cast<size_t>(output) >= desc.outputs.size()) {
    return Status(invalid_argument("output {} of {}", output, desc.outputs.size()));
  }
  const int64_t count = logical_count(desc.outputs[static_cast<size_t>(output)]);
  for (const int64_t index : wanted) {
    if (index < 0 || index >= count) {
      return Status(invalid_argument("element {} of an output with {} elements", index, count));
    }
  }
  switch (desc.family()) {
    case Family::kRegion: {
      const auto& p = desc.as<RegionParams>();
      return RegionInterpreter(p.program, p.extents, desc.inputs, desc.outputs).elements(inputs, output, wanted);
    }
    case Family::kCopy:
    case Family::kGather: return moved_elements(desc, inputs, wanted);
    case Family::kFallback: return fallback_elements(desc, inputs, output, wanted);
    case Family::kGemm:
    case Family::kConv:
    case Family::kPool: break;
  }
  STOKER_ASSIGN(const Tensor accumulator, accumulate(desc, inputs, wanted));
  STOKER_ASSIGN(const Epilogue e, make_epilogue(desc, inputs, accumulator));
  return RegionInterpreter(e.program, desc.outputs[0].dims, e.inputs, desc.outputs)
      .elements(e.data.data(), output, wanted);
}

}  // namespace stoker
