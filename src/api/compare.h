// Two engines of one network on the same inputs, value by value: where do their numbers part?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/check.h"

namespace stoker {

// How far B's value is from A's, the worst of all its occurrences (data sets, rounds of a loop).
struct ValueErrors {
  double max_abs = 0, max_rel = 0;  // as OutputComparison has them
  double l2 = 0;                    // |a - b| / |a|, norms over all elements; infinite for NaN
  double cosine_distance = 0;       // 1 - cosine similarity
};

struct ComparedValue {
  std::string name;                // in the graph; values of sub-graphs have the way there in front
  std::vector<std::string> nodes;  // of the model file: those that both engines name for it
  std::string step_a, tactic_a, step_b, tactic_b;
  std::string type;     // "f32 [1,64,56,56]"
  bool output = false;  // of the network
  int64_t occurrences = 0;
  ValueErrors errors;
  // `l2` against the largest of the compared values that this one is made of; -1: it is made of
  // none that have an error, so what error it has begins here.
  double growth = -1;
  // Nodes between those values and this one, as B runs them.
  std::vector<std::string> made_by;
  bool passed = true;
  std::string reason;
};

struct EngineComparison {
  std::vector<ComparedValue> values;      // in the order in which B makes them
  int64_t only_a = 0, only_b = 0;         // values that the other engine does not have: fused there
  std::vector<std::string> unlike;        // of other dtypes or shapes under one name: not compared
  std::vector<OutputComparison> outputs;  // of ordinary runs; the worst data set of each
  std::vector<std::string> notes;

  bool passed() const;  // all outputs are within tolerance
  // The first value out of tolerance; null: none is.
  const ComparedValue* first_over() const;
};

// Runs both on each of `inputs`, A being the reference. Refused when the engines differ in their
// inputs or outputs.
Result<EngineComparison> compare_engines(const Engine& a, const Engine& b,
                                         const std::vector<ValueMap>& inputs,
                                         const Tolerance& tolerance);

// Names, dtypes, kinds and ranks of inputs and outputs that differ, in words; empty: none does.
std::string interface_difference(const Engine& a, const Engine& b);

// What the reports call the two.
struct ComparedNames {
  std::string a, b;
};
std::string comparison_text(const EngineComparison& comparison, const ComparedNames& names);
// {"a","b","passed","first_over","outputs":[...],"values":[{"name","nodes","type","output",
// "occurrences","step_a","tactic_a","step_b","tactic_b","max_abs","max_rel","l2",
// "cosine_distance","growth","made_by","passed","reason"}],"only_a","only_b","unlike","notes"};
// numbers that are not finite are null.
std::string comparison_json(const EngineComparison& comparison, const ComparedNames& names);
// One page without references to anything outside.
std::string comparison_html(const EngineComparison& comparison, const ComparedNames& names);

}  // namespace stoker
