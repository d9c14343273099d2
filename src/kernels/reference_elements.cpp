// The oracle by elements.
// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"
#include "kernels/desc/attention.h"
#include "kernels/desc/recurrent.h"
#include "kernels/reference.h"
#include "kernels/reference_move.h"
#include "kernels/reference_parts.h"
#include "kernels/reference_resize.h"
#include "kernels/region_interpreter.h"
#include "ops/op.h"

namespace stoker {
namespace {

Result<std::vector<double>> moved_elements(const Desc& desc, const void* const* inputs,
                                           std::span<const int64_t> wanted) {
  const TensorDesc& y = desc.outputs[0];
  STOKER_ASSIGN(Tensor whole, Tensor::allocate(y.dtype, {stored_count(y)}));
  STOKER_TRY(desc.family() == Family::kCopy ? reference_copy(desc, inputs, whole.data())
                                            : reference_gather(desc, inputs, whole.data()));
  const LoadDouble load = load_double(y.dtype);
  if (!load)
    return Status(unsupported("elements of dtype {} are not numbers", dtype_name(y.dtype)));
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

Result<std::vector<double>> op_elements(const Desc& desc, const FallbackParams& p,
                                        const void* const* inputs, int output,
                                        std::span<const int64_t> wanted) {
  std::vector<Tensor> keep;
  std::vector<TensorView> in, out;
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    if (!is_float(desc.inputs[k].dtype)) {
      in.push_back(buffer_view(desc.inputs[k], inputs[k]));
      continue;
    }
    STOKER_ASSIGN(Tensor wide, operand_to_f64(desc, k, inputs[k], 0));
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
  STOKER_TRY(evaluate_reference(p.op, p.attributes, in, out,
                                output == 0 ? wanted : std::span<const int64_t>{}));
  const Tensor& chosen = results[static_cast<size_t>(output)];
  const LoadDouble load = load_double(chosen.dtype());
  if (!load)
    return Status(unsupported("elements of dtype {} are not numbers", dtype_name(chosen.dtype())));
  std::vector<double> values;
  for (const int64_t index : wanted) values.push_back(load(chosen.data(), index));
  return values;
}

}  // namespace

Result<std::vector<double>> reference_elements(const Desc& desc, const void* const* inputs,
                                               int output, std::span<const int64_t> wanted,
                                               double* slack) {
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
      return RegionInterpreter(p.program, p.extents, desc.inputs, desc.outputs)
          .elements(inputs, output, wanted, slack);
    }
    case Family::kCopy:
    case Family::kGather: return moved_elements(desc, inputs, wanted);
    case Family::kFallback:
      return op_elements(desc, desc.as<FallbackParams>(), inputs, output, wanted);
    case Family::kAttention:
      return op_elements(desc, attention_call(desc.as<AttentionParams>()), inputs, output, wanted);
    case Family::kRecurrent: {
      STOKER_ASSIGN(const PlainRecurrent plain, plain_recurrent(desc, inputs));
      return op_elements(plain.desc, recurrent_call(desc.as<RecurrentParams>()),
                         plain.inputs.data(), output, wanted);
    }
    case Family::kResize: return resized_elements(desc, inputs[0], wanted);
    case Family::kGemm:
    case Family::kConv:
    case Family::kPool: break;
  }
  STOKER_ASSIGN(const Tensor accumulator, reference_accumulate(desc, inputs, wanted));
  STOKER_ASSIGN(const ReferenceEpilogue e, reference_epilogue(desc, inputs, accumulator));
  return RegionInterpreter(e.program, desc.outputs[0].dims, e.inputs, desc.outputs)
      .elements(e.data.data(), output, wanted, slack);
}

}  // namespace stoker
