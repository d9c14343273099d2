// Files: whole reads into huge-page memory and writes that are never half done.
// Messages name the path, what went wrong and what to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stoker/status.h"
#include "stoker/tensor.h"

namespace stoker {

// A regular file open for reading. Moves, does not copy; reads may come from several threads.
class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // when it was opened
  // Fills `target` from `offset`; corrupt_file when the file ends before.
  Status read_at(int64_t offset, std::span<std::byte> target) const;

 private:
  InputFile(std::string path, int descriptor, int64_t bytes)
      : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}
  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

// The whole file as u8[bytes]; a larger file than `max_bytes` is refused before anything is read.
Result<Tensor> read_file(const std::string& path, int64_t max_bytes);

// Writes the pieces one after the other into a temporary file of the same folder, syncs it and
// renames it over `path`: whoever opens `path` sees the old file or the whole new one.
Status write_file_atomic(const std::string& path,
                         std::span<const std::span<const std::byte>> pieces);
Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes);

bool file_exists(const std::string& path);  // a regular file

}  // namespace stoker
