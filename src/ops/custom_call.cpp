// SPDX-License-Identifier: Apache-2.0
#include "ops/custom_call.h"

#include <algorithm>
#include <exception>

#include "base/numeric.h"
#include "base/status.h"

namespace stoker {

namespace {

constexpr int64_t kMaxKnownElements = 4096;

Status run(StokerOpCall& call, StokerOpCallback callback, const char* what) {
  int32_t code = 0;
  try {
    code = callback(&kCustomHost, &call);
  } catch (const std::exception& fault) {
    return invalid_argument("{} threw an exception, which it must not: {}", what, fault.what());
  } catch (...) {
    return invalid_argument("{} threw an exception, which it must not", what);
  }
  if (!call.failure.is_ok()) return call.failure.at(what);
  if (code != 0) return invalid_argument("{}: failed with code {} and no text", what, code);
  return Status::ok();
}

// Sizes that are no numbers become negative ones, equal sizes the same.
int64_t size_of(StokerOpCall& call, const Dim& dim) {
  if (dim.is_const()) return dim.value();
  const auto found = std::find(call.open.begin(), call.open.end(), dim);
  const int64_t index = found - call.open.begin();
  if (found == call.open.end()) call.open.push_back(dim);
  return -(index + 1);
}

// The value of a small integer input whose elements are known as numbers.
Result<Tensor> known_value(const InferContext& c, size_t i) {
  if (c.inputs[i].constant) return *c.inputs[i].constant;
  const ValueType& type = c.type(i);
  const auto shape = type.ranked ? constant_dims(type.dims) : std::nullopt;
  const auto elements = c.inputs[i].elements ? c.constant_ints(i) : std::nullopt;
  if (!shape || !elements || !is_integer(type.dtype)) return Tensor();
  STOKER_ASSIGN(const int64_t count, element_count(*shape));
  if (count > kMaxKnownElements || count != static_cast<int64_t>(elements->size())) return Tensor();
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(type.dtype, *shape));
  const StoreInt store = store_int(type.dtype);
  for (int64_t k = 0; k < count; ++k) store(tensor.data(), k, (*elements)[static_cast<size_t>(k)]);
  return tensor;
}

Status see_inputs(StokerOpCall& call, const InferContext& c) {
  call.inputs.resize(c.inputs.size());
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.has(i)) continue;
    const ValueType& type = c.type(i);
    if (type.kind != ValueType::Kind::kTensor)
      return unsupported("input {} is {}; custom operators take tensors only", i, type_text(type));
    SeenTensor& tensor = call.inputs[i];
    for (const Dim& dim : type.dims) tensor.dims.push_back(size_of(call, dim));
    STOKER_ASSIGN(tensor.value, known_value(c, i));
    tensor.show(type.dtype, type.ranked);
  }
  return Status::ok();
}

Status check_declared(const StokerOpCall& call) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].dtype == DType::kInvalid)
      return invalid_argument("infer: does not set output {}: a defect of the library", i);
  }
  return Status::ok();
}

// Bytes of bools other than 0 and 1, and bits behind the last packed element, mean nothing.
void normalize(Tensor& tensor) {
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  if (tensor.dtype() == DType::kBool) {
    for (int64_t i = 0; i < tensor.bytes(); ++i) bytes[i] = bytes[i] != 0;
  }
  const int bits = dtype_bits(tensor.dtype());
  const auto used = bits > 0 && bits < 8 ? static_cast<int>(tensor.count() * bits % 8) : 0;
  if (used) bytes[tensor.bytes() - 1] &= static_cast<unsigned char>((1 << used) - 1);
}

}  // namespace

Status call_infer(const CustomOp& op, InferContext& context) {
  StokerOpCall call{.attributes = context.attributes};
  call.outputs.resize(context.outputs.size());
  STOKER_TRY(see_inputs(call, context));
  STOKER_TRY(run(call, op.infer, "infer"));
  STOKER_TRY(check_declared(call));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const DeclaredOutput& output = call.outputs[i];
    if (!output.ranked) {
      context.outputs[i] = ValueType::unranked(output.dtype);
      continue;
    }
    Dims dims;
    for (const int64_t extent : output.dims) {
      if (extent == STOKER_OP_UNKNOWN_DIM) {
        dims.push_back(context.fresh());
      } else {
        dims.push_back(extent >= 0 ? Dim(extent) : call.open[static_cast<size_t>(-(extent + 1))]);
      }
    }
    context.outputs[i] = ValueType::tensor(output.dtype, std::move(dims));
  }
  return Status::ok();
}

Status call_evaluate(const CustomOp& op, ValueContext& context) {
  StokerOpCall call{.attributes = context.attributes};
  call.outputs.resize(context.outputs.size());
  call.inputs.resize(context.inputs.size());
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    if (!context.inputs[i].is_tensor())
      return unsupported("input {} is no tensor; custom operators take tensors only", i);
    SeenTensor& tensor = call.inputs[i];
    tensor.value = context.tensor(i);
    tensor.dims = tensor.value.shape();
    tensor.show(tensor.value.dtype(), true);
  }
  STOKER_TRY(run(call, op.infer, "infer"));
  STOKER_TRY(check_declared(call));
  call.evaluating = true;
  STOKER_TRY(run(call, op.evaluate, "evaluate"));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].made.defined())
      return invalid_argument("evaluate: does not make output {}: a defect of the library", i);
    normalize(call.outputs[i].made);
    context.outputs[i] = std::move(call.outputs[i].made);
  }
  return Status::ok();
}

}  // namespace stoker
