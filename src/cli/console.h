// Console: where a command's words go. Results to stdout, progress and errors to stderr; with
// --json stdout holds nothing but one JSON document.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "stoker/builder.h"

namespace stoker::cli {

using Json = nlohmann::ordered_json;

// What every command returns to the shell.
enum ExitCode {
  kDone = 0,
  kFailedCheck = 1,
  kWrongUsage = 2,
  kInvalidFile = 3,
  kNoResources = 4,
  kInternalDefect = 5,
};
int exit_code(StatusCode code);

class Console {
 public:
  bool json = false, quiet = false;
  std::string command;       // "build"; empty before one is known
  int write_error = 0;       // errno of the first write to standard output that failed
  int64_t memory_limit = 0;  // of --limit-memory; 0: none

  // The answer of a command: printed unless --json replaces it.
  template <class... Args>
  void print(fmt::format_string<Args...> text, Args&&... args) {
    if (!json) write(fmt::format(text, std::forward<Args>(args)...));
  }
  // What a person at a terminal wants to know beside the answer.
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    if (!json && !quiet) write(fmt::format(text, std::forward<Args>(args)...));
  }
  // The last line: what to do next.
  void next(const std::string& text) { note("next: {}\n", text); }
  // Beside the answer, always: what failed.
  void warn(const std::string& text) { say(text); }
  void print_json(const Json& document) { write(json_text(document) + "\n"); }
  static std::string json_text(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
  }

  // One line that is rewritten on a terminal, a line per phase elsewhere.
  void progress(const BuildProgress& progress);
  void end_progress();

  // Reports an error in all the forms asked for and gives its exit code.
  int fail(const Status& status);

 private:
  void write(const std::string& text);
  static void say(const std::string& text);
  std::string phase_;
  bool line_open_ = false;
};

}  // namespace stoker::cli
