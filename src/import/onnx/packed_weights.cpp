// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/packed_weights.h"

#include <algorithm>

#include "base/numeric.h"
#include "base/status.h"

namespace stoker {

namespace {

// The tensor's rows, which fill whole bytes, as elements of another dtype; shares the storage where
// no row ends in padding.
Result<Tensor> narrow_tensor(const Tensor& bytes, DType dtype, int64_t count) {
  if (bytes.dtype() != DType::kU8 || bytes.rank() < 1) {
    return invalid_model("packed elements: expected bytes (u8), found {} of shape {}",
                         dtype_name(bytes.dtype()), shape_text(bytes.shape()));
  }
  const int64_t per_byte = 8 / dtype_bits(dtype), row = bytes.shape().back();
  Shape shape = bytes.shape();
  shape.back() = count;
  if ((count + per_byte - 1) / per_byte != row) {
    return invalid_model("packed elements: expected rows of {} bytes for {} elements, found {}",
                         (count + per_byte - 1) / per_byte, count, row);
  }
  if (count % per_byte == 0) {
    auto keep = std::make_shared<Tensor>(bytes);
    return Tensor::wrap(dtype, std::move(shape), keep->data(), keep);
  }
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, std::move(shape)));
  const LoadInt load = load_int(dtype);
  const StoreInt store = store_int(dtype);
  const int64_t rows = row == 0 ? 0 : bytes.count() / row;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < count; ++i) {
      store(tensor.data(), r * count + i, load(bytes.data(), r * row * per_byte + i));
    }
  }
  return tensor;
}

}  // namespace

Result<DType> packed_dtype(int64_t bits) {
  if (bits == 2) return DType::kU2;
  if (bits == 4) return DType::kU4;
  if (bits == 8) return DType::kU8;
  return unsupported("weights of {} bits, expected 2, 4 or 8", bits);
}

Value* reshape_weight(Composer& c, Value* value, const Shape& shape, const char* role) {
  if (!c.ok() || !value->is_constant()) return c.reshape(value, shape, role);
  if (value->constant->shape() == shape) return value;
  const auto count = element_count(shape);
  if (!count.is_ok() || *count != value->constant->count()) {
    c.fail(invalid_model("{}: expected the elements of {}, found {}", role, shape_text(shape),
                         type_text(value->type)));
    return nullptr;
  }
  return c.constant(value->constant->reshaped(shape), role);
}

Value* unpack_bits(Composer& c, Value* bytes, int64_t bits, int64_t count, BitOrder order) {
  const int64_t rank = c.rank(bytes, "packed elements"), per_byte = 8 / bits;
  if (!c.ok() || per_byte == 1) return bytes;
  Value* mask = c.scalar(DType::kU8, static_cast<double>((1 << bits) - 1), "mask");
  std::vector<Value*> parts;
  for (int64_t i = 0; i < per_byte; ++i) {
    const int64_t shift = bits * (order == BitOrder::kLowFirst ? i : per_byte - 1 - i);
    Value* part = bytes;
    if (shift > 0) {
      part = c.op("bit_shift", {bytes, c.scalar(DType::kU8, static_cast<double>(shift), "shift")},
                  {{"direction", std::string("RIGHT")}});
    }
    part = c.op("bitwise_and", {part, mask});
    parts.push_back(c.unsqueeze(part, {rank}, "element_axis"));
  }
  Value* elements = c.op("concat", std::move(parts), {{"axis", rank}});
  // The last two axes become one; 0 copies an extent.
  std::vector<int64_t> shape(static_cast<size_t>(rank), 0);
  shape.back() = -1;
  return c.slice(c.reshape(elements, shape, "elements"), rank - 1, 0, count, "elements");
}

void unpack_together(Composer& c, int64_t bits, std::vector<Value*>& values,
                     const std::vector<int64_t>& counts) {
  const auto dtype = packed_dtype(bits);
  if (!dtype.is_ok()) c.fail(dtype.status());
  if (!c.ok() || bits == 8) return;
  const bool known = std::all_of(values.begin(), values.end(),
                                 [](const Value* v) { return !v || v->is_constant(); });
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    values[i] = known ? c.constant(narrow_tensor(*values[i]->constant, *dtype, counts[i]), "packed")
                      : unpack_bits(c, values[i], bits, counts[i]);
  }
}

Value* dequantize_blocks(Composer& c, const Blocks& blocks) {
  std::vector<Value*> inputs = {blocks.q, blocks.scale};
  if (blocks.zeros) {
    inputs.push_back(blocks.zeros);
  } else if (blocks.zero != 0) {
    inputs.push_back(c.scalar(c.dtype(blocks.q), blocks.zero, "zero"));
  }
  return c.op("dequantize_linear", std::move(inputs),
              {{"axis", blocks.axis}, {"block_size", blocks.block}});
}

}  // namespace stoker
