// Files are read whole or refused, and written whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/hash.h"
#include "base/hash_stream.h"
#include "base/log.h"
#include "tests/engine/sample.h"

namespace stoker {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string content(const std::string& path) {
  const auto tensor = read_file(path, 1 << 20);
  EXPECT_TRUE(tensor.is_ok()) << tensor.status().message();
  return {static_cast<const char*>(tensor->data()), static_cast<size_t>(tensor->bytes())};
}

int entries(const test::TemporaryFolder& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    count += entry.exists();
  return count;
}

TEST(File, WritesPiecesAndReplaces) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("a");
  const std::string one = "one", two(100'000, 'x');
  const std::vector<std::span<const std::byte>> pieces{bytes_of(one), {}, bytes_of(two)};
  ASSERT_TRUE(write_file_atomic(path, pieces).is_ok());
  EXPECT_EQ(content(path), one + two);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(write_file_atomic(path, bytes_of(one)).is_ok());
  EXPECT_EQ(content(path), one);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(entries(folder), 1) << "a temporary file was left behind";
}

TEST(File, NothingIsSeenBeforeTheCommit) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("a");
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file.is_ok());
    ASSERT_TRUE(file->write(bytes_of("lost")).is_ok());
    EXPECT_FALSE(file_exists(path));
  }
  EXPECT_EQ(entries(folder), 0) << "a temporary file was left behind";
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.is_ok());
  ASSERT_TRUE(file->write(bytes_of("one, ")).is_ok());
  ASSERT_TRUE(file->write(bytes_of("two")).is_ok());
  OutputFile moved = std::move(*file);
  ASSERT_TRUE(moved.commit().is_ok());
  EXPECT_EQ(content(path), "one, two");
  EXPECT_EQ(entries(folder), 1);
}

TEST(File, ReadRefusals) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_file(folder.file("none"), 10).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(read_file(folder.path().string(), 10).is_ok());
  EXPECT_FALSE(read_file("", 10).is_ok());
  EXPECT_FALSE(read_file("/dev/zero", 10).is_ok());
  ASSERT_EQ(mkfifo(folder.file("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(folder.file("fifo"), 10).is_ok());
  ASSERT_TRUE(write_file_atomic(folder.file("a"), bytes_of("0123456789")).is_ok());
  EXPECT_TRUE(read_file(folder.file("a"), 10).is_ok());
  EXPECT_EQ(read_file(folder.file("a"), 9).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(file_exists(folder.file("a")));
  EXPECT_FALSE(file_exists(folder.path().string()));
}

TEST(File, ReadAtStaysInside) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder.file("a"), bytes_of("0123456789")).is_ok());
  auto file = InputFile::open(folder.file("a"));
  ASSERT_TRUE(file.is_ok());
  EXPECT_EQ(file->bytes(), 10);
  std::vector<std::byte> buffer(4);
  ASSERT_TRUE(file->read_at(6, buffer).is_ok());
  EXPECT_EQ(std::memcmp(buffer.data(), "6789", 4), 0);
  EXPECT_EQ(file->read_at(7, buffer).code(), StatusCode::kCorruptFile);
  EXPECT_FALSE(file->read_at(-1, buffer).is_ok());
  EXPECT_FALSE(file->read_at(INT64_MAX, buffer).is_ok());
}

TEST(File, WriteRefusals) {
  const test::TemporaryFolder folder;
  const Status missing = write_file_atomic(folder.file("no/such/a"), bytes_of("x"));
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("does not exist"), std::string::npos) << missing.message();
  EXPECT_FALSE(write_file_atomic(folder.path().string(), bytes_of("x")).is_ok());
  EXPECT_FALSE(write_file_atomic("", bytes_of("x")).is_ok());
  EXPECT_FALSE(write_file_atomic("/dev/null", bytes_of("x")).is_ok());
  ASSERT_TRUE(write_file_atomic(folder.file("a"), bytes_of("x")).is_ok());
  EXPECT_EQ(write_file_atomic(folder.file("a") + "/b", bytes_of("x")).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(entries(folder), 1);
}

// The superuser may write anywhere, so the test becomes somebody else for a moment.
TEST(File, NoPermission) {
  constexpr uid_t kNobody = 65534;
  const test::TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0500), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const Status status = write_file_atomic(folder.file("a"), bytes_of("x"));
  if (user == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  chmod(folder.path().c_str(), 0700);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("check the permissions"), std::string::npos) << status.message();
}

// A limit on file sizes stands for the full disk.
TEST(File, FullDiskLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("a");
  ASSERT_TRUE(write_file_atomic(path, bytes_of("old")).is_ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file_atomic(path, bytes_of(std::string(1 << 20, 'n')));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(entries(folder), 1) << "a temporary file was left behind";
}

// What a signal handler calls: only files that are not done yet disappear.
TEST(File, UnfinishedFilesCanBeRemoved) {
  const test::TemporaryFolder folder;
  auto open = OutputFile::create(folder.file("open"));
  auto done = OutputFile::create(folder.file("done"));
  ASSERT_TRUE(open.is_ok() && done.is_ok());
  ASSERT_TRUE(open->write(bytes_of("half")).is_ok());
  ASSERT_TRUE(done->write(bytes_of("whole")).is_ok());
  ASSERT_TRUE(done->commit().is_ok());
  EXPECT_EQ(entries(folder), 2);
  remove_unfinished_files();
  EXPECT_EQ(entries(folder), 1);
  EXPECT_EQ(content(folder.file("done")), "whole");
}

TEST(HashStream, EqualsTheHashesOfWholes) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 31);
  HashStream narrow(HashStream::Width::k64), wide(HashStream::Width::k128);
  for (size_t at = 0, piece = 1; at < text.size(); at += piece, piece = piece * 2 % 777 + 1) {
    const auto part = bytes_of(text).subspan(at, std::min(piece, text.size() - at));
    narrow.update(part);
    wide.update(part);
  }
  EXPECT_EQ(narrow.digest64(), hash64(bytes_of(text)));
  EXPECT_EQ(wide.digest128(), content_hash(bytes_of(text)));
}

TEST(Log, Levels) {
  const LogLevel before = log_level();
  ASSERT_TRUE(set_log_level("error").is_ok());
  EXPECT_FALSE(log_enabled(LogLevel::kWarn));
  testing::internal::CaptureStderr();
  log_warn("hidden {}", 1);
  log_error("shown {}", 2);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_NE(text.find("shown 2"), std::string::npos) << text;
  EXPECT_FALSE(set_log_level("loud").is_ok());
  set_log_level(before);
}

}  // namespace
}  // namespace stoker
