// Files: whole reads into huge-page memory and writes that are never half done.
// Messages name the path, what went wrong and what to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
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

class TemporaryFile;

// A file written piece by piece into a temporary file of the same folder. `commit` syncs it and
// renames it over `path`: whoever opens `path` sees the old file or the whole new one. Without a
// commit nothing is left behind.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  OutputFile(std::string path, std::unique_ptr<TemporaryFile> temporary, int mode);
  std::string path_;
  std::unique_ptr<TemporaryFile> temporary_;
  int mode_;  // of the file that is replaced; -1: there is none
};

// The pieces one after the other, as an OutputFile.
Status write_file_atomic(const std::string& path,
                         std::span<const std::span<const std::byte>> pieces);
Status write_file_atomic(const std::string& path, std::span<const std::byte> bytes);

bool file_exists(const std::string& path);  // a regular file

// Removes what unfinished OutputFiles have written so far. For a signal handler that ends the
// program: it takes no lock and no memory.
void remove_unfinished_files() noexcept;

}  // namespace stoker
