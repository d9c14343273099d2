// Sound files of RIFF/WAVE form with PCM (8 to 32 bits) or IEEE float samples, as floats. The bytes
// may be hostile: sizes are checked before memory is taken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stoker/status.h"

namespace stoker {

struct Sound {
  int64_t rate = 0;            // samples per second
  int64_t channels = 0;        // of the file
  std::vector<float> samples;  // the mean of the channels; integers are scaled to -1..1
};

// corrupt_file when the bytes are no WAVE file, unsupported for compressed samples.
Result<Sound> decode_wav(std::span<const uint8_t> bytes);

}  // namespace stoker
