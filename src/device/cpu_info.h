// Facts of this machine that timings depend on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace stoker {

// "cpu" model name, "isa", "cpus", "l1d", "l2", "l3" sizes, "compiler", "library" version.
std::map<std::string, std::string> machine_fingerprint();
// The facts above as one line: the device part of a timing cache key.
std::string fingerprint_text();

inline constexpr const char* kLibraryVersion = "0.1.0";

}  // namespace stoker
