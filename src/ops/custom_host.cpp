// The functions that libraries of custom operators call back. Everything that they give is checked
// here: numbers of operands, element types, ranks, sizes, null pointers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "base/onnx_dtype.h"
#include "base/status.h"
#include "ops/custom_call.h"

namespace stoker {

namespace {

constexpr int32_t kMaxRank = 64;
constexpr size_t kMaxFailureText = 2000;

void note(StokerOpCall& call, Status status) {
  if (call.failure.is_ok()) call.failure = std::move(status);
}

// Runs what a library asked for: whatever is wrong is kept and fails the call.
template <class Body>
int32_t answer(StokerOpCall* call, Body body) {
  if (!call) return 0;
  try {
    Status status = body();
    const bool done = status.is_ok();
    note(*call, std::move(status));
    return done;
  } catch (const std::exception& fault) {
    note(*call, error(StatusCode::kResourceExhausted, "{}", fault.what()));
    return 0;
  }
}

int32_t input_count(const StokerOpCall* call) {
  return call ? static_cast<int32_t>(call->inputs.size()) : 0;
}

int32_t output_count(const StokerOpCall* call) {
  return call ? static_cast<int32_t>(call->outputs.size()) : 0;
}

int64_t opset_version(const StokerOpCall* call) {
  return call ? call->attributes.get_int(kCustomVersion, 1) : 0;
}

SeenTensor* input_at(StokerOpCall* call, int32_t index) {
  if (!call || index < 0 || static_cast<size_t>(index) >= call->inputs.size()) return nullptr;
  SeenTensor& tensor = call->inputs[static_cast<size_t>(index)];
  return tensor.present ? &tensor : nullptr;
}

const StokerOpTensor* input(StokerOpCall* call, int32_t index) {
  const SeenTensor* tensor = input_at(call, index);
  return tensor ? &tensor->seen : nullptr;
}

int32_t input_string(StokerOpCall* call, int32_t index, int64_t element, const char** data,
                     size_t* bytes) {
  const SeenTensor* tensor = input_at(call, index);
  if (!tensor || tensor->value.dtype() != DType::kString || !data || !bytes) return 0;
  if (element < 0 || element >= tensor->value.count()) return 0;
  const std::string& text = tensor->value.strings()[static_cast<size_t>(element)];
  *data = text.data();
  *bytes = text.size();
  return 1;
}

// The model's attribute of that name and kind; null when there is none.
template <class T>
const T* attribute(const StokerOpCall* call, const char* name) {
  if (!call || !name) return nullptr;
  const auto& all = call->attributes.all();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : std::get_if<T>(&found->second);
}

template <class T>
int32_t get_number(StokerOpCall* call, const char* name, T* value) {
  const T* found = attribute<T>(call, name);
  if (found && value) *value = *found;
  return found && value;
}

template <class T>
int32_t get_list(StokerOpCall* call, const char* name, const T** values, size_t* count) {
  const auto* found = attribute<std::vector<T>>(call, name);
  if (!found || !values || !count) return 0;
  *values = found->data();
  *count = found->size();
  return 1;
}

int32_t get_string(StokerOpCall* call, const char* name, size_t index, const char** data,
                   size_t* bytes) {
  const auto* one = attribute<std::string>(call, name);
  const auto* list = attribute<std::vector<std::string>>(call, name);
  if (one && index > 0) return 0;
  if (list && index < list->size()) one = &(*list)[index];
  if (!one || !data || !bytes) return 0;
  *data = one->data();
  *bytes = one->size();
  return 1;
}

const StokerOpTensor* get_tensor(StokerOpCall* call, const char* name) {
  const auto* found = attribute<Tensor>(call, name);
  if (!found) return nullptr;
  const StokerOpTensor* seen = nullptr;
  answer(call, [&] {
    const auto [it, fresh] = call->attribute_tensors.try_emplace(name);
    if (fresh) {
      it->second.dims = found->shape();
      it->second.value = *found;
      it->second.show(found->dtype(), true);
    }
    seen = &it->second.seen;
    return Status::ok();
  });
  return seen;
}

Result<DeclaredOutput*> output_at(StokerOpCall& call, const char* function, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= call.outputs.size()) {
    return invalid_argument("{}: output {} of {}: a defect of the library", function, index,
                            call.outputs.size());
  }
  return &call.outputs[static_cast<size_t>(index)];
}

Status check_rank(const char* function, int32_t index, int32_t rank, const int64_t* dims) {
  if (rank >= 0 && rank <= kMaxRank && (dims || rank == 0)) return Status::ok();
  return invalid_argument(
      "{}: output {} of rank {}, expected 0 to {} and its dims: a defect of "
      "the library",
      function, index, rank, kMaxRank);
}

int32_t set_output(StokerOpCall* call, int32_t index, int32_t dtype, int32_t rank,
                   const int64_t* dims) {
  return answer(call, [&]() -> Status {
    if (call->evaluating)
      return invalid_argument("set_output in evaluate: a defect of the library");
    STOKER_ASSIGN(DeclaredOutput* const output, output_at(*call, "set_output", index));
    const bool ranked = rank != STOKER_OP_UNKNOWN_RANK;
    if (ranked) STOKER_TRY(check_rank("set_output", index, rank, dims));
    const DType type = dtype_from_onnx(dtype);
    if (type == DType::kInvalid) {
      return invalid_argument(
          "set_output: output {} of element type {}, which there is not: a "
          "defect of the library",
          index, dtype);
    }
    const auto open = static_cast<int64_t>(call->open.size());
    for (int32_t d = 0; ranked && d < rank; ++d) {
      if (dims[d] >= -open || dims[d] == STOKER_OP_UNKNOWN_DIM) continue;
      return invalid_argument(
          "set_output: output {} has size {} in dimension {}, which is no "
          "size of an input: a defect of the library",
          index, dims[d], d);
    }
    output->dtype = type;
    output->ranked = ranked;
    output->dims.assign(dims, dims + (ranked ? rank : 0));
    return Status::ok();
  });
}

// The sizes are those that infer gave, where it gave numbers.
Status check_sizes(const DeclaredOutput& output, int32_t index, const Shape& shape) {
  bool fits = !output.ranked || output.dims.size() == shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) fits = false;
    if (fits && output.ranked && output.dims[d] >= 0) fits = output.dims[d] == shape[d];
  }
  if (fits) return Status::ok();
  std::string declared;
  for (const int64_t extent : output.dims) {
    declared += declared.empty() ? "" : ",";
    declared += extent < 0 ? std::string("?") : std::to_string(extent);
  }
  return invalid_argument(
      "make_output: output {} has shape {}, infer said [{}]: a defect of the "
      "library",
      index, shape_text(shape), declared);
}

int32_t make_output(StokerOpCall* call, int32_t index, int32_t rank, const int64_t* dims,
                    void** data) {
  return answer(call, [&]() -> Status {
    if (!call->evaluating) return invalid_argument("make_output in infer: a defect of the library");
    STOKER_ASSIGN(DeclaredOutput* const output, output_at(*call, "make_output", index));
    STOKER_TRY(check_rank("make_output", index, rank, dims));
    if (output->made.defined() || !data) {
      return invalid_argument(
          "make_output: output {} is made twice, or nowhere: a defect of the "
          "library",
          index);
    }
    Shape shape(dims, dims + rank);
    STOKER_TRY(check_sizes(*output, index, shape));
    STOKER_ASSIGN(output->made, Tensor::allocate(output->dtype, std::move(shape)));
    *data = output->dtype == DType::kString ? nullptr : output->made.data();
    return Status::ok();
  });
}

int32_t set_string(StokerOpCall* call, int32_t index, int64_t element, const char* data,
                   size_t bytes) {
  return answer(call, [&]() -> Status {
    STOKER_ASSIGN(DeclaredOutput* const output, output_at(*call, "set_string", index));
    Tensor& tensor = output->made;
    if (tensor.dtype() != DType::kString || element < 0 || element >= tensor.count() ||
        (!data && bytes > 0)) {
      return invalid_argument("set_string: element {} of output {}: a defect of the library",
                              element, index);
    }
    tensor.strings()[static_cast<size_t>(element)].assign(data ? data : "", bytes);
    return Status::ok();
  });
}

int32_t fail(StokerOpCall* call, const char* text) {
  answer(call, [&]() -> Status {
    std::string reason(text ? text : "no reason given",
                       text ? ::strnlen(text, kMaxFailureText) : std::strlen("no reason given"));
    for (char& c : reason) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return Status(call->evaluating ? StatusCode::kInvalidArgument : StatusCode::kInvalidModel,
                  reason);
  });
  return 1;
}

}  // namespace

const StokerOpHost kCustomHost = {
    .input_count = input_count,
    .output_count = output_count,
    .opset_version = opset_version,
    .input = input,
    .input_string = input_string,
    .get_int = get_number<int64_t>,
    .get_float = get_number<double>,
    .get_ints = get_list<int64_t>,
    .get_floats = get_list<double>,
    .get_string = get_string,
    .get_tensor = get_tensor,
    .set_output = set_output,
    .make_output = make_output,
    .set_string = set_string,
    .fail = fail,
};

void SeenTensor::show(DType dtype, bool ranked) {
  present = true;
  seen.dtype = onnx_number(dtype);
  seen.rank = ranked ? static_cast<int32_t>(dims.size()) : STOKER_OP_UNKNOWN_RANK;
  seen.dims = dims.data();
  const bool readable = value.defined() && dtype != DType::kString;
  seen.data = readable ? value.data() : nullptr;
}

}  // namespace stoker
