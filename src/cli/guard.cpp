// SPDX-License-Identifier: Apache-2.0
#include "cli/guard.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/status.h"
#include "cli/console.h"

namespace stoker::cli {
namespace {

// Only what a signal handler may call.
void write_error(std::string_view text) noexcept {
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

void on_signal(int number) {
  remove_unfinished_files();
  if (number != SIGPIPE) {  // a reader that has seen enough is no fault
    write_error(number == SIGINT    ? "\nstoker: stopped by SIGINT"
                : number == SIGTERM ? "\nstoker: stopped by SIGTERM"
                                    : "\nstoker: stopped by SIGHUP");
    write_error("; unfinished files were removed\n");
  }
  raise(number);  // the handler is gone: the shell sees the signal
}

[[noreturn]] void on_terminate() {
  remove_unfinished_files();
  int code = kInternalDefect;
  try {
    if (const auto fault = std::current_exception()) std::rethrow_exception(fault);
    write_error("stoker: terminated (a defect of Stoker: please report the command)\n");
  } catch (const std::bad_alloc&) {
    code = kNoResources;
    write_error("stoker: out of memory; close other programs or use a smaller model or shape\n");
  } catch (const std::exception& fault) {
    write_error("stoker: ");
    write_error(fault.what());
    write_error(" (a defect of Stoker: please report the command)\n");
  } catch (...) {
    write_error("stoker: unknown exception (a defect of Stoker: please report the command)\n");
  }
  _exit(code);
}

// The next file that is opened would get the number of a closed standard descriptor, and printed
// text would land in an engine. Reading gives the end of file, writing an error.
void hold_standard_descriptors() {
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    (void)!open("/dev/null", O_RDONLY);  // takes the lowest free number: this one
  }
}

constexpr int64_t kLeastMemory = int64_t{32} << 20;

Result<int64_t> parse_size(const std::string& text) {
  int64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [unit, fault] = std::from_chars(text.data(), end, size);
  std::string_view rest(unit, static_cast<size_t>(end - unit));
  int shift = 0;
  for (const char* letters : {"Kk", "Mm", "Gg", "Tt"}) {
    shift += 10;
    if (rest.empty() || !std::strchr(letters, rest[0])) continue;
    rest = rest.size() > 1 && rest.substr(1) != "B" && rest.substr(1) != "iB" ? "?" : "";
    if (size < 0 || size > INT64_MAX >> shift) {
      rest = "?";
    } else {
      size <<= shift;
    }
    break;
  }
  if (fault != std::errc() || size < 0 || !rest.empty())
    return invalid_argument("--limit-memory {}: expected a size such as 512M or 2G", text);
  return size;
}

}  // namespace

void guard_program() {
  hold_standard_descriptors();
  std::set_terminate(on_terminate);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` is an error with a message instead
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction now {};
    // nohup and its like ignore signals on purpose.
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(number, &action, nullptr);
  }
}

Result<int64_t> limit_memory(const std::string& size) {
  STOKER_ASSIGN(const int64_t bytes, parse_size(size));
  if (bytes < kLeastMemory) {
    return invalid_argument(
        "--limit-memory {}: less than the program itself needs; expected {}M or more", size,
        kLeastMemory >> 20);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_max > static_cast<rlim_t>(bytes)) {
    limit.rlim_cur = static_cast<rlim_t>(bytes);
    if (setrlimit(RLIMIT_DATA, &limit) == 0) return bytes;
    return error(StatusCode::kResourceExhausted, "--limit-memory: the system refuses a limit: {}",
                 std::generic_category().message(errno));
  }
  return bytes;  // the system's own limit is as low
}

Status flush_output(int write_error) {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && !std::ferror(stdout) && std::cout.good()) return Status::ok();
  const int code = write_error ? write_error : errno;
  return error(StatusCode::kResourceExhausted,
               "standard output cannot be written: {}; part of the answer is lost",
               code ? std::generic_category().message(code) : "an earlier write failed");
}

}  // namespace stoker::cli
