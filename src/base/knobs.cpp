// SPDX-License-Identifier: Apache-2.0
#include "base/knobs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/status.h"

namespace stoker {
namespace {

constexpr KnobInfo kKnobs[] = {
#define STOKER_KNOB(id, name, type, default_text, values, scope, enters_engine_key, help) \
  {Knob::id, #name, KnobType::type, default_text, values, scope, enters_engine_key, help},
#include "base/knobs.def"
#undef STOKER_KNOB
};

constexpr std::string_view kPrefix = "STOKER_";
constexpr std::string_view kTestPrefix = "STOKER_TEST_";
constexpr size_t kMaxValueBytes = 4096;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status malformed(const KnobInfo& info, std::string_view text) {
  std::string nearest;
  if (info.type == KnobType::kEnum) {
    std::vector<std::string> values;
    for (size_t at = 0; at <= info.values.size();) {
      const size_t end = std::min(info.values.find('|', at), info.values.size());
      values.emplace_back(info.values.substr(at, end - at));
      at = end + 1;
    }
    nearest = nearest_name(text, values);
  }
  return invalid_argument(
      "knob {}: '{}' is not {}; expected {}{}", info.name, text,
      info.type == KnobType::kInt ? "a number in the range" : "one of its values", info.values,
      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

Result<std::string> canonical_bool(const KnobInfo& info, std::string_view text) {
  for (const std::string_view yes : {"true", "1", "on", "yes"}) {
    if (text == yes) return std::string("true");
  }
  for (const std::string_view no : {"false", "0", "off", "no"}) {
    if (text == no) return std::string("false");
  }
  return malformed(info, text);
}

Result<std::string> canonical_int(const KnobInfo& info, std::string_view text) {
  const size_t dots = info.values.find("..");
  const auto low = parse_int(info.values.substr(0, dots));
  const auto high = parse_int(info.values.substr(dots + 2));
  STOKER_CHECK(low && high);
  const auto value = parse_int(text);
  if (!value || *value < *low || *value > *high) return malformed(info, text);
  return std::to_string(*value);
}

Result<std::string> canonical_enum(const KnobInfo& info, std::string_view text) {
  for (const std::string_view value : split(info.values, '|')) {
    if (value == text) return std::string(text);
  }
  return malformed(info, text);
}

Result<std::string> canonical_list(const KnobInfo& info, std::string_view text) {
  if (text.empty()) return std::string();
  std::vector<std::string> items;
  for (const std::string_view item : split(text, ',')) {
    const bool plain = std::all_of(item.begin(), item.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (item.empty() || !plain) {
      return invalid_argument("knob {}: '{}' holds the item '{}'; expected {}", info.name, text,
                              item, info.values);
    }
    items.emplace_back(item);
  }
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  std::string joined;
  for (const std::string& item : items) joined += (joined.empty() ? "" : ",") + item;
  return joined;
}

Result<std::string> canonical(const KnobInfo& info, std::string_view text) {
  if (text.size() > kMaxValueBytes) {
    return invalid_argument("knob {}: a value of {} bytes; at most {} are allowed", info.name,
                            text.size(), kMaxValueBytes);
  }
  switch (info.type) {
    case KnobType::kBool: return canonical_bool(info, text);
    case KnobType::kInt: return canonical_int(info, text);
    case KnobType::kEnum: return canonical_enum(info, text);
    case KnobType::kList: return canonical_list(info, text);
    case KnobType::kString: break;
  }
  if (text.find('\0') != std::string_view::npos) return malformed(info, "\\0");
  return std::string(text);
}

Status unknown_knob(std::string_view name) {
  std::vector<std::string> names;
  for (const KnobInfo& info : kKnobs) names.emplace_back(info.name);
  const std::string nearest = nearest_name(name, names);
  return invalid_argument("unknown knob '{}'{}; `stoker knobs` lists them all", name,
                          nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest));
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(" \t\n\"\\") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// One value of a route from `position` on: a bare word or a quoted text.
Result<std::string> route_value(std::string_view route, size_t& position, std::string_view name) {
  std::string value;
  if (position >= route.size() || route[position] != '"') {
    while (position < route.size() && !is_space(route[position])) value += route[position++];
    return value;
  }
  for (++position; position < route.size(); ++position) {
    if (route[position] == '"') {
      ++position;
      if (position < route.size() && !is_space(route[position])) {
        return invalid_argument("route: expected a space after the value of {} at column {}", name,
                                position + 1);
      }
      return value;
    }
    if (route[position] == '\\' && position + 1 < route.size()) ++position;
    value += route[position];
  }
  return invalid_argument("route: the value of {} has no closing quote", name);
}

std::string environment_name(std::string_view name) {
  std::string text(kPrefix);
  for (const char c : name) text += (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

}  // namespace

std::span<const KnobInfo> all_knobs() { return kKnobs; }
const KnobInfo& knob_info(Knob knob) { return kKnobs[static_cast<size_t>(knob)]; }

const KnobInfo* find_knob(std::string_view name) {
  for (const KnobInfo& info : kKnobs) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const char* knob_type_name(KnobType type) {
  constexpr const char* kNames[] = {"bool", "int", "enum", "string", "list"};
  return kNames[static_cast<int>(type)];
}

KnobSet::KnobSet() {
  for (const KnobInfo& info : kKnobs) values_.emplace_back(info.default_text);
}

Result<KnobSet> KnobSet::from_environment() {
  KnobSet set;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view variable(*entry);
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !variable.starts_with(kPrefix)) continue;
    const std::string_view name = variable.substr(0, equals);
    if (name.starts_with(kTestPrefix)) continue;
    const KnobInfo* found = nullptr;
    std::vector<std::string> names;
    for (const KnobInfo& info : kKnobs) {
      names.push_back(environment_name(info.name));
      if (names.back() == name) found = &info;
    }
    if (!found) {
      const std::string nearest = nearest_name(name, names);
      return invalid_argument("environment variable {} names no knob{}; unset it", name,
                              nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest));
    }
    STOKER_TRY(set.set(found->knob, variable.substr(equals + 1))
                   .at("environment variable " + std::string(name)));
  }
  return set;
}

Status KnobSet::set(std::string_view name, std::string_view text) {
  const KnobInfo* info = find_knob(name);
  return info ? set(info->knob, text) : unknown_knob(name);
}

Status KnobSet::set(Knob knob, std::string_view text) {
  STOKER_ASSIGN(values_[static_cast<size_t>(knob)], canonical(knob_info(knob), text));
  return Status::ok();
}

Status KnobSet::parse_route(std::string_view route) {
  KnobSet changed = *this;
  std::vector<bool> seen(std::size(kKnobs));
  size_t position = 0;
  while (true) {
    while (position < route.size() && is_space(route[position])) ++position;
    if (position == route.size()) break;
    const size_t start = position;
    while (position < route.size() && route[position] != '=' && !is_space(route[position]))
      ++position;
    const std::string_view name = route.substr(start, position - start);
    if (position == route.size() || route[position] != '=' || name.empty()) {
      return invalid_argument("route: expected knob=value at column {}, found '{}'", start + 1,
                              name);
    }
    ++position;
    STOKER_ASSIGN(const std::string value, route_value(route, position, name));
    const KnobInfo* info = find_knob(name);
    if (!info) return unknown_knob(name).at("route");
    if (seen[static_cast<size_t>(info->knob)])
      return invalid_argument("route: {} is set twice", name);
    seen[static_cast<size_t>(info->knob)] = true;
    STOKER_TRY(changed.set(info->knob, value).at("route"));
  }
  *this = std::move(changed);
  return Status::ok();
}

bool KnobSet::get_bool(Knob knob) const {
  STOKER_CHECK(knob_info(knob).type == KnobType::kBool);
  return text(knob) == "true";
}

int64_t KnobSet::get_int(Knob knob) const {
  STOKER_CHECK(knob_info(knob).type == KnobType::kInt);
  return *parse_int(text(knob));
}

const std::string& KnobSet::get_string(Knob knob) const {
  STOKER_CHECK(knob_info(knob).type == KnobType::kString ||
               knob_info(knob).type == KnobType::kEnum);
  return text(knob);
}

std::vector<std::string> KnobSet::get_list(Knob knob) const {
  STOKER_CHECK(knob_info(knob).type == KnobType::kList);
  if (text(knob).empty()) return {};
  const auto parts = split(text(knob), ',');
  return {parts.begin(), parts.end()};
}

bool KnobSet::is_default(Knob knob) const { return text(knob) == knob_info(knob).default_text; }

std::map<std::string, std::string> KnobSet::all() const {
  std::map<std::string, std::string> values;
  for (const KnobInfo& info : kKnobs) values.emplace(info.name, text(info.knob));
  return values;
}

std::string KnobSet::effective_route() const {
  std::string route;
  for (const auto& [name, value] : all()) {
    if (!find_knob(name)->enters_engine_key) continue;
    route += fmt::format("{}{}={}", route.empty() ? "" : " ", name, quoted(value));
  }
  return route;
}

std::string knobs_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KnobInfo& info : kKnobs) {
    list.push_back({{"name", info.name},
                    {"type", knob_type_name(info.type)},
                    {"default", info.default_text},
                    {"values", info.values},
                    {"scope", info.scope},
                    {"enters_engine_key", info.enters_engine_key},
                    {"help", info.help}});
  }
  return list.dump(2);
}

std::string knobs_text() {
  std::string text = fmt::format("{:<26} {:<7} {:<8} {:<6} {:<4} {}\n", "knob", "type", "default",
                                 "scope", "key", "meaning (values)");
  for (const KnobInfo& info : kKnobs) {
    text +=
        fmt::format("{:<26} {:<7} {:<8} {:<6} {:<4} {} ({})\n", info.name,
                    knob_type_name(info.type), info.default_text.empty() ? "-" : info.default_text,
                    info.scope, info.enters_engine_key ? "yes" : "no", info.help, info.values);
  }
  return text;
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  // A third of the letters may differ; beyond that a suggestion confuses.
  size_t best_distance = std::max<size_t>(name.size(), 3) / 3 + 1;
  for (const std::string& candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t replaced = diagonal + (name[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace stoker
