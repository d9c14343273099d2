// Entry points: reading and parsing the protobuf message with limits, and the border where
// exceptions of libraries become errors.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/import.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "base/status.h"
#include "import/onnx/converter.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

// What the first bytes look like, as a hint for a file that is no ONNX model.
std::string looks_like(std::string_view head) {
  if (head.empty()) return "an empty file";
  if (head.starts_with("version https://git-lfs")) return "a Git LFS pointer: fetch the real file";
  if (head.starts_with("GGUF")) return "a GGUF file";
  if (head.starts_with("PK\x03\x04")) return "a zip archive: unpack it first";
  if (head.starts_with("\x1f\x8b")) return "a gzip file: unpack it first";
  if (head.starts_with("<")) return "an HTML or XML page";
  if (head.starts_with("{")) return "a JSON file";
  if (head.starts_with("version:") || head.starts_with("ir_version:")) {
    return "text, not a binary model";
  }
  return "";
}

Status not_onnx(int64_t position, int64_t size, std::string_view head, int64_t max_nesting) {
  const std::string hint = looks_like(head);
  return invalid_model(
      "not an ONNX file or truncated: expected a serialized ModelProto, found {} "
      "({} bytes, of which {} could be read); check the download",
      hint.empty()
          ? fmt::format("bytes that do not parse, or sub-graphs deeper than {}", max_nesting)
          : hint,
      size, position);
}

Result<ImportedModel> parse_and_convert(google::protobuf::io::ZeroCopyInputStream& stream,
                                        int64_t size, std::string_view head,
                                        const std::string& base_dir, const ImportOptions& options) {
  onnx::ModelProto model;
  {
    google::protobuf::io::CodedInputStream coded(&stream);
    // A level of sub-graphs is three levels of messages.
    const int64_t levels = std::clamp<int64_t>(options.limits.max_nesting, 1, 1000) * 3 + 16;
    coded.SetRecursionLimit(static_cast<int>(levels));
    if (size == 0 || !model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
      return not_onnx(coded.CurrentPosition(), size, head, options.limits.max_nesting);
    }
  }
  if (!model.has_graph()) {
    return invalid_model(
        "not an ONNX file or truncated: expected a ModelProto with a graph, found {}",
        looks_like(head).empty() ? "none" : looks_like(head));
  }
  return Converter(options, base_dir).run(model);
}

template <class Body>
Result<ImportedModel> guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, "not enough memory to import the model");
  } catch (const std::exception& failure) {
    return internal_error("importing the model: {}", failure.what());
  }
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

Status too_large(int64_t size, int64_t limit) {
  return Status(
      StatusCode::kResourceExhausted,
      fmt::format("the file has {} bytes, the limit is {}; store large weights as external data",
                  size, limit));
}

Result<ImportedModel> import_file(const std::string& path, const ImportOptions& options) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.value() < 0 || ::fstat(file.value(), &info) != 0) {
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kInvalidArgument,
                  fmt::format("cannot open the file: {}", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("it is {}, expected a regular file",
                            S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
  }
  const int64_t limit = std::min<int64_t>(options.limits.max_file_bytes, INT32_MAX);
  if (info.st_size > limit) return too_large(info.st_size, limit);
  char head[32];
  const ssize_t got = ::pread(file.value(), head, sizeof head, 0);
  google::protobuf::io::FileInputStream stream(file.value());
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder.assign(1, '.');
  return parse_and_convert(stream, info.st_size,
                           {head, static_cast<size_t>(std::max<ssize_t>(got, 0))}, folder, options);
}

}  // namespace

Result<ImportedModel> import_onnx_file(const std::string& path, const ImportOptions& options) {
  auto model = guarded([&] { return import_file(path, options); });
  if (!model.is_ok()) return model.status().at("'" + path + "'");
  return model;
}

Result<ImportedModel> import_onnx_bytes(std::span<const std::byte> bytes,
                                        const std::string& base_dir, const ImportOptions& options) {
  const int64_t limit = std::min<int64_t>(options.limits.max_file_bytes, INT32_MAX);
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (size > limit) return too_large(size, limit);
  return guarded([&] {
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(size));
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                                std::min<size_t>(bytes.size(), 32));
    return parse_and_convert(stream, size, head, base_dir, options);
  });
}

}  // namespace stoker
