// External weight data: a byte range of a file beside the model. Paths that leave the model's
// folder are refused, whether by an absolute path, by ".." or through a symbolic link.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "stoker/status.h"

namespace stoker {

struct ExternalRange {
  std::string location;  // as written in the model
  int64_t offset = 0;
  int64_t length = -1;  // -1: not given
};

// Reads exactly `bytes` bytes of the range into `data`. The range is checked before reading.
class ExternalFile {
 public:
  static Result<ExternalFile> open(const std::string& folder, const ExternalRange& range,
                                   int64_t bytes);
  ExternalFile(ExternalFile&& other) noexcept;
  ExternalFile& operator=(ExternalFile&&) = delete;
  ~ExternalFile();
  Status read(void* data, int64_t bytes) const;

 private:
  ExternalFile(int descriptor, ExternalRange range)
      : descriptor_(descriptor), range_(std::move(range)) {}
  int descriptor_;
  ExternalRange range_;
};

}  // namespace stoker
