// A planted fault that the fuzzer must find: otherwise the other targets' silence means nothing.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2 && data[0] == 'O' && data[1] == 'N' && data[2] == 'X') abort();
  return 0;
}
