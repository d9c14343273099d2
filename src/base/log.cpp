// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace stoker {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kWarn};

// Not in spdlog's global registry: a program that embeds Stoker keeps its own loggers.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "stoker", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::warn);
    made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    return made;
  }();
  return *instance;
}

}  // namespace

Status set_log_level(std::string_view name) {
  constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"error", LogLevel::kError},
                                                               {"warn", LogLevel::kWarn},
                                                               {"info", LogLevel::kInfo},
                                                               {"debug", LogLevel::kDebug}};
  for (const auto& [text, level] : kLevels) {
    if (text == name) {
      set_log_level(level);
      return Status::ok();
    }
  }
  return invalid_argument("log level '{}': expected error, warn, info or debug", name);
}

void set_log_level(LogLevel level) { current_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() { return current_level.load(std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view text) {
  constexpr spdlog::level::level_enum kMap[] = {spdlog::level::err, spdlog::level::warn,
                                                spdlog::level::info, spdlog::level::debug};
  logger().log(kMap[static_cast<int>(level)], spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace stoker
