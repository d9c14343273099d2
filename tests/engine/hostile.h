// What a hostile engine file may do to a process: nothing. Files are damaged, their checksums made
// right again as somebody who means harm would, and then taken through everything that a program
// does with an engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stoker/tensor.h"

namespace stoker::test {

using FileBytes = std::vector<std::byte>;

// Checksums of the sections and the header for the bytes as they are.
void repair_checksums(FileBytes& bytes);

enum class Outcome {
  kRefused,   // by the reader, its verifier, or the loader
  kUnbound,   // no binding at these sizes
  kTooLarge,  // sound, but more memory than a test of thousands can spend
  kFailed,    // the run ended with a message
  kRan,
};

// A tensor of small numbers whose last byte is the last of a page, with a page behind it that
// faults.
Result<Tensor> guarded_tensor(DType dtype, const Shape& shape);

// Reads, verifies and describes the engine, refits it, and at two ISA levels loads it, binds it at
// small sizes and runs it; the outcome is that of this machine's own level. Inputs and outputs
// are guarded tensors: a step that leaves them behind their end kills the process.
Outcome exercise_engine(const std::string& path);

}  // namespace stoker::test
