// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace stoker {
namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;  // one call moves at most 2 GiB on Linux

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status system_error_at(int code, const std::string& path, const char* action) {
  const std::string reason = std::generic_category().message(code);
  switch (code) {
    case ENOENT:
      return error(StatusCode::kNotFound, "cannot {} {}: no such file or folder; check the path",
                   action, path);
    case ENOTDIR:
      return error(StatusCode::kNotFound, "cannot {} {}: {} is not a folder; check the path",
                   action, path, folder_of(path));
    case EACCES:
    case EPERM:
    case EROFS:
      return invalid_argument("cannot {} {}: {}; check the permissions or choose another folder",
                              action, path, reason);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return error(StatusCode::kResourceExhausted,
                   "cannot {} {}: {}; free space in {} or choose another folder", action, path,
                   reason, folder_of(path));
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return error(StatusCode::kResourceExhausted, "cannot {} {}: {}", action, path, reason);
    default: return invalid_argument("cannot {} {}: {}", action, path, reason);
  }
}

bool has_nul(const std::string& path) { return path.find('\0') != std::string::npos; }

// Names of the temporary files that exist now, where a signal handler can read them. A program
// that has more of them open than there are slots only loses the removal on a signal.
std::array<std::atomic<const char*>, 32> unfinished_files;

std::atomic<const char*>* enlist(const char* path) {
  for (auto& slot : unfinished_files) {
    const char* free = nullptr;
    if (slot.compare_exchange_strong(free, path)) return &slot;
  }
  return nullptr;
}

int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

// Removes the temporary file unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) {
    static std::atomic<uint32_t> counter{0};
    // Plain open() rather than mkstemp, so that the umask gives the file its mode.
    for (int attempt = 0; attempt < 1000; ++attempt) {
      path_ = fmt::format("{}.tmp-{}-{}", target, getpid(), counter++);
      slot_ = enlist(path_.c_str());  // before the file exists, so that no signal can miss it
      descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      open_error_ = descriptor_ < 0 ? errno : 0;
      if (!open_error_) return;
      strike_off();
      if (open_error_ != EEXIST) return;  // left behind by a process that was killed
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!open_error_ && !renamed_) unlink(path_.c_str());
    strike_off();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int open_error() const { return open_error_; }
  int descriptor() const { return descriptor_; }
  int close_now() { return close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno; }
  int rename_to(const std::string& target) {
    if (rename(path_.c_str(), target.c_str()) != 0) return errno;
    renamed_ = true;
    return 0;
  }

 private:
  void strike_off() {
    if (slot_) slot_->store(nullptr);
    slot_ = nullptr;
  }

  std::string path_;
  std::atomic<const char*>* slot_ = nullptr;
  int descriptor_ = -1;
  int open_error_ = 0;
  bool renamed_ = false;
};

Result<InputFile> InputFile::open(const std::string& path) {
  if (path.empty() || has_nul(path))
    return invalid_argument("'{}' is not a file name", path.c_str());
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block
  if (descriptor < 0) return system_error_at(errno, path, "read");
  InputFile file(path, descriptor, 0);
  struct stat info;
  if (fstat(descriptor, &info) != 0) return system_error_at(errno, path, "read");
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("cannot read {}: it is {}, expected a regular file", path,
                            S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
  }
  file.bytes_ = info.st_size;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status InputFile::read_at(int64_t offset, std::span<std::byte> target) const {
  int64_t end = 0;
  if (offset < 0 || __builtin_add_overflow(offset, static_cast<int64_t>(target.size()), &end)) {
    return invalid_argument("cannot read {} at offset {}: outside of any file", path_, offset);
  }
  while (!target.empty()) {
    const ssize_t got =
        pread(descriptor_, target.data(), std::min(target.size(), kMaxTransfer), offset);
    if (got < 0) {
      if (errno == EINTR) continue;
      return system_error_at(errno, path_, "read");
    }
    if (got == 0) {
      return corrupt_file(
          "{} ends at byte {}, {} more expected; it was cut or is being written: copy it again",
          path_, offset, target.size());
    }
    offset += got;
    target = target.subspan(static_cast<size_t>(got));
  }
  return Status::ok();
}

Result<Tensor> read_file(const std::string& path, int64_t max_bytes) {
  STOKER_ASSIGN(const InputFile file, InputFile::open(path));
  if (file.bytes() > max_bytes) {
    return error(StatusCode::kResourceExhausted, "{} holds {} bytes, at most {} are read here",
                 path, file.bytes(), max_bytes);
  }
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(DType::kU8, {file.bytes()}));
  STOKER_TRY(file.read_at(
      0, {static_cast<std::byte*>(tensor.data()), static_cast<size_t>(tensor.bytes())}));
  return tensor;
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path.empty() || has_nul(path) || path.back() == '/') {
    return invalid_argument("'{}' is not a file name", path.c_str());
  }
  struct stat info;
  const bool replaces = stat(path.c_str(), &info) == 0;
  if (replaces && !S_ISREG(info.st_mode)) {
    return invalid_argument("cannot write {}: it exists and is {}, not a regular file", path,
                            S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
  }
  auto temporary = std::make_unique<TemporaryFile>(path);
  if (temporary->open_error() == ENOENT) {
    return error(StatusCode::kNotFound,
                 "cannot write {}: the folder {} does not exist; create it first", path,
                 folder_of(path));
  }
  if (temporary->open_error()) return system_error_at(temporary->open_error(), path, "write");
  return OutputFile(path, std::move(temporary),
                    replaces ? static_cast<int>(info.st_mode & 0777) : -1);
}

OutputFile::OutputFile(std::string path, std::unique_ptr<TemporaryFile> temporary, int mode)
    : path_(std::move(path)), temporary_(std::move(temporary)), mode_(mode) {}
OutputFile::OutputFile(OutputFile&& other) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&& other) noexcept = default;
OutputFile::~OutputFile() = default;

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (const int code = write_all(temporary_->descriptor(), bytes))
    return system_error_at(code, path_, "write");
  return Status::ok();
}

Status OutputFile::commit() {
  // The new file keeps the mode of the old one; a file system without modes may refuse.
  if (mode_ >= 0) (void)!fchmod(temporary_->descriptor(), static_cast<mode_t>(mode_));
  if (fsync(temporary_->descriptor()) != 0) return system_error_at(errno, path_, "write");
  if (const int code = temporary_->close_now()) return system_error_at(code, path_, "write");
  if (const int code = temporary_->rename_to(path_)) return system_error_at(code, path_, "write");
  // The name itself is durable only once the folder is synced; not every file system can do that.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return Status::ok();
}

Status write_file_atomic(const std::string& path,
                         std::span<const std::span<const std::byte>> pieces) {
  STOKER_ASSIGN(OutputFile file, OutputFile::create(path));
  for (const auto piece : pieces) STOKER_TRY(file.write(piece));
  return file.commit();
}

Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes) {
  return write_file_atomic(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

bool file_exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void remove_unfinished_files() noexcept {
  for (const auto& slot : unfinished_files) {
    if (const char* path = slot.load()) unlink(path);
  }
}

}  // namespace stoker
