// Engine files with their checksums made right: reader, verifier, loader, bind, and a run whose
// inputs and outputs are guarded.
// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/bytes_file.h"
#include "tests/engine/hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  stoker::test::FileBytes file(bytes, bytes + size);
  stoker::test::repair_checksums(file);
  stoker::test::exercise_engine(stoker::test::BytesFile(file.data(), file.size()).path());
  return 0;
}
