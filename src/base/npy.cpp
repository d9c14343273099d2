// Reader and writer of .npy: magic, version, header length, a Python dictionary literal, raw
// elements.
// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "base/status.h"

namespace stoker {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxFileBytes = int64_t{1} << 40;
constexpr size_t kMaxHeaderBytes = 64 * 1024;
constexpr size_t kMaxRank = 32;

struct DtypeCode {
  std::string_view code;  // kind and element bytes
  DType dtype;
};
constexpr DtypeCode kCodes[] = {
    {"f8", DType::kF64}, {"f4", DType::kF32},   {"f2", DType::kF16}, {"i8", DType::kI64},
    {"i4", DType::kI32}, {"i2", DType::kI16},   {"i1", DType::kI8},  {"u8", DType::kU64},
    {"u4", DType::kU32}, {"u2", DType::kU16},   {"u1", DType::kU8},  {"b1", DType::kBool},
    {"c8", DType::kC64}, {"c16", DType::kC128},
};

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// The dictionary literal of the header; only the forms that numpy writes.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    if (!take('{')) return wrong("'{'");
    while (!take('}')) {
      STOKER_ASSIGN(const std::string key, string());
      if (!take(':')) return wrong("':'");
      STOKER_TRY(entry(key, header));
      if (take('}')) break;
      if (!take(',')) return wrong("',' or '}'");
    }
    skip();
    if (at_ != text_.size()) return wrong("the end of the header");
    if (!header.descr || !header.fortran_order || !header.shape) {
      return corrupt_file("npy: header needs 'descr', 'fortran_order' and 'shape': {}", text_);
    }
    return header;
  }

 private:
  Status entry(const std::string& key, Header& header) {
    if (key == "descr" && !header.descr) {
      skip();
      if (at_ < text_.size() && text_[at_] == '[') {
        return unsupported("npy: structured dtypes are not tensors; save one field per file");
      }
      STOKER_ASSIGN(header.descr, string());
    } else if (key == "fortran_order" && !header.fortran_order) {
      if (word("True")) {
        header.fortran_order = true;
      } else if (word("False")) {
        header.fortran_order = false;
      } else {
        return wrong("True or False");
      }
    } else if (key == "shape" && !header.shape) {
      STOKER_ASSIGN(header.shape, tuple());
    } else {
      return corrupt_file("npy: header has an unknown or repeated entry '{}'", key.substr(0, 40));
    }
    return Status::ok();
  }

  Result<Shape> tuple() {
    Shape shape;
    if (!take('(')) return wrong("'('");
    while (!take(')')) {
      skip();
      int64_t extent = 0;
      const char* end = text_.data() + text_.size();
      const auto [next, fault] = std::from_chars(text_.data() + at_, end, extent);
      if (fault != std::errc() || extent < 0) return wrong("an extent from 0 to 2^63-1");
      at_ = static_cast<size_t>(next - text_.data());
      if (shape.size() == kMaxRank) {
        return corrupt_file("npy: more than {} dimensions", kMaxRank);
      }
      shape.push_back(extent);
      if (take(')')) break;
      if (!take(',')) return wrong("',' or ')'");
    }
    return shape;
  }

  Result<std::string> string() {
    skip();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return wrong("a string");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return wrong("the end of a string");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool word(std::string_view expected) {
    skip();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  Status wrong(std::string_view expected) const {
    return corrupt_file("npy: malformed header: expected {} at character {}", expected, at_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<DType> dtype_of(const std::string& descr) {
  const std::string_view text = descr;
  const bool marked = !text.empty() && std::string_view("<>=|").find(text[0]) != text.npos;
  const std::string_view code = marked ? text.substr(1) : text;
  if (code == "V2") {
    return unsupported(
        "npy: dtype '{}' (raw 2-byte values, as numpy stores bf16) does not say what "
        "the bits mean; save as float32 or as an ONNX TensorProto (.pb)",
        descr);
  }
  if (!code.empty() && code[0] == 'O') {
    return unsupported("npy: dtype '{}' holds pickled Python objects, which are never read", descr);
  }
  const auto known = std::find_if(std::begin(kCodes), std::end(kCodes),
                                  [&](const DtypeCode& entry) { return entry.code == code; });
  if (known == std::end(kCodes)) {
    return unsupported(
        "npy: dtype '{}' is not a tensor dtype; expected one of f2 f4 f8, i1..i8, "
        "u1..u8, b1, c8, c16",
        descr.substr(0, 40));
  }
  if (marked && text[0] == '>' && dtype_bits(known->dtype) > 8) {
    return unsupported(
        "npy: dtype '{}' is big-endian; save with array.astype(array.dtype."
        "newbyteorder('<'))",
        descr);
  }
  return known->dtype;
}

// Copies column-major elements into row-major order.
void rearrange(const std::byte* from, std::byte* to, const Shape& shape, size_t element_bytes) {
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * shape[d - 1];
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * element_bytes,
                from + static_cast<size_t>(source) * element_bytes, element_bytes);
    for (size_t d = rank; d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// The header's text and where the elements start.
Result<std::pair<std::string_view, size_t>> header_text(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (all.substr(0, kMagic.size()) != kMagic) {
    return corrupt_file("npy: not an .npy file (it does not begin with \\x93NUMPY)");
  }
  const auto byte = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  if (bytes.size() < 12) return corrupt_file("npy: truncated after {} bytes", bytes.size());
  const size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    return unsupported("npy: format version {}.{}; versions 1.0, 2.0 and 3.0 are read", version,
                       byte(7));
  }
  const size_t start = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeaderBytes) {
    return corrupt_file("npy: header of {} bytes; at most {} are read", length, kMaxHeaderBytes);
  }
  if (length > bytes.size() - start) {
    return corrupt_file("npy: truncated: header of {} bytes, {} are there", length,
                        bytes.size() - start);
  }
  return std::pair(all.substr(start, length), start + length);
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  STOKER_ASSIGN(const auto place, header_text(bytes));
  STOKER_ASSIGN(const Header header, HeaderParser(place.first).parse());
  STOKER_ASSIGN(const DType dtype, dtype_of(*header.descr));
  STOKER_ASSIGN(const int64_t count, element_count(*header.shape));
  STOKER_ASSIGN(const int64_t expected, byte_size(dtype, count));
  const std::span<const std::byte> elements = bytes.subspan(place.second);
  if (static_cast<uint64_t>(expected) != elements.size()) {
    return corrupt_file("npy: {} {} needs {} bytes of elements, the file has {}", dtype_name(dtype),
                        shape_text(*header.shape), expected, elements.size());
  }
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, *header.shape));
  auto* data = static_cast<std::byte*>(tensor.data());
  if (*header.fortran_order && header.shape->size() > 1 && count > 0) {
    rearrange(elements.data(), data, *header.shape, static_cast<size_t>(dtype_bits(dtype) / 8));
  } else if (!elements.empty()) {
    std::memcpy(data, elements.data(), elements.size());
  }
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) data[i] = data[i] == std::byte{0} ? data[i] : std::byte{1};
  }
  return tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  STOKER_ASSIGN(const Tensor file, read_file(path, kMaxFileBytes));
  auto tensor =
      parse_npy({static_cast<const std::byte*>(file.data()), static_cast<size_t>(file.bytes())});
  if (!tensor.is_ok()) return tensor.status().at("'" + path + "'");
  return tensor;
}

namespace {

// The characters of UTF-8 text; what is no such text becomes U+FFFD.
std::u32string characters(const std::string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t code = length == 1 ? lead : lead & (0x7fu >> length);
    bool fine = length > 0 && i + length <= text.size() && lead < 0xf8;
    for (size_t k = 1; fine && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      fine = (next & 0xc0) == 0x80;
      code = (code << 6) | (next & 0x3fu);
    }
    out += fine ? code : U'\uFFFD';
    i += fine ? length : 1;
  }
  return out;
}

// Strings as numpy's fixed-width UTF-32; `width` becomes the longest one's length.
Result<Tensor> wide_strings(const Tensor& tensor, size_t& width) {
  std::vector<std::u32string> texts;
  width = 1;
  for (const std::string& text : tensor.strings()) {
    texts.push_back(characters(text));
    width = std::max(width, texts.back().size());
  }
  STOKER_ASSIGN(Tensor wide, Tensor::allocate(DType::kU32, {static_cast<int64_t>(texts.size()),
                                                            static_cast<int64_t>(width)}));
  uint32_t* to = wide.values<uint32_t>().data();
  for (size_t i = 0; i < texts.size(); ++i)
    std::copy(texts[i].begin(), texts[i].end(), to + i * width);
  return wide;
}

}  // namespace

Status write_npy(const std::string& path, const Tensor& tensor) {
  Tensor elements = tensor;
  std::string code;
  const auto known =
      std::find_if(std::begin(kCodes), std::end(kCodes),
                   [&](const DtypeCode& entry) { return entry.dtype == tensor.dtype(); });
  if (tensor.dtype() == DType::kString) {
    size_t width = 0;
    STOKER_ASSIGN(elements, wide_strings(tensor, width));
    code = fmt::format("<U{}", width);
  } else if (known == std::end(kCodes)) {
    return unsupported("'{}': .npy has no dtype for {}", path, dtype_name(tensor.dtype()));
  } else {
    code = (dtype_bits(tensor.dtype()) > 8 ? "<" : "|") + std::string(known->code);
  }
  std::string shape;
  for (const int64_t extent : tensor.shape()) shape += fmt::format("{}, ", extent);
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.rank() == 1) shape.pop_back();  // "(3,)"
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, shape);
  // numpy aligns the elements to 64 bytes; magic, version and length take 10.
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\0';
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  head += header;
  const std::span<const std::byte> pieces[] = {
      std::as_bytes(std::span(head)),
      {static_cast<const std::byte*>(elements.data()), static_cast<size_t>(elements.bytes())}};
  return write_file_atomic(path, pieces);
}

}  // namespace stoker
