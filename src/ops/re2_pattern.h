// Patterns in RE2's syntax as PCRE2 reads them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "stoker/status.h"

namespace stoker {

// The same language for PCRE2 (options UTF, DOLLAR_ENDONLY; newline is LF). Names what RE2 does not
// have: back references, looking around, atomic groups, recursion, possessive repeats, verbs.
Result<std::string> pcre2_pattern(std::string_view re2);

}  // namespace stoker
