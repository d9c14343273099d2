// The zoo's files: the same bytes each time, written whole or not at all, in one file or in two.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "import/onnx/import.h"
#include "onnx/onnx-ml.pb.h"
#include "zoo/builder.h"
#include "zoo/model_file.h"

namespace stoker {
namespace {

int64_t offset_of(const onnx::TensorProto& tensor) {
  const std::string& text = tensor.external_data(1).value();
  int64_t offset = -1;
  std::from_chars(text.data(), text.data() + text.size(), offset);
  return offset;
}

// The hash was taken once; another machine or compiler must give it too.
TEST(Zoo, BytesAreTheSameEverywhere) {
  const auto first = zoo_model_bytes("lenet");
  const auto second = zoo_model_bytes("lenet");
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(content_hash(std::as_bytes(std::span(*first))), "c087ec8a32b3da23e5fc6124a1457e27");
}

TEST(Zoo, WeightsAreSpreadAsAsked) {
  zoo::ModelBuilder builder("weights");
  std::vector<float> values(100000);
  builder.normal("w", {100000}, 2.0);
  builder.uniform("u", {100000}, -1, 3);
  for (const auto& [index, mean, deviation] :
       {std::tuple{0, 0.0, 2.0}, std::tuple{1, 1.0, 4 / std::sqrt(12.0)}}) {
    builder.weights()[index].generate(0, values);
    double sum = 0, squares = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    EXPECT_NEAR(sum / 1e5, mean, 0.03);
    EXPECT_NEAR(std::sqrt(squares / 1e5 - sum / 1e5 * sum / 1e5), deviation, 0.03);
  }
}

TEST(Zoo, WeightsMadeInPartsAreTheSame) {
  zoo::ModelBuilder builder("weights");
  builder.normal("w", {1000}, 2.0);
  builder.uniform("u", {1000}, -1, 3);
  std::vector<float> whole(1000), parts(1000);
  for (const zoo::Weight& weight : builder.weights()) {
    weight.generate(0, whole);
    weight.generate(300, std::span(parts).subspan(300));
    weight.generate(0, std::span(parts).first(300));
    EXPECT_EQ(parts, whole);
  }
}

TEST(Zoo, KnownNumbersAreStoredOnce) {
  zoo::ModelBuilder builder("numbers");
  EXPECT_EQ(builder.scalar("two", 2.0f), builder.scalar("two", 2.0f));
  EXPECT_EQ(builder.ints("axes", {1, 2}), builder.ints("axes", {1, 2}));
  EXPECT_EQ(builder.proto().graph().initializer_size(), 2);
  EXPECT_DEATH(builder.scalar("two", 3.0f), "builder.cpp");
}

TEST(Zoo, SmallNetworksImport) {
  for (const char* name : {"mlp", "lenet", "mobilenetv2"}) {
    const auto bytes = zoo_model_bytes(name);
    ASSERT_TRUE(bytes.is_ok());
    const auto imported = import_onnx_bytes(std::as_bytes(std::span(*bytes)), "");
    ASSERT_TRUE(imported.is_ok()) << name << ": " << imported.status().message();
    EXPECT_TRUE(imported->warnings.empty()) << name << ": " << imported->warnings[0];
  }
}

class ZooFiles : public testing::Test {
 protected:
  ZooFiles()
      : folder_(std::filesystem::temp_directory_path() /
                ("stoker_zoo_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ZooFiles() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  size_t count() const {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      files += entry.is_regular_file();
    return files;
  }
  // LeNet under a limit that it does not fit.
  static Status write_in_two(const std::string& path) {
    zoo::ModelBuilder model("lenet");
    find_zoo_entry("lenet")->build(model);
    return zoo::write_model(model, path, 100'000);
  }

  const std::filesystem::path folder_;
};

TEST_F(ZooFiles, WrittenWholeOrNotAtAll) {
  const std::string path = file("lenet.onnx");
  ASSERT_TRUE(write_zoo_model("lenet", path).is_ok());
  EXPECT_EQ(std::filesystem::file_size(path), zoo_model_bytes("lenet")->size());
  EXPECT_FALSE(write_zoo_model("lenet", file("no/lenet.onnx")).is_ok());
  EXPECT_FALSE(write_zoo_model("lenet", folder_.string()).is_ok());
  EXPECT_EQ(count(), 1u);
  const Status unknown = write_zoo_model("alexnet", path);
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_NE(unknown.message().find("resnet50"), std::string::npos);
}

TEST_F(ZooFiles, TooLargeForOneFile) {
  const auto bytes = zoo_model_bytes("llama-1b");
  EXPECT_EQ(bytes.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(bytes.status().message().find("llama-1b"), std::string::npos);
}

// The same constants, whether they stand in the model or beside it.
TEST_F(ZooFiles, WeightsBesideTheModel) {
  ASSERT_TRUE(write_in_two(file("two.onnx")).is_ok());
  EXPECT_EQ(count(), 2u);
  EXPECT_LT(std::filesystem::file_size(file("two.onnx")), 10'000u);
  ASSERT_TRUE(write_zoo_model("lenet", file("one.onnx")).is_ok());
  const auto two = import_onnx_file(file("two.onnx")), one = import_onnx_file(file("one.onnx"));
  ASSERT_TRUE(one.is_ok() && two.is_ok()) << two.status().message();
  EXPECT_EQ(print(*two->graph), print(*one->graph));  // with the hash of every constant

  std::ifstream model_file(file("two.onnx"), std::ios::binary);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromIstream(&model_file));
  int beside = 0;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    ++beside;
    EXPECT_EQ(tensor.external_data(0).value(), "two.onnx.data");  // beside, wherever that is
    EXPECT_EQ(tensor.external_data(1).key(), "offset");
    EXPECT_EQ(offset_of(tensor) % 4096, 0) << tensor.name();
  }
  EXPECT_EQ(beside, 4);  // one convolution and the three linear layers; the rest is small
}

TEST_F(ZooFiles, NeitherOfTwoWhenOneFails) {
  std::filesystem::create_directories(file("a.onnx.data"));  // in the place of the second file
  EXPECT_FALSE(write_in_two(file("a.onnx")).is_ok());
  std::filesystem::create_directories(file("b.onnx"));
  EXPECT_FALSE(write_in_two(file("b.onnx")).is_ok());
  EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace stoker
