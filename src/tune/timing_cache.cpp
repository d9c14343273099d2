// SPDX-License-Identifier: Apache-2.0
#include "tune/timing_cache.h"

#include <pwd.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/log.h"

namespace stoker {
namespace {

struct Closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

constexpr int kMaxTextBytes = 1 << 20;

constexpr const char* kSchema =
    "create table if not exists timing(desc text, tactic text, version int, config text, machine "
    "text, threads int,"
    " samples text, primary key(desc, tactic, version, config, machine, threads))";

Database open_database(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open(path.c_str(), &raw);
  Database db(raw);
  if (code != SQLITE_OK) return nullptr;
  sqlite3_busy_timeout(db.get(), 2000);
  // The file may come from anybody: what its schema brings to be computed (a view without an end in
  // place of the table, a trigger) is left alone, and no text is longer than samples can be.
  for (const int setting : {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                            SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    sqlite3_db_config(db.get(), setting, 0, nullptr);
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, kMaxTextBytes);
  if (sqlite3_exec(db.get(), kSchema, nullptr, nullptr, nullptr) != SQLITE_OK) return nullptr;
  return db;
}

Statement prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(db, sql, -1, &raw, nullptr);
  return Statement(raw);
}

std::string column(sqlite3_stmt* statement, int index) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, index));
  return text ? text : "";
}

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.c_str(), -1, SQLITE_TRANSIENT);
}

}  // namespace

Result<std::unique_ptr<TimingCache>> TimingCache::open(const std::string& path,
                                                       const std::string& machine) {
  auto cache = std::make_unique<TimingCache>();
  cache->path_ = path;
  cache->machine_ = machine;
  if (path.empty()) return cache;
  Database db = open_database(path);
  Statement rows =
      db ? prepare(db.get(),
                   "select desc, tactic, version, config, threads, samples from timing where "
                   "machine = ?")
         : nullptr;
  if (!rows) {
    log_warn("timing cache {} cannot be read: tactics are timed anew", path);
    cache->path_.clear();
    return cache;
  }
  bind_text(rows.get(), 1, machine);
  while (sqlite3_step(rows.get()) == SQLITE_ROW) {
    TimingKey key{column(rows.get(), 0), column(rows.get(), 1), column(rows.get(), 3),
                  sqlite3_column_int(rows.get(), 2), sqlite3_column_int(rows.get(), 4)};
    std::vector<double> samples;
    std::istringstream text(column(rows.get(), 5));
    for (double sample; text >> sample;) samples.push_back(sample);
    if (!samples.empty()) cache->known_[std::move(key)] = std::move(samples);
  }
  return cache;
}

const std::vector<double>* TimingCache::find(const TimingKey& key) const {
  const auto it = known_.find(key);
  return it == known_.end() ? nullptr : &it->second;
}

void TimingCache::add(const TimingKey& key, std::vector<double> samples_ns) {
  known_[key] = std::move(samples_ns);
  fresh_.push_back(key);
}

Status TimingCache::commit() {
  if (path_.empty() || fresh_.empty()) return Status::ok();
  Database db = open_database(path_);
  if (!db) return error(StatusCode::kResourceExhausted, "timing cache {} cannot be written", path_);
  sqlite3_exec(db.get(), "begin immediate", nullptr, nullptr, nullptr);
  Statement insert = prepare(db.get(), "insert or replace into timing values(?,?,?,?,?,?,?)");
  for (const TimingKey& key : fresh_) {
    std::string samples;
    for (const double sample : known_[key]) samples += fmt::format("{:.0f} ", sample);
    bind_text(insert.get(), 1, key.desc);
    bind_text(insert.get(), 2, key.tactic);
    sqlite3_bind_int(insert.get(), 3, key.version);
    bind_text(insert.get(), 4, key.config);
    bind_text(insert.get(), 5, machine_);
    sqlite3_bind_int(insert.get(), 6, key.threads);
    bind_text(insert.get(), 7, samples);
    sqlite3_step(insert.get());
    sqlite3_reset(insert.get());
  }
  fresh_.clear();
  if (sqlite3_exec(db.get(), "commit", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error(StatusCode::kResourceExhausted, "timing cache {} cannot be written: {}", path_,
                 sqlite3_errmsg(db.get()));
  }
  return Status::ok();
}

std::string default_timing_cache() {
  const passwd* user = getpwuid(getuid());
  if (!user || !user->pw_dir) return "";
  return std::string(user->pw_dir) + "/.cache/stoker/timings.sqlite";
}

}  // namespace stoker
