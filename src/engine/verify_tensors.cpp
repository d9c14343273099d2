// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "engine/verify_internal.h"

namespace stoker::engine {
namespace {

using Kind = PlanTensor::Kind;

constexpr size_t kMaxRank = 8;  // of what kernels see
constexpr size_t kMaxDynamicRank = 64;
constexpr size_t kMaxShapeElements = 65536;

Status check_dims(const Dims& dims, const SymbolNames& symbols, const char* what) {
  for (const Dim& dim : dims) {
    if (dim.is_const()) {
      if (dim.value() < 0) return corrupt_file("{} {} is negative", what, dim.value());
      continue;
    }
    std::vector<std::string> used;
    dim.collect_symbols(used);
    for (const std::string& name : used) {
      if (!symbols.contains(name))
        return corrupt_file("{} {} uses the unknown symbol {}", what, dim.text(), name);
    }
  }
  return Status::ok();
}

Status check_weight_tensor(const EngineContents& contents, const PlanTensor& tensor) {
  if (tensor.weight < 0 || static_cast<size_t>(tensor.weight) >= contents.weights.size()) {
    return corrupt_file("names weight {} of {}", tensor.weight, contents.weights.size());
  }
  const PlanWeight& weight = contents.weights[static_cast<size_t>(tensor.weight)];
  const auto dims = constant_dims(tensor.dims);
  if (tensor.dtype == weight.dtype && dims && *dims == weight.shape) return Status::ok();
  return corrupt_file("is {}{}, its weight {} is {}{}", dtype_name(tensor.dtype),
                      dims_text(tensor.dims), weight.name, dtype_name(weight.dtype),
                      shape_text(weight.shape));
}

Status check_shape_value(const PlanTensor& tensor) {
  const bool counts = is_integer(tensor.dtype) || tensor.dtype == DType::kBool;
  if (!counts || dtype_bits(tensor.dtype) < 8) {
    return corrupt_file("is a shape value of {}, expected whole-byte integers",
                        dtype_name(tensor.dtype));
  }
  // Symbolic extents are compared at bind.
  const auto dims = constant_dims(tensor.dims);
  const Result<int64_t> count = element_count(dims.value_or(std::vector<int64_t>{}));
  const bool agrees =
      !dims || (count.is_ok() && *count == static_cast<int64_t>(tensor.elements.size()));
  if (agrees && tensor.dims.size() <= 1 && tensor.elements.size() <= kMaxShapeElements)
    return Status::ok();
  return corrupt_file("is a shape value of shape {} with {} elements", dims_text(tensor.dims),
                      tensor.elements.size());
}

Status check_alias(const PlanProgram& program, size_t index) {
  const PlanTensor& tensor = program.tensors[index];
  if (tensor.alias_of == -1) return Status::ok();
  if (tensor.alias_of < 0 || static_cast<size_t>(tensor.alias_of) >= index) {
    return corrupt_file("is an alias of tensor {}, expected an earlier one than {}",
                        tensor.alias_of, index);
  }
  const PlanTensor& target = program.tensors[static_cast<size_t>(tensor.alias_of)];
  const bool states = tensor.kind == Kind::kState && target.kind == Kind::kState;
  const bool movable = tensor.kind == Kind::kTemporary &&
                       (target.kind == Kind::kTemporary || target.kind == Kind::kInput ||
                        target.kind == Kind::kOutput);
  if ((!movable && !states) || target.alias_of != -1) {
    return corrupt_file(
        "may not be an alias of {}: only temporaries may, of tensors with memory of their own",
        target.name);
  }
  if (tensor.dtype != target.dtype || tensor.dtype == DType::kString) {
    return corrupt_file("of {} is an alias of {} of {}", dtype_name(tensor.dtype), target.name,
                        dtype_name(target.dtype));
  }
  if (tensor.layout != target.layout ||
      (tensor.layout != Layout::kPlain && tensor.dims != target.dims)) {
    return corrupt_file("is an alias of {} in another layout", target.name);
  }
  if (!(tensor.place == target.place))
    return corrupt_file("is an alias of {} in another place", target.name);
  const auto dims = constant_dims(tensor.dims), target_dims = constant_dims(target.dims);
  if (dims && target_dims) {
    const Result<int64_t> count = element_count(*dims), target_count = element_count(*target_dims);
    if (!count.is_ok() || !target_count.is_ok() || *count != *target_count) {
      return corrupt_file("of shape {} is an alias of {} of shape {}", dims_text(tensor.dims),
                          target.name, dims_text(target.dims));
    }
  }
  return Status::ok();
}

Status check_tensor(const EngineContents& contents, const PlanProgram& program, size_t index,
                    const SymbolNames& symbols) {
  const PlanTensor& tensor = program.tensors[index];
  if (tensor.kind > Kind::kState || tensor.layout > Layout::kC16 ||
      tensor.place.kind > Place::Kind::kNull || tensor.place.index < 0) {
    return corrupt_file("has kind {}, layout {}, place {}", static_cast<int>(tensor.kind),
                        static_cast<int>(tensor.layout), place_text(tensor.place));
  }
  if (tensor.dtype == DType::kInvalid || static_cast<int>(tensor.dtype) >= kDTypeCount) {
    return corrupt_file("has dtype {}", static_cast<int>(tensor.dtype));
  }
  const bool is_static = program.kind == PlanProgram::Kind::kStatic;
  const size_t max_rank = is_static ? kMaxRank : kMaxDynamicRank;
  if (tensor.dims.size() > max_rank)
    return corrupt_file("has rank {}, at most {}", tensor.dims.size(), max_rank);
  if (is_static && (tensor.holds != PlanTensor::Holds::kTensor || !tensor.ranked)) {
    return corrupt_file("holds no ranked tensor, in a static program");
  }
  if (!is_static && (tensor.alias_of != -1 || tensor.layout != Layout::kPlain ||
                     tensor.kind == Kind::kOutput || tensor.kind == Kind::kState)) {
    return corrupt_file("is a view, blocked, an output or a state, in a dynamic program");
  }
  STOKER_TRY(check_dims(tensor.dims, symbols, "extent"));
  if (tensor.layout == Layout::kC16 && tensor.kind != Kind::kTemporary) {
    return corrupt_file("is in layout c16; only temporaries may be");
  }
  if (tensor.kind != Kind::kWeight && tensor.weight != -1)
    return corrupt_file("names a weight and is none");
  if (tensor.kind != Kind::kShapeValue && !tensor.elements.empty()) {
    return corrupt_file("has elements and is no shape value");
  }
  if (tensor.kind == Kind::kWeight) STOKER_TRY(check_weight_tensor(contents, tensor));
  if (tensor.kind == Kind::kShapeValue) {
    STOKER_TRY(check_shape_value(tensor));
    for (const Dim& element : tensor.elements) {
      // Elements are values, so a negative number is fine here.
      if (!element.is_const()) STOKER_TRY(check_dims({element}, symbols, "element"));
    }
  }
  return check_alias(program, index);
}

Status check_step_dims(const PlanProgram& program, const SymbolNames& symbols) {
  for (const PlanStep& step : program.steps) {
    STOKER_TRY(check_dims(step.param_dims, symbols, "parameter").at("step " + step.name));
  }
  return Status::ok();
}

}  // namespace

Status verify_tensors(const EngineContents& contents, const PlanProgram& program,
                      const SymbolNames& symbols) {
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    STOKER_TRY(check_tensor(contents, program, i, symbols)
                   .at(fmt::format("tensor {} {}", i, program.tensors[i].name)));
  }
  return check_step_dims(program, symbols);
}

TensorDesc operand_desc(const EngineContents& contents, const PlanProgram& program, int32_t index) {
  TensorDesc desc;
  if (index < 0) return desc;
  const PlanTensor& tensor = program.tensors[static_cast<size_t>(index)];
  desc.dtype = tensor.dtype;
  for (const Dim& dim : tensor.dims) desc.dims.push_back(dim.constant().value_or(-1));
  desc.layout = tensor.layout;
  if (tensor.kind == Kind::kWeight) {
    desc.packing = contents.weights[static_cast<size_t>(tensor.weight)].packing;
  }
  desc.constant = tensor.kind == Kind::kWeight;
  return desc;
}

}  // namespace stoker::engine
