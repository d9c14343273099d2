// Macros and helpers around Status for Stoker's own code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include "stoker/status.h"

namespace stoker {

template <class... Args>
Status error(StatusCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Status(code, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Status invalid_argument(fmt::format_string<Args...> text, Args&&... args) {
  return Status(StatusCode::kInvalidArgument, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Status invalid_model(fmt::format_string<Args...> text, Args&&... args) {
  return Status(StatusCode::kInvalidModel, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Status unsupported(fmt::format_string<Args...> text, Args&&... args) {
  return Status(StatusCode::kUnsupported, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Status corrupt_file(fmt::format_string<Args...> text, Args&&... args) {
  return Status(StatusCode::kCorruptFile, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
Status internal_error(fmt::format_string<Args...> text, Args&&... args) {
  return Status(StatusCode::kInternal, fmt::format(text, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace stoker

#define STOKER_CONCAT_(a, b) a##b
#define STOKER_CONCAT(a, b) STOKER_CONCAT_(a, b)

// Returns from the enclosing function when the expression is an error.
#define STOKER_TRY(expression)                                                     \
  do {                                                                             \
    if (::stoker::Status status_ = (expression); !status_.is_ok()) return status_; \
  } while (false)

// STOKER_ASSIGN(auto x, f()): declares or assigns the value, or returns the error.
#define STOKER_ASSIGN(target, expression) \
  STOKER_ASSIGN_(STOKER_CONCAT(result_, __LINE__), target, expression)
#define STOKER_ASSIGN_(result, target, expression) \
  auto result = (expression);                      \
  if (!result.is_ok()) return result.status();     \
  target = std::move(*result)

// For programmers' mistakes only, in every build; never for what comes from outside.
#define STOKER_CHECK(condition) \
  ((condition) ? (void)0 : ::stoker::check_failed(__FILE__, __LINE__, #condition))
