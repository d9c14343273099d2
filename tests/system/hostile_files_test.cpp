// Thousands of damaged engines and models of every kind: each is refused with a message or does its
// work inside its buffers. Engines have their checksums repaired, so that the damage gets through.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>

#include "base/file.h"
#include "engine/engine_file.h"
#include "stoker/builder.h"
#include "tests/engine/bytes_file.h"
#include "tests/engine/hostile.h"
#include "tests/engine/sample.h"
#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

constexpr int kFlips = 2000, kTruncations = 200;

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 13) / 13.0f - 0.4f;
  return values;
}

ModelText convolution() {
  ModelText m(17);
  m.input("x", {"1", "3", "8", "8"});
  m.initializer<float>("w", {16, 3, 3, 3}, ramp(16 * 27));
  m.initializer<float>("b", {16}, ramp(16));
  m.initializer<float>("f", {16, 10}, ramp(160));
  m.node("Conv", {"x", "w", "b"}, {"c"}).ints("pads", {1, 1, 1, 1});
  m.node("Relu", {"c"}, {"r"});
  m.node("MaxPool", {"r"}, {"p"}).ints("kernel_shape", {2, 2}).ints("strides", {2, 2});
  m.node("GlobalAveragePool", {"p"}, {"g"});
  m.node("Flatten", {"g"}, {"v"});
  m.node("MatMul", {"v", "f"}, {"l"});
  m.node("Softmax", {"l"}, {"y"});
  m.output("y");
  return m;
}

ModelText quantized() {
  ModelText m(17);
  m.input("x", {"4", "32"});
  m.initializer<float>("scale", {}, {0.02f});
  m.initializer<float>("w", {32, 16}, ramp(512));
  auto* zero = m.graph().add_initializer();
  zero->set_name("zero");
  zero->set_data_type(onnx::TensorProto::INT8);
  zero->add_int32_data(0);
  for (const std::string name : {"x", "w"}) {
    m.node("QuantizeLinear", {name, "scale", "zero"}, {name + "q"});
    m.node("DequantizeLinear", {name + "q", "scale", "zero"}, {name + "d"});
  }
  m.node("MatMul", {"xd", "wd"}, {"p"});
  m.node("QuantizeLinear", {"p", "scale", "zero"}, {"q"});
  m.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  m.output("y");
  return m;
}

ModelText dynamic_sizes() {
  ModelText m(17);
  m.input("x", {"N", "T", "8"});
  m.initializer<float>("w", {8, 8}, ramp(64));
  m.initializer<int64_t>("two", {1}, {2});
  m.initializer<int64_t>("rest", {1}, {-1});
  m.initializer<int64_t>("zero", {1}, {0});
  m.node("Shape", {"x"}, {"s"});
  m.node("Slice", {"s", "zero", "two"}, {"nt"});
  m.node("Concat", {"nt", "two", "rest"}, {"target"}).set("axis", int64_t{0});
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("Reshape", {"p", "target"}, {"h"});
  m.node("Transpose", {"h"}, {"t"}).ints("perm", {0, 2, 1, 3});
  m.node("ReduceMean", {"t"}, {"mean"}).ints("axes", {3});
  m.node("Sub", {"t", "mean"}, {"d"});
  m.node("Softmax", {"d"}, {"y"});
  m.output("y");
  return m;
}

ModelText control_flow() {
  ModelText m(17);
  m.input("x", {"N", "4"});
  m.initializer<int64_t>("trips", {}, {3});
  m.node("NonZero", {"x"}, {"places"});
  m.output("places");
  auto loop = m.node("Loop", {"trips", "", "x"}, {"y"});
  auto& body = loop.graph("body");
  body.set_name("body");
  for (const auto& [name, type] :
       {std::pair("i", onnx::TensorProto::INT64), std::pair("go", onnx::TensorProto::BOOL),
        std::pair("v", onnx::TensorProto::FLOAT)}) {
    auto* input = body.add_input();
    input->set_name(name);
    input->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
  add_node(body, "Identity", {"go"}, {"still"});
  add_node(body, "Add", {"v", "v"}, {"next"});
  for (const char* name : {"still", "next"}) body.add_output()->set_name(name);
  m.output("y");
  return m;
}

FileBytes load(const std::string& path) {
  const auto tensor = read_file(path, 1 << 24);
  EXPECT_TRUE(tensor.is_ok()) << tensor.status().message();
  const auto* data = static_cast<const std::byte*>(tensor->data());
  return {data, data + tensor->bytes()};
}

void store(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Result<FileBytes> built(const TemporaryFolder& folder, const ModelText& text) {
  const std::string bytes = text.bytes();
  store(folder.file("m.onnx"), std::as_bytes(std::span(bytes)));
  STOKER_ASSIGN(const Model model, Model::load(folder.file("m.onnx")));
  BuildOptions options;
  options.knobs = {{"tactic_timing", "false"}, {"timing_cache", ""}, {"threads", "1"}};
  options.refittable = true;
  STOKER_ASSIGN(const Engine engine, build(model, options));
  STOKER_TRY(engine.save(folder.file("m.engine")));
  return load(folder.file("m.engine"));
}

using Counts = std::array<int, 5>;

// Damages one engine in all the ways; counts how it ended.
Counts damage(const FileBytes& good, uint64_t seed,
              const std::function<Outcome(const std::string&)>& exercise) {
  std::mt19937_64 random(seed);
  Counts counts{};
  uint64_t plan_bytes = 0;
  std::memcpy(&plan_bytes, good.data() + 64 + 16, sizeof plan_bytes);
  for (int i = 0; i < kFlips; ++i) {
    FileBytes bad = good;
    // Three of four in the plan, where the structure is.
    const size_t byte = i % 4 ? 4096 + random() % plan_bytes : random() % bad.size();
    bad[byte] ^= std::byte(1 << (random() % 8));
    repair_checksums(bad);
    const BytesFile file(bad.data(), bad.size());
    counts[static_cast<size_t>(exercise(file.path()))]++;
  }
  for (int i = 0; i < kTruncations; ++i) {
    FileBytes bad = good;
    bad.resize(random() % good.size());
    repair_checksums(bad);
    const BytesFile file(bad.data(), bad.size());
    EXPECT_EQ(exercise(file.path()), Outcome::kRefused) << bad.size() << " bytes";
  }
  return counts;
}

void report(const char* name, size_t bytes, const Counts& counts) {
  std::printf(
      "%s: %zu bytes, %d flips: %d refused, %d unbound, %d too large, %d failed, %d ran; %d "
      "truncations refused\n",
      name, bytes, kFlips, counts[0], counts[1], counts[2], counts[3], counts[4], kTruncations);
}

struct Kind {
  const char* name;
  ModelText (*model)();
};
constexpr Kind kKinds[] = {{"convolution", convolution},
                           {"quantized", quantized},
                           {"dynamic sizes", dynamic_sizes},
                           {"control flow", control_flow}};

// The guard itself: without it the next test would prove little.
TEST(HostileEngines, LeavingABufferIsNoticed) {
  auto tensor = guarded_tensor(DType::kF32, {3, 5});
  ASSERT_TRUE(tensor.is_ok());
  auto* data = static_cast<volatile char*>(tensor->data());
  data[tensor->bytes() - 1] = 1;
  EXPECT_DEATH(data[tensor->bytes()] = 1, "");
}

TEST(HostileEngines, FlipsAndTruncations) {
  uint64_t seed = 1;
  for (const Kind& kind : kKinds) {
    const TemporaryFolder folder;
    const auto good = built(folder, kind.model());
    ASSERT_TRUE(good.is_ok()) << kind.name << ": " << good.status().message();
    store(folder.file("good.engine"), *good);
    ASSERT_EQ(exercise_engine(folder.file("good.engine")), Outcome::kRan) << kind.name;
    const Counts counts = damage(*good, seed++, exercise_engine);
    report(kind.name, good->size(), counts);
    EXPECT_GT(counts[static_cast<size_t>(Outcome::kRefused)], 100) << kind.name;
    EXPECT_GT(counts[static_cast<size_t>(Outcome::kRan)], 100) << kind.name;
  }
}

// The graph that an engine keeps, damaged, and built from: refused, or an engine comes of it.
TEST(HostileEngines, GraphsToBuildFrom) {
  constexpr int kGraphFlips = 300;
  uint64_t seed = 50;
  for (const Kind& kind : kKinds) {
    const TemporaryFolder folder;
    const auto good = built(folder, kind.model());
    ASSERT_TRUE(good.is_ok()) << kind.name << ": " << good.status().message();
    uint64_t graph[2] = {};  // offset and bytes, of the second entry of the table of sections
    std::memcpy(graph, good->data() + 64 + 32 + 8, sizeof graph);
    std::mt19937_64 random(seed++);
    BuildOptions options;
    options.knobs = {{"tactic_timing", "false"}, {"timing_cache", ""}, {"threads", "1"}};
    int refused = 0, made = 0;
    for (int i = 0; i < kGraphFlips; ++i) {
      FileBytes bad = *good;
      bad[graph[0] + random() % graph[1]] ^= std::byte(1 << (random() % 8));
      repair_checksums(bad);
      const BytesFile file(bad.data(), bad.size());
      const auto engine = Engine::load(file.path());
      ASSERT_TRUE(engine.is_ok()) << engine.status().message();  // running needs no graph
      const auto model = Model::of(*engine);
      if (model.is_ok() && build(*model, options).is_ok()) {
        ++made;
      } else {
        ++refused;
      }
    }
    std::printf("%s: %d damaged graphs: %d refused, %d built\n", kind.name, kGraphFlips, refused,
                made);
    EXPECT_GT(refused, 30) << kind.name;
    EXPECT_GT(made, 30) << kind.name;
  }
}

// Its tactics are made up, so that it is read and verified only.
TEST(HostileEngines, SampleOfEveryField) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_engine(sample_engine(), folder.file("sample.engine")).is_ok());
  const FileBytes good = load(folder.file("sample.engine"));
  const Counts counts = damage(good, 99, [](const std::string& path) {
    const auto read = read_engine(path, sample_tactics());
    if (!read.is_ok()) return Outcome::kRefused;
    EXPECT_TRUE(verify_plan(*read, sample_tactics()).is_ok());
    EXPECT_FALSE(describe_engine(*read, true).empty());
    return Outcome::kUnbound;
  });
  report("sample", good.size(), counts);
  EXPECT_GT(counts[static_cast<size_t>(Outcome::kRefused)], 200);
}

ModelText shapes_from_constants() {
  ModelText m(17);
  m.input("x", {"2", "6"});
  m.initializer<int64_t>("shape", {3}, {2, 3, 2});
  m.initializer<int64_t>("times", {3}, {1, 2, 1});
  m.initializer<int64_t>("start", {1}, {1});
  m.initializer<int64_t>("end", {1}, {5});
  m.initializer<int64_t>("axis", {1}, {1});
  m.node("Reshape", {"x", "shape"}, {"r"});
  m.node("Tile", {"r", "times"}, {"t"});
  m.node("Slice", {"t", "start", "end", "axis"}, {"s"});
  m.node("Transpose", {"s"}, {"y"}).ints("perm", {2, 0, 1});
  m.output("y");
  return m;
}

// An importer that takes a changed model must have made a graph that builds, or that the build
// refuses in words.
TEST(HostileModels, FlipsThroughImportAndBuild) {
  BuildOptions options;
  options.knobs = {{"tactic_timing", "false"}, {"timing_cache", ""}, {"threads", "1"}};
  std::vector<Kind> kinds(std::begin(kKinds), std::end(kKinds));
  kinds.push_back({"shapes from constants", shapes_from_constants});
  uint64_t seed = 1;
  for (const Kind& kind : kinds) {
    const std::string good = kind.model().bytes();
    std::mt19937_64 random(seed++);
    int refused = 0, failed = 0, built = 0;
    for (int i = 0; i < kFlips; ++i) {
      std::string bad = good;
      // Weights are most of a model, and any weight is right: the rest is where damage tells.
      const size_t place =
          i % 2 ? random() % bad.size() : random() % std::min<size_t>(bad.size(), 400);
      bad[place] = static_cast<char>(bad[place] ^ (1 << (random() % 8)));
      const BytesFile file(bad.data(), bad.size());
      const auto model = Model::load(file.path());
      const auto engine = model ? build(*model, options) : Result<Engine>(model.status());
      if (!engine) {
        EXPECT_FALSE(engine.status().message().empty());
        EXPECT_NE(engine.status().code(), StatusCode::kInternal) << engine.status().message();
      }
      ++(!model ? refused : !engine ? failed : built);
    }
    std::printf("%s: %zu bytes, %d flips: %d refused, %d not built, %d built\n", kind.name,
                good.size(), kFlips, refused, failed, built);
    EXPECT_GT(refused, 100) << kind.name;
    EXPECT_GT(built, 100) << kind.name;
  }
}

}  // namespace
}  // namespace stoker::test
