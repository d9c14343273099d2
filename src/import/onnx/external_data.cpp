// Path checks and bounded reads of external weight data.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/status.h"

namespace stoker {

namespace fs = std::filesystem;

namespace {

Result<std::string> resolve(const std::string& folder, const std::string& location) {
  if (folder.empty()) {
    return invalid_model(
        "external data '{}' is refused: the model has no folder of its own (it was "
        "given as bytes); load it from its file",
        location);
  }
  const fs::path relative(location);
  bool climbs = false;
  for (const fs::path& part : relative) climbs = climbs || part == "..";
  if (location.empty() || relative.is_absolute() || climbs ||
      location.find('\0') != std::string::npos) {
    return invalid_model(
        "external data '{}' is refused: expected a relative path inside the model's "
        "folder, without '..'",
        location);
  }
  std::error_code failure;
  const fs::path root = fs::canonical(folder, failure);
  if (failure) return invalid_model("model folder '{}': {}", folder, failure.message());
  const fs::path real = fs::canonical(root / relative, failure);
  if (failure) {
    return Status(StatusCode::kNotFound,
                  fmt::format("external data '{}' is not in '{}': {}; put the "
                              "file beside the model",
                              location, root.string(), failure.message()));
  }
  const auto ends = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (ends.first != root.end()) {
    return invalid_model(
        "external data '{}' is refused: it is a link to '{}', outside the model's "
        "folder; copy the file into the folder",
        location, real.string());
  }
  return real.string();
}

}  // namespace

ExternalFile::ExternalFile(ExternalFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), range_(std::move(other.range_)) {}

ExternalFile::~ExternalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ExternalFile> ExternalFile::open(const std::string& folder, const ExternalRange& range,
                                        int64_t bytes) {
  STOKER_ASSIGN(const std::string path, resolve(folder, range.location));
  // Not blocking, so that a pipe put in the file's place cannot hang the import.
  ExternalFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), range);
  struct stat info {};
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &info) != 0) {
    return invalid_model("external data '{}': {}", range.location, std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return invalid_model("external data '{}' is not a regular file", range.location);
  }
  if (range.length >= 0 && range.length != bytes) {
    return invalid_model(
        "external data '{}': expected a length of {} bytes for the declared shape, "
        "found {}",
        range.location, bytes, range.length);
  }
  if (range.offset < 0 || range.offset > info.st_size || info.st_size - range.offset < bytes) {
    return invalid_model(
        "external data '{}': expected {} bytes at offset {}, but the file has {} bytes",
        range.location, bytes, range.offset, static_cast<int64_t>(info.st_size));
  }
  return file;
}

Status ExternalFile::read(void* data, int64_t bytes) const {
  auto* out = static_cast<char*>(data);
  int64_t done = 0;
  while (done < bytes) {
    const size_t part = static_cast<size_t>(std::min<int64_t>(bytes - done, 1 << 30));
    const ssize_t got = ::pread(descriptor_, out + done, part, range_.offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return invalid_model("external data '{}': reading stopped after {} of {} bytes: {}",
                           range_.location, done, bytes,
                           got < 0 ? std::strerror(errno) : "end of file");
    }
    done += got;
  }
  return Status::ok();
}

}  // namespace stoker
