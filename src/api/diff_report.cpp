// A diff in words and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "api/diff.h"
#include "base/status.h"

namespace stoker {
namespace {

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::string diff_text(const EngineDiff& diff, const DiffSide& a, const DiffSide& b) {
  std::string text =
      fmt::format("A  {}  {}\nB  {}  {}\n", a.name, diff.digest_a, b.name, diff.digest_b);
  if (diff.equal()) text += "the same network, plan and weights: equal digests\n";
  std::string part;
  for (const Difference& d : diff.differences) {
    if (d.part != part) text += fmt::format("\n{}\n", d.part);
    part = d.part;
    text += fmt::format("  {:8} {}\n           A: {}\n           B: {}\n           {}\n",
                        effect_name(d.effect), d.subject, shown(d.a), shown(d.b), d.reason);
  }
  if (!diff.same_network)
    return text + "\ntwo networks: their steps and weights are not compared\n";
  return text + fmt::format(
                    "\n{} differences: {} of speed only, {} of numbers only, {} of both, "
                    "{} of neither\n",
                    diff.differences.size(), diff.count(DiffEffect::kSpeed),
                    diff.count(DiffEffect::kNumbers), diff.count(DiffEffect::kBoth),
                    diff.count(DiffEffect::kNeither));
}

std::string diff_json(const EngineDiff& diff, const DiffSide& a, const DiffSide& b) {
  nlohmann::ordered_json json = {{"a", a.name},
                                 {"b", b.name},
                                 {"digest_a", diff.digest_a},
                                 {"digest_b", diff.digest_b},
                                 {"equal", diff.equal()},
                                 {"same_network", diff.same_network}};
  json["differences"] = nlohmann::ordered_json::array();
  for (const Difference& d : diff.differences) {
    json["differences"].push_back({{"part", d.part},
                                   {"subject", d.subject},
                                   {"a", d.a},
                                   {"b", d.b},
                                   {"effect", effect_name(d.effect)},
                                   {"reason", d.reason}});
  }
  for (const DiffEffect effect :
       {DiffEffect::kSpeed, DiffEffect::kNumbers, DiffEffect::kBoth, DiffEffect::kNeither})
    json[effect_name(effect)] = diff.count(effect);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace stoker
