// TimingCache: samples of earlier contests in an SQLite file, keyed by desc, tactic, version,
// config, machine and threads. Read as a snapshot when opened; written once, at commit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

struct TimingKey {
  std::string desc, tactic, config;
  int32_t version = 0;
  int threads = 1;
  friend auto operator<=>(const TimingKey&, const TimingKey&) = default;
};

// Not thread-safe. Several processes may share the file.
class TimingCache {
 public:
  // An empty path gives a cache that forgets. A damaged file is set aside with a warning, not an
  // error.
  static Result<std::unique_ptr<TimingCache>> open(const std::string& path,
                                                   const std::string& machine);
  const std::vector<double>* find(
      const TimingKey& key) const;  // nanoseconds per sample; null: unknown
  void add(const TimingKey& key, std::vector<double> samples_ns);
  Status commit();

 private:
  std::string path_, machine_;
  std::map<TimingKey, std::vector<double>> known_;
  std::vector<TimingKey> fresh_;
};

// .cache/stoker/timings.sqlite in the home of the user; empty when there is none.
std::string default_timing_cache();

}  // namespace stoker
