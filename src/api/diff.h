// What two engine files of one network have in common and where they differ, with what each
// difference can change: the speed, the numbers, both or neither.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "stoker/engine.h"

namespace stoker {

enum class DiffEffect { kNeither, kSpeed, kNumbers, kBoth };
const char* effect_name(DiffEffect effect);  // "neither", "speed", "numbers", "both"

struct Difference {
  // "network", "build", "machine", "shapes", "constant", "weight", "step", "certificate", "size"
  std::string part;
  std::string subject;  // "tactic of Conv_0+Relu_1"
  std::string a, b;     // what stands in each
  DiffEffect effect = DiffEffect::kNeither;
  std::string reason;  // why it has this effect
};

struct EngineDiff {
  std::string digest_a, digest_b;
  bool same_network = true;  // otherwise only inputs and outputs are told apart
  std::vector<Difference> differences;

  // Equal in everything that decides what an engine computes and how; measurements and
  // certificates may differ.
  bool equal() const { return digest_a == digest_b; }
  int count(DiffEffect effect) const;
};

struct DiffSide {
  const Engine* engine = nullptr;
  std::string name;        // of the file, for the reports
  int64_t file_bytes = 0;  // 0: not known
};
Result<EngineDiff> diff_engines(const DiffSide& a, const DiffSide& b);

std::string diff_text(const EngineDiff& diff, const DiffSide& a, const DiffSide& b);
// {"a","b","digest_a","digest_b","equal","same_network","differences":[{"part","subject","a","b",
// "effect","reason"}],"speed","numbers","both","neither"}, the last four being counts.
std::string diff_json(const EngineDiff& diff, const DiffSide& a, const DiffSide& b);

}  // namespace stoker
