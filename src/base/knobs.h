// Knobs: the one switchboard (knobs.def). A KnobSet is a plain value: copy it, change it, pass it
// on. Nothing else in Stoker reads the environment. A route is a line of settings:
// "layout_c16=false disable_passes=cse,dce"; values with spaces or quotes stand in double quotes,
// \ escapes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stoker/status.h"

namespace stoker {

#ifdef NDEBUG
#define STOKER_KNOB_DEBUG_DEFAULT "false"
#else
#define STOKER_KNOB_DEBUG_DEFAULT "true"
#endif

enum class Knob {
#define STOKER_KNOB(id, name, type, default_text, values, scope, enters_engine_key, help) id,
#include "base/knobs.def"
#undef STOKER_KNOB
};

enum class KnobType : uint8_t { kBool, kInt, kEnum, kString, kList };

struct KnobInfo {
  Knob knob;
  std::string_view name;
  KnobType type;
  std::string_view default_text;
  std::string_view values;
  std::string_view scope;  // "build", "run" or "any"
  bool enters_engine_key;
  std::string_view help;
};

std::span<const KnobInfo> all_knobs();  // in the order of knobs.def; index = static_cast<int>(Knob)
const KnobInfo& knob_info(Knob knob);
const KnobInfo* find_knob(std::string_view name);  // null: unknown
const char* knob_type_name(KnobType type);

class KnobSet {
 public:
  KnobSet();  // defaults

  // The defaults changed by STOKER_<NAME> variables. A STOKER_ variable that names no knob is an
  // error; STOKER_TEST_... belongs to the tests and is left alone.
  static Result<KnobSet> from_environment();

  Status set(std::string_view name, std::string_view text);
  Status set(Knob knob, std::string_view text);
  // All settings or none.
  Status parse_route(std::string_view route);

  // The getter must suit the knob's type: a programmer's mistake otherwise.
  bool get_bool(Knob knob) const;
  int64_t get_int(Knob knob) const;
  const std::string& get_string(Knob knob) const;  // kString, kEnum
  std::vector<std::string> get_list(Knob knob) const;
  const std::string& text(Knob knob) const { return values_[static_cast<size_t>(knob)]; }
  bool is_default(Knob knob) const;

  // Every knob that enters the engine key, sorted by name; parse_route reads it back.
  std::string effective_route() const;
  std::map<std::string, std::string> all() const;  // name -> text

  friend bool operator==(const KnobSet&, const KnobSet&) = default;

 private:
  std::vector<std::string> values_;  // canonical texts, one per knob
};

std::string knobs_json();  // array of {name,type,default,values,scope,enters_engine_key,help}
std::string knobs_text();  // table for people

// The candidate with the smallest edit distance; empty when none is at all alike.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace stoker
