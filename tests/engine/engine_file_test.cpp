// Round trips, digests and refusals of engine files; damaged and hostile ones never crash the
// reader.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "base/hash.h"
#include "engine/codec.h"
#include "engine/engine_file.h"
#include "engine/format.h"
#include "tests/engine/hostile.h"
#include "tests/engine/sample.h"

namespace stoker {
namespace {

using test::dump_plan;
using test::dump_volatile;
using test::sample_engine;
using test::sample_tactics;
using Bytes = std::vector<std::byte>;

Bytes load(const std::string& path) {
  auto tensor = read_file(path, 1 << 24);
  EXPECT_TRUE(tensor.is_ok()) << tensor.status().message();
  const auto* data = static_cast<const std::byte*>(tensor->data());
  return {data, data + tensor->bytes()};
}

Bytes written(const test::TemporaryFolder& folder, const EngineContents& contents) {
  const std::string path = folder.file("sample.engine");
  const auto digest = write_engine(contents, path);
  EXPECT_TRUE(digest.is_ok()) << digest.status().message();
  return load(path);
}

Result<EngineContents> read_bytes(const test::TemporaryFolder& folder, const Bytes& bytes) {
  const std::string path = folder.file("changed.engine");
  // Not the atomic writer: thousands of syncs take minutes.
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return read_engine(path, sample_tactics());
}

template <class T>
void set_at(Bytes& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

TEST(EngineFile, RoundTripKeepsEveryField) {
  const test::TemporaryFolder folder;
  const EngineContents contents = sample_engine();
  const std::string path = folder.file("a.engine");
  const auto digest = write_engine(contents, path);
  ASSERT_TRUE(digest.is_ok()) << digest.status().message();
  EXPECT_EQ(digest->size(), 32u);
  EXPECT_EQ(*digest, *engine_digest(contents));
  const auto read = read_engine(path, sample_tactics());
  ASSERT_TRUE(read.is_ok()) << read.status().message();
  EXPECT_EQ(dump_plan(*read), dump_plan(contents));
  EXPECT_EQ(dump_volatile(read->volatile_section), dump_volatile(contents.volatile_section));
  EXPECT_EQ(*engine_digest(*read), *digest);
  for (const PlanWeight& weight : read->weights) {
    if (weight.dtype == DType::kString) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.bytes.data()) % 64, 0u) << weight.name;
  }
  // Writing what was read gives the same bytes.
  ASSERT_TRUE(write_engine(*read, folder.file("b.engine")).is_ok());
  EXPECT_EQ(load(path), load(folder.file("b.engine")));
}

TEST(EngineFile, WeightsOutliveTheContents) {
  const test::TemporaryFolder folder;
  written(folder, sample_engine());
  Tensor kept;
  {
    auto read = read_engine(folder.file("sample.engine"), sample_tactics());
    ASSERT_TRUE(read.is_ok()) << read.status().message();
    kept = read->weights[0].bytes;
  }
  EXPECT_EQ(kept.values<float>()[4], -2.0f);
}

PlanStep& step_of(EngineContents& c, int index) {
  return c.programs[0].steps[static_cast<size_t>(index)];
}
PlanTensor& tensor_of(EngineContents& c, int index) {
  return c.programs[0].tensors[static_cast<size_t>(index)];
}

// Every byte of a file counts: header, sections and the gaps between them.
TEST(EngineFile, EveryBitFlipIsRefused) {
  const test::TemporaryFolder folder;
  const Bytes good = written(folder, sample_engine());
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    Bytes bad = good;
    const size_t bit = random() % (bad.size() * 8);
    bad[bit / 8] ^= std::byte(1 << (bit % 8));
    const auto read = read_bytes(folder, bad);
    ASSERT_FALSE(read.is_ok()) << "bit " << bit;
    EXPECT_EQ(read.status().code(), StatusCode::kCorruptFile) << read.status().message();
  }
}

TEST(EngineFile, TruncationsAreRefused) {
  const test::TemporaryFolder folder;
  const Bytes good = written(folder, sample_engine());
  std::mt19937_64 random(13);
  for (int i = 0; i < 300; ++i) {
    const size_t size = i < 20 ? static_cast<size_t>(i) * 16 : random() % good.size();
    Bytes bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_bytes(folder, bad).is_ok()) << size;
    test::repair_checksums(bad);
    EXPECT_FALSE(read_bytes(folder, bad).is_ok()) << size;
  }
}

TEST(EngineFile, RefusalsSayWhy) {
  const test::TemporaryFolder folder;
  const Bytes good = written(folder, sample_engine());
  const auto message_of = [&](const std::function<void(Bytes&)>& change) {
    Bytes bad = good;
    change(bad);
    const auto read = read_bytes(folder, bad);
    EXPECT_FALSE(read.is_ok());
    EXPECT_EQ(read.status().code(), StatusCode::kCorruptFile);
    return read.status().message();
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(message_of([](Bytes& b) { b[0] = std::byte{'X'}; }), "not an engine file");
  contains(message_of([](Bytes& b) { set_at(b, 8, uint32_t{7}); }),
           "engine format 7 is newer than this library's 1: rebuild the engine or update Stoker");
  contains(message_of([](Bytes& b) { b.resize(b.size() - 1); }), "truncated");
  contains(message_of([](Bytes& b) { b.push_back({}); }), "overlong");
  contains(message_of([](Bytes& b) { b[40] ^= std::byte{1}; }), "header's checksum");
  contains(message_of([](Bytes& b) { b[4200] ^= std::byte{1}; }), "section plan has checksum");
  contains(message_of([](Bytes& b) { b[300] = std::byte{1}; }),
           "byte 300 lies between two sections");
  contains(message_of([](Bytes& b) { b.resize(100); }), "truncated");
  const auto missing = read_engine(folder.file("none.engine"), sample_tactics());
  ASSERT_FALSE(missing.is_ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
}

TEST(EngineFile, WriterRefusesWhatCannotBeRead) {
  const test::TemporaryFolder folder;
  EngineContents contents = sample_engine();
  contents.weights[0].bytes = Tensor();
  contents.sources.clear();
  contents.manifest.structure.clear();  // a refittable engine may wait for its weights
  EXPECT_FALSE(write_engine(contents, folder.file("x.engine")).is_ok());
  contents = sample_engine();
  contents.manifest.library_version = std::string(32, '1');
  EXPECT_FALSE(write_engine(contents, folder.file("x.engine")).is_ok());
  contents = sample_engine();
  contents.symbols[0].name = "bad name";
  tensor_of(contents, 3).dims[0] = Dim::symbol("bad name");
  EXPECT_FALSE(write_engine(contents, folder.file("x.engine")).is_ok());
  EXPECT_FALSE(file_exists(folder.file("x.engine")));
}

TEST(EngineFile, ExpressionsThatExplodeAreRefused) {
  std::string bomb;
  for (int i = 0; i < 40; ++i)
    bomb += (i ? "*" : "") + std::string("floor_div(2*a") + std::to_string(i) + "+2*b,2)";
  EXPECT_FALSE(engine::check_expression(bomb).is_ok());
  EXPECT_FALSE(engine::check_expression("floor_div(-9223372036854775807-1,-1)").is_ok());
  EXPECT_FALSE(engine::check_expression(std::string(5000, '1')).is_ok());
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "min(1,";
  EXPECT_FALSE(engine::check_expression(deep).is_ok());
  for (const char* good : {"3", "-1", "N", "4*N+1", "ceil_div(H,2)", "min(N,9223372036854775807)",
                           "-N+2", "floor_div(H+2*ceil_div(W,4)-3,2)*N*N"}) {
    EXPECT_TRUE(engine::check_expression(good).is_ok()) << good;
  }
}

TEST(EngineFile, DescriptionsNameEverything) {
  EngineContents contents = sample_engine();
  step_of(contents, 0).origins[0] = "evil\x1b[2J\xff";
  const std::string text = describe_engine(contents, true);
  for (const char* part : {"sample", "N = 1..8", "conv_fast", "conv_b", "fc.w", "gemm_panel",
                           "unfused build", "model x", "input  x: f32[N,4,H,H]",
                           "unfolded constant c", "K is odd", "op library     my_ops 1.1 (89ab)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = nlohmann::json::parse(describe_engine_json(contents));
  EXPECT_EQ(json["manifest"]["model_name"], "sample");
  EXPECT_EQ(json["op_libraries"][1]["version"], "1.1");
  EXPECT_EQ(json["digest"], *engine_digest(contents));
  EXPECT_EQ(json["programs"][0]["steps"].size(), 11u);
  EXPECT_EQ(json["programs"][0]["steps"][0]["tactic"], "conv_fast");
  EXPECT_EQ(json["programs"][0]["inputs"][0]["shape"][0], "N");
  EXPECT_EQ(json["weights"][2]["bytes"], 1024);
  EXPECT_EQ(json["certificate"]["outputs"][0]["output"], "y");
  EXPECT_EQ(json["fingerprint"]["cores"], "2");
}

}  // namespace
}  // namespace stoker
