// SPDX-License-Identifier: Apache-2.0
#include "runtime/op_libraries.h"

#include <algorithm>
#include <tuple>

#include "base/status.h"

namespace stoker {
namespace {

auto order(const UsedLibrary& library) {
  return std::tie(library.name, library.version, library.hash);
}

// Texts of a file, for messages.
std::string shown(const std::string& text) {
  constexpr size_t kShown = 100;
  std::string result = text.substr(0, kShown);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

Status refusal(const UsedLibrary& used, const OpLibraries& named) {
  std::string others;
  for (const auto& library : named) {
    if (library->name != used.name) continue;
    others += fmt::format("{}'{}' is version {} with content {}", others.empty() ? "" : ", ",
                          library->path, library->version, library->hash);
  }
  const std::string wanted = fmt::format("operator library {}, version {}, content {}",
                                         shown(used.name), shown(used.version), shown(used.hash));
  if (others.empty()) {
    return invalid_argument(
        "the engine calls {}, which is not named: give its file with --op-library FILE (knob "
        "op_libraries)",
        wanted);
  }
  return invalid_argument(
      "the engine calls {}; {}: name the file that the engine was built with, or build the engine "
      "again with this one",
      wanted, others);
}

}  // namespace

std::vector<UsedLibrary> used_op_libraries(const EngineContents& contents) {
  std::vector<UsedLibrary> list;
  for (const PlanProgram& program : contents.programs) {
    for (const PlanStep& step : program.steps) {
      const auto* fallback = std::get_if<FallbackParams>(&step.params);
      if (!fallback || fallback->op != "custom") continue;
      const auto [name, version, hash] =
          parse_identity(fallback->attributes.get_string(kCustomLibrary));
      list.push_back({name, version, hash});
    }
  }
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return order(a) < order(b); });
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

Status check_op_libraries(const EngineContents& contents, const OpLibraries& named) {
  for (const UsedLibrary& used : used_op_libraries(contents)) {
    const bool found = std::any_of(named.begin(), named.end(), [&](const auto& library) {
      return library->name == used.name && library->version == used.version &&
             library->hash == used.hash;
    });
    if (!found) return refusal(used, named);
  }
  return Status::ok();
}

}  // namespace stoker
