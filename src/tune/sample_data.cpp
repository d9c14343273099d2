// SPDX-License-Identifier: Apache-2.0
#include "tune/sample_data.h"

#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "kernels/desc/recurrent.h"

namespace stoker {
namespace {

// splitmix64 (Steele, Lea, Flood, 2014): a counter-based generator, the same on every machine.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Indices of a gather lie below the rows of its table, lengths of sequences up to the steps there
// are; 0: no such operand.
int64_t index_limit(const Desc& desc, size_t input) {
  if (desc.family() == Family::kRecurrent && input == kLengths)
    return recurrent_extents(desc).steps + 1;
  if (desc.family() != Family::kGather || input != 1) return 0;
  const auto axis = static_cast<size_t>(desc.as<GatherParams>().axis);
  return desc.inputs[0].dims[axis];
}

// Weights of a recurrent layer as training leaves them: with larger ones states are chaotic, and
// roundings grow from step to step.
double magnitude(const Desc& desc, size_t input) {
  if (desc.family() != Family::kRecurrent) return 1;
  const bool scale = input == kInputScale || input == kStateScale;
  const size_t weight = input == kInputScale ? 1 : input == kStateScale ? 2 : input;
  if (weight != 1 && weight != 2) return 1;
  const double columns = std::max<double>(1, static_cast<double>(desc.inputs[weight].dims[2]));
  return (scale ? 1.0 / 128 : 1) / std::sqrt(columns);
}

void scale_f32(Tensor& tensor, double factor) {
  if (factor == 1 || tensor.dtype() != DType::kF32) return;
  for (float& value : tensor.values<float>()) value *= static_cast<float>(factor);
}

}  // namespace

Result<Tensor> sample_tensor(DType dtype, const Shape& shape, uint64_t seed, int64_t limit) {
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape));
  if (dtype == DType::kString) return tensor;
  const StoreDouble store = store_double(dtype);
  const StoreInt store_integer = store_int(dtype);
  if (!store) return unsupported("sample data of {}", dtype_name(dtype));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t bits = mix(seed * 0x100000001b3ull + static_cast<uint64_t>(i));
    if (is_float(dtype)) {
      store(tensor.data(), i,
            static_cast<double>(static_cast<int64_t>(bits >> 40)) / (1 << 23) - 1.0);
    } else if (limit > 0) {
      store_integer(tensor.data(), i, static_cast<int64_t>(bits % static_cast<uint64_t>(limit)));
    } else if (dtype_bits(dtype) == 8 && dtype != DType::kBool) {
      const int64_t low = integer_min(dtype);
      store_integer(tensor.data(), i, low + static_cast<int64_t>(bits & 0xff));
    } else {
      store_integer(tensor.data(), i, static_cast<int64_t>(bits >> 63));
    }
  }
  return tensor;
}

int64_t stored_position(const TensorDesc& desc, int64_t element) {
  if (desc.layout == Layout::kPlain) return element;
  int64_t spatial = 1;
  for (size_t d = 2; d < desc.dims.size(); ++d) spatial *= desc.dims[d];
  const int64_t channels = desc.dims[1], blocks = (channels + kLaneCount - 1) / kLaneCount;
  const int64_t position = element % spatial, channel = element / spatial % channels,
                n = element / spatial / channels;
  return ((n * blocks + channel / kLaneCount) * spatial + position) * kLaneCount +
         channel % kLaneCount;
}

Result<std::vector<Tensor>> sample_inputs(const Desc& desc, uint64_t seed) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    const TensorDesc& operand = desc.inputs[i];
    if (!operand.present()) {
      tensors.emplace_back();
      continue;
    }
    STOKER_ASSIGN(Tensor plain, sample_tensor(operand.dtype, operand.dims, seed + i * 7919,
                                              index_limit(desc, i)));
    scale_f32(plain, magnitude(desc, i));
    if (operand.layout == Layout::kPlain || operand.constant) {
      tensors.push_back(std::move(plain));
      continue;
    }
    STOKER_ASSIGN(Tensor stored, Tensor::allocate(operand.dtype, {stored_count(operand)}));
    const int64_t bytes = dtype_bits(operand.dtype) / 8;
    for (int64_t e = 0; e < plain.count(); ++e) {
      std::copy_n(static_cast<const std::byte*>(plain.data()) + e * bytes, bytes,
                  static_cast<std::byte*>(stored.data()) + stored_position(operand, e) * bytes);
    }
    tensors.push_back(std::move(stored));
  }
  return tensors;
}

}  // namespace stoker
