// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace stoker::cli {
namespace {

constexpr size_t kBarCells = 24;

}  // namespace

int exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return kDone;
    case StatusCode::kCheckFailed: return kFailedCheck;
    case StatusCode::kInvalidArgument: return kWrongUsage;
    case StatusCode::kInvalidModel:
    case StatusCode::kUnsupported:
    case StatusCode::kNotFound:
    case StatusCode::kCorruptFile: return kInvalidFile;
    case StatusCode::kResourceExhausted:
    case StatusCode::kDeviceError: return kNoResources;
    case StatusCode::kInternal: break;
  }
  return kInternalDefect;
}

void Console::write(const std::string& text) {
  end_progress();
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!whole && !write_error) write_error = errno;
}

// A standard error that takes nothing must not end the command.
void Console::say(const std::string& text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
}

void Console::progress(const BuildProgress& progress) {
  if (json || quiet) return;
  if (isatty(STDERR_FILENO)) {
    const size_t total = std::max<size_t>(progress.total, 1);
    const std::string bar(kBarCells * std::min(progress.done, total) / total, '#');
    say(fmt::format("\r\033[Kstoker {}: {:8} [{:{}}] {}/{}", command, progress.phase, bar,
                    kBarCells, progress.done, progress.total));
    std::fflush(stderr);
    line_open_ = true;
  } else if (phase_ != progress.phase) {
    say(fmt::format("stoker {}: {}\n", command, progress.phase));
  }
  phase_ = progress.phase;
}

void Console::end_progress() {
  if (line_open_) say(fmt::format("\r\033[K"));
  line_open_ = false;
}

int Console::fail(const Status& status) {
  end_progress();
  std::fflush(stdout);
  std::string message = status.message();
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (memory_limit && status.code() == StatusCode::kResourceExhausted)
    message += fmt::format("; --limit-memory allows {} bytes in all", memory_limit);
  say(fmt::format("stoker{}{}: {}\n", command.empty() ? "" : " ", command, message));
  if (json) {
    print_json({{"error", {{"code", status_code_name(status.code())}, {"message", message}}}});
  }
  return exit_code(status.code());
}

}  // namespace stoker::cli
