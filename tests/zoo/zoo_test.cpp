// The zoo's models have the published numbers of parameters, load through the importer with the
// shapes they declare, and are the same bytes each time.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "import/onnx/import.h"
#include "onnx/onnx-ml.pb.h"
#include "zoo/builder.h"

namespace stoker {
namespace {

TEST(Zoo, ParameterCounts) {
  const std::pair<const char*, int64_t> published[] = {
      {"resnet50", 25557032}, {"mobilenetv2", 3504872}, {"bert-base", 109482240}, {"lenet", 61706}};
  for (const auto& [name, count] : published) {
    const ZooEntry* entry = find_zoo_entry(name);
    ASSERT_NE(entry, nullptr) << name;
    zoo::ModelBuilder model(name);
    entry->build(model);
    EXPECT_EQ(zoo::parameter_count(model), count) << name;
  }
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
  builder.normal("w", {100000}, 2.0);
  builder.uniform("u", {100000}, -1, 3);
  for (const auto& [index, mean, deviation] :
       {std::tuple{0, 0.0, 2.0}, std::tuple{1, 1.0, 4 / std::sqrt(12.0)}}) {
    const std::string& bytes = model.graph().initializer(index).raw_data();
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 100000; ++i) {
      float value;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      sum += value;
      squares += double{value} * value;
    }
    EXPECT_NEAR(sum / 1e5, mean, 0.03);
    EXPECT_NEAR(std::sqrt(squares / 1e5 - sum / 1e5 * sum / 1e5), deviation, 0.03);
  }
}

TEST(Zoo, ModelsImportWithTheirDeclaredShapes) {
  for (const char* name : {"mlp", "lenet", "mobilenetv2", "resnet50"}) {
    const auto bytes = zoo_model_bytes(name);
    ASSERT_TRUE(bytes.is_ok());
    const auto imported = import_onnx_bytes(std::as_bytes(std::span(*bytes)), "");
    ASSERT_TRUE(imported.is_ok()) << name << ": " << imported.status().message();
    EXPECT_TRUE(imported->warnings.empty()) << name << ": " << imported->warnings[0];
    const std::string expected = name[0] == 'm' && name[1] == 'l' ? "f32[N,10]"
                                 : name[0] == 'l'                 ? "f32[N,10]"
                                                                  : "f32[N,1000]";
    EXPECT_EQ(type_text(imported->graph->outputs[0]->type), expected) << name;
  }
}

TEST(Zoo, FilesAreWrittenWholeOrNotAtAll) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("stoker_zoo_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto path = (folder / "lenet.onnx").string();
  ASSERT_TRUE(write_zoo_model("lenet", path).is_ok());
  EXPECT_EQ(std::filesystem::file_size(path), zoo_model_bytes("lenet")->size());
  EXPECT_FALSE(write_zoo_model("lenet", (folder / "no" / "lenet.onnx").string()).is_ok());
  EXPECT_FALSE(write_zoo_model("lenet", folder.string()).is_ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
  std::filesystem::remove_all(folder);
  const Status unknown = write_zoo_model("alexnet", path);
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_NE(unknown.message().find("resnet50"), std::string::npos);
}

}  // namespace
}  // namespace stoker
