// What surrounds every command: lost output, signals and the memory limit end the program with a
// message and an exit code that is not success, and without half-written files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "stoker/status.h"

namespace stoker::cli {

// To be called first. Signals that end the program remove unfinished files; closed standard
// descriptors are kept from being given to the files that the program opens; an exception that
// nobody catches (in a worker) ends with a message.
void guard_program();

// From here on the program holds at most so much memory of its own (mapped files apart): a number
// of bytes, or of K, M, G or T (of 1024). Returns the bytes.
Result<int64_t> limit_memory(const std::string& size);

// Writes out what standard output still holds; an error when some of the output was lost, now or by
// an earlier write that failed with `write_error` (errno; 0: none).
Status flush_output(int write_error);

}  // namespace stoker::cli
