// Log lines to stderr. Cheap when the level is off: the text is not formatted. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/status.h"

namespace stoker {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

// "error", "warn", "info" or "debug" (the knob log_level).
Status set_log_level(std::string_view name);
void set_log_level(LogLevel level);
LogLevel log_level();
inline bool log_enabled(LogLevel level) { return level <= log_level(); }
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
  log_at(LogLevel::kError, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
  log_at(LogLevel::kWarn, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_at(LogLevel::kInfo, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  log_at(LogLevel::kDebug, text, std::forward<Args>(args)...);
}

}  // namespace stoker
