// Decoding of TensorProto: raw bytes, typed fields, external and sparse data, for every dtype.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/tensor_proto.h"

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/status.h"
#include "import/onnx/external_data.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

constexpr size_t kMaxRank = 64;

Result<int64_t> parse_number(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < 0) {
    return invalid_model("external data: expected a non-negative number as {}, found '{}'", key,
                         text);
  }
  return value;
}

Result<ExternalRange> external_range(const onnx::TensorProto& proto) {
  ExternalRange range;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") range.location = entry.value();
    if (entry.key() == "offset") {
      STOKER_ASSIGN(range.offset, parse_number("offset", entry.value()));
    }
    if (entry.key() == "length") {
      STOKER_ASSIGN(range.length, parse_number("length", entry.value()));
    }
  }
  return range;
}

// One typed field whose entries each give the low `size` bytes of an element (or of a packed byte).
template <class Field>
Status copy_field(const Field& field, const char* name, int64_t size, Tensor& tensor) {
  const int64_t expected = tensor.bytes() / size;
  if (field.size() != expected) {
    return invalid_model("expected {} entries of {} for {}{}, found {}", expected, name,
                         dtype_name(tensor.dtype()), shape_text(tensor.shape()), field.size());
  }
  auto* out = static_cast<char*>(tensor.data());
  for (int64_t i = 0; i < expected; ++i) {
    const auto value = field[static_cast<int>(i)];
    std::memcpy(out + i * size, &value, static_cast<size_t>(size));  // little endian hosts only
  }
  return Status::ok();
}

Status copy_typed(const onnx::TensorProto& proto, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
    case DType::kC64: return copy_field(proto.float_data(), "float_data", 4, tensor);
    case DType::kF64:
    case DType::kC128: return copy_field(proto.double_data(), "double_data", 8, tensor);
    case DType::kI64: return copy_field(proto.int64_data(), "int64_data", 8, tensor);
    case DType::kU64: return copy_field(proto.uint64_data(), "uint64_data", 8, tensor);
    case DType::kU32: return copy_field(proto.uint64_data(), "uint64_data", 4, tensor);
    default: break;
  }
  // Everything else travels in int32_data; packed types one byte an entry.
  const int64_t size = std::max(1, dtype_bits(tensor.dtype()) / 8);
  return copy_field(proto.int32_data(), "int32_data", size, tensor);
}

bool has_no_data(const onnx::TensorProto& proto) {
  return !proto.has_raw_data() && proto.float_data_size() == 0 && proto.double_data_size() == 0 &&
         proto.int32_data_size() == 0 && proto.int64_data_size() == 0 &&
         proto.uint64_data_size() == 0 && proto.string_data_size() == 0;
}

Result<Tensor> string_tensor(const onnx::TensorProto& proto, Shape shape, int64_t count) {
  if (proto.string_data_size() != count) {
    return invalid_model("expected {} entries of string_data for string{}, found {}", count,
                         shape_text(shape), proto.string_data_size());
  }
  return Tensor::from_strings(std::move(shape),
                              {proto.string_data().begin(), proto.string_data().end()});
}

// Packed and bool bytes outside their range would make equal tensors differ.
void normalize(Tensor& tensor) {
  if (tensor.dtype() == DType::kBool) {
    auto* bytes = static_cast<unsigned char*>(tensor.data());
    for (int64_t i = 0; i < tensor.bytes(); ++i) bytes[i] = bytes[i] != 0;
    return;
  }
  const int bits = dtype_bits(tensor.dtype());
  if (bits >= 8 || bits == 0 || tensor.bytes() == 0) return;
  const int used = static_cast<int>(tensor.count() * bits % 8);
  if (used) {
    static_cast<unsigned char*>(tensor.data())[tensor.bytes() - 1] &=
        static_cast<unsigned char>((1 << used) - 1);
  }
}

Result<Shape> checked_shape(const google::protobuf::RepeatedField<int64_t>& dims) {
  if (static_cast<size_t>(dims.size()) > kMaxRank) {
    return invalid_model("expected at most {} dimensions, found {}", kMaxRank, dims.size());
  }
  Shape shape(dims.begin(), dims.end());
  if (const auto count = element_count(shape); !count.is_ok()) {
    return invalid_model("bad shape {}: {}", shape_text(shape), count.status().message());
  }
  return shape;
}

}  // namespace

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const TensorSource& source) {
  const DType dtype = dtype_from_onnx(proto.data_type());
  if (dtype == DType::kInvalid) {
    return invalid_model("expected an element type that ONNX defines, found {}", proto.data_type());
  }
  if (proto.has_segment()) return unsupported("tensors stored in segments");
  STOKER_ASSIGN(Shape shape, checked_shape(proto.dims()));
  const int64_t count = *element_count(shape);
  if (dtype == DType::kString) return string_tensor(proto, std::move(shape), count);
  const auto bytes = byte_size(dtype, count);
  if (!bytes.is_ok() || *bytes > source.max_bytes) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("{}{} needs more than the limit of {} bytes for constants",
                              dtype_name(dtype), shape_text(shape), source.max_bytes));
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    STOKER_ASSIGN(const ExternalRange range, external_range(proto));
    STOKER_ASSIGN(const ExternalFile file, ExternalFile::open(source.folder, range, *bytes));
    STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, std::move(shape)));
    STOKER_TRY(file.read(tensor.data(), *bytes));
    normalize(tensor);
    return tensor;
  }
  if (proto.has_raw_data() && static_cast<int64_t>(proto.raw_data().size()) != *bytes) {
    return invalid_model("expected {} bytes of raw_data for {}{}, found {}", *bytes,
                         dtype_name(dtype), shape_text(shape), proto.raw_data().size());
  }
  if (count > 0 && has_no_data(proto)) {
    return invalid_model("expected {} bytes of data for {}{}, found none", *bytes,
                         dtype_name(dtype), shape_text(shape));
  }
  // The data is in memory already and fits typed fields of at least a byte an entry, so a shape
  // that promises more cannot make us allocate more than a small multiple of the file.
  if (!proto.has_raw_data()) {
    const int64_t entries = int64_t{proto.float_data_size()} + proto.double_data_size() +
                            proto.int32_data_size() + proto.int64_data_size() +
                            proto.uint64_data_size();
    if (*bytes > entries * 8) {
      return invalid_model("expected {} elements for {}{}, found {}", count, dtype_name(dtype),
                           shape_text(shape), entries);
    }
  }
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, std::move(shape)));
  if (proto.has_raw_data()) {
    if (*bytes > 0)
      std::memcpy(tensor.data(), proto.raw_data().data(), static_cast<size_t>(*bytes));
  } else {
    STOKER_TRY(copy_typed(proto, tensor));
  }
  normalize(tensor);
  return tensor;
}

Result<Tensor> tensor_from_sparse(const onnx::SparseTensorProto& proto,
                                  const TensorSource& source) {
  STOKER_ASSIGN(const Tensor values, tensor_from_proto(proto.values(), source));
  STOKER_ASSIGN(const Tensor indices, tensor_from_proto(proto.indices(), source));
  STOKER_ASSIGN(Shape shape, checked_shape(proto.dims()));
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t listed = values.count();
  const bool flat = indices.rank() == 1;
  if (values.rank() != 1 || indices.dtype() != DType::kI64 || dtype_bits(values.dtype()) < 8 ||
      indices.count() != (flat ? listed : listed * rank) ||
      (!flat && (indices.rank() != 2 || indices.shape()[1] != rank))) {
    return invalid_model(
        "sparse tensor: expected values of rank 1 with {} i64 indices, found values {} "
        "and indices {}",
        listed, shape_text(values.shape()), shape_text(indices.shape()));
  }
  const auto bytes = byte_size(values.dtype(), *element_count(shape));
  if (!bytes.is_ok() || *bytes > source.max_bytes) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("sparse tensor {} needs more than the limit of {} bytes for constants",
                    shape_text(shape), source.max_bytes));
  }
  STOKER_ASSIGN(Tensor dense, Tensor::allocate(values.dtype(), shape));
  const int64_t size = dtype_bits(values.dtype()) / 8;
  const auto index = indices.values<int64_t>();
  for (int64_t i = 0; i < listed; ++i) {
    int64_t position = flat ? index[static_cast<size_t>(i)] : 0;
    bool inside = position >= 0 && position < dense.count();
    for (int64_t axis = 0; axis < rank && !flat; ++axis) {
      const int64_t at = index[static_cast<size_t>(i * rank + axis)];
      inside = inside && at >= 0 && at < shape[static_cast<size_t>(axis)];
      if (inside) position = position * shape[static_cast<size_t>(axis)] + at;
    }
    if (!inside) {
      return invalid_model("sparse tensor: the index of element {} lies outside {}", i,
                           shape_text(shape));
    }
    std::memcpy(static_cast<char*>(dense.data()) + position * size,
                static_cast<const char*>(values.data()) + i * size, static_cast<size_t>(size));
  }
  return dense;
}

namespace {

constexpr int kMaxValueNesting = 16;

Result<AnyValue> value_from_sequence(const onnx::SequenceProto& proto, int depth);

Result<AnyValue> value_from_optional(const onnx::OptionalProto& proto, int depth) {
  if (depth > kMaxValueNesting) return invalid_model("values are nested too deeply");
  if (proto.has_tensor_value()) {
    STOKER_ASSIGN(Tensor tensor, tensor_from_proto(proto.tensor_value(), {}));
    return AnyValue(std::move(tensor));
  }
  if (proto.has_sequence_value()) return value_from_sequence(proto.sequence_value(), depth + 1);
  if (proto.has_optional_value()) return value_from_optional(proto.optional_value(), depth + 1);
  return AnyValue();
}

Result<AnyValue> value_from_sequence(const onnx::SequenceProto& proto, int depth) {
  if (depth > kMaxValueNesting) return invalid_model("values are nested too deeply");
  if (proto.map_values_size() > 0 || proto.sparse_tensor_values_size() > 0)
    return unsupported("sequences of maps or sparse tensors are not read from files");
  std::vector<AnyValue> elements;
  for (const auto& element : proto.tensor_values()) {
    STOKER_ASSIGN(Tensor tensor, tensor_from_proto(element, {}));
    elements.emplace_back(std::move(tensor));
  }
  for (const auto& element : proto.sequence_values()) {
    STOKER_ASSIGN(AnyValue value, value_from_sequence(element, depth + 1));
    elements.push_back(std::move(value));
  }
  for (const auto& element : proto.optional_values()) {
    STOKER_ASSIGN(AnyValue value, value_from_optional(element, depth + 1));
    elements.push_back(std::move(value));
  }
  return AnyValue::sequence(std::move(elements));
}

template <class Proto, class Convert>
Result<AnyValue> parse_value(const std::string& bytes, const char* what, std::string* name,
                             Convert convert) {
  Proto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromString(bytes))
    return invalid_model("not a serialized {}, or truncated ({} bytes)", what, bytes.size());
  if (name) *name = proto.name();
  return convert(proto);
}

}  // namespace

Result<AnyValue> read_value_proto_file(const std::string& path, ProtoKind kind, std::string* name) {
  STOKER_ASSIGN(const Tensor file, read_file(path, INT32_MAX));  // protobuf's own limit
  const std::string bytes(static_cast<const char*>(file.data()), static_cast<size_t>(file.bytes()));
  const auto parse = [&]() -> Result<AnyValue> {
    switch (kind) {
      case ProtoKind::kSequence:
        return parse_value<onnx::SequenceProto>(
            bytes, "SequenceProto", name, [](const auto& p) { return value_from_sequence(p, 0); });
      case ProtoKind::kOptional: {
        auto value = parse_value<onnx::OptionalProto>(
            bytes, "OptionalProto", name, [](const auto& p) { return value_from_optional(p, 0); });
        if (value) return value;
        // What is in the optional may have been written as it is.
        auto inner = parse_value<onnx::SequenceProto>(
            bytes, "SequenceProto", name, [](const auto& p) { return value_from_sequence(p, 0); });
        return inner ? inner : value;
      }
      case ProtoKind::kTensor: break;
    }
    return parse_value<onnx::TensorProto>(bytes, "TensorProto", name,
                                          [](const auto& p) -> Result<AnyValue> {
                                            STOKER_ASSIGN(Tensor tensor, tensor_from_proto(p, {}));
                                            return AnyValue(std::move(tensor));
                                          });
  };
  auto value = parse();
  return value ? value : value.status().at("'" + path + "'");
}

}  // namespace stoker
