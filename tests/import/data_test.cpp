// Weight data: external files and what is refused about them, and TensorProto of every dtype.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "import/onnx/tensor_proto.h"
#include "onnx/onnx-data.pb.h"
#include "tests/import/onnx_builder.h"

namespace stoker::test {
namespace {

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("stoker_external_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "model" / "inner");
    const float values[] = {1, 2, 3, 4};
    for (const auto& place : {folder_ / "outside.bin", folder_ / "model" / "w.bin",
                              folder_ / "model" / "inner" / "w.bin"}) {
      std::ofstream(place, std::ios::binary)
          .write(reinterpret_cast<const char*>(values), sizeof values);
    }
    std::filesystem::create_symlink("../outside.bin", folder_ / "model" / "link.bin");
    std::filesystem::create_symlink("w.bin", folder_ / "model" / "inside_link.bin");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<ImportedModel> load(const std::string& location, const std::string& offset = "8",
                             const std::string& length = "8") {
    ModelText model(17);
    model.input("x", {"2"});
    model.node("Add", {"x", "w"}, {"y"});
    model.output("y");
    auto* weight = model.graph().add_initializer();
    weight->set_name("w");
    weight->set_data_type(kFloat);
    weight->add_dims(2);
    weight->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location}, std::pair{"offset", offset},
                                     std::pair{"length", length}}) {
      if (value.empty()) continue;
      auto* entry = weight->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const auto path = (folder_ / "model" / "model.onnx").string();
    std::ofstream(path, std::ios::binary) << model.bytes();
    return import_onnx_file(path);
  }
  std::filesystem::path folder_;
};

TEST_F(ExternalData, IsReadFromTheFolder) {
  for (const char* place : {"w.bin", "inner/w.bin", "./w.bin", "inside_link.bin"}) {
    const auto imported = load(place);
    ASSERT_TRUE(imported.is_ok()) << imported.status().message();
    EXPECT_EQ(imported->graph->find_value("w")->constant->values<float>()[0], 3);
  }
  EXPECT_TRUE(load("w.bin", "8", "").is_ok());
}

TEST_F(ExternalData, OutsideIsRefused) {
  for (const std::string& place :
       {std::string("../outside.bin"), (folder_ / "outside.bin").string(),
        std::string("inner/../../outside.bin"), std::string("link.bin")}) {
    expect_in(failure(load(place)), "is refused");
  }
  expect_in(failure(load("absent.bin")), "is not in");
  expect_in(failure(load("")), "is refused");
  expect_in(failure(load("inner")), "not a regular file");
}

TEST_F(ExternalData, RangesAreChecked) {
  expect_in(failure(load("w.bin", "9")), "the file has 16 bytes");
  expect_in(failure(load("w.bin", "9223372036854775807")), "the file has 16 bytes");
  expect_in(failure(load("w.bin", "-1")), "non-negative");
  expect_in(failure(load("w.bin", "8x")), "non-negative");
  expect_in(failure(load("w.bin", "0", "16")), "expected a length of 8 bytes");
}

TEST_F(ExternalData, BytesWithoutAFolderAreRefused) {
  ASSERT_TRUE(load("w.bin").is_ok());
  std::ifstream file(folder_ / "model" / "model.onnx", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  expect_in(failure(import_text(bytes)), "is refused");
}

// Every dtype from its typed field and from raw bytes gives the same tensor.
TEST(TensorProto, TypedAndRawAgree) {
  struct Case {
    onnx::TensorProto::DataType type;
    std::string raw;            // two elements
    std::vector<int32_t> ints;  // int32_data
  };
  const std::vector<Case> cases = {
      {onnx::TensorProto::INT32, std::string("\1\0\0\0\xff\xff\xff\xff", 8), {1, -1}},
      {onnx::TensorProto::UINT8, "\x01\xff", {1, 255}},
      {onnx::TensorProto::INT8, "\x01\xff", {1, -1}},
      {onnx::TensorProto::UINT16, std::string("\1\0\xff\xff", 4), {1, 65535}},
      {onnx::TensorProto::INT16, std::string("\1\0\xff\xff", 4), {1, -1}},
      {onnx::TensorProto::BOOL, std::string("\1\0", 2), {1, 0}},
      {onnx::TensorProto::FLOAT16, std::string("\0\x3c\0\xc0", 4), {0x3c00, 0xc000}},
      {onnx::TensorProto::BFLOAT16, std::string("\x80\x3f\0\xc0", 4), {0x3f80, 0xc000}},
      {onnx::TensorProto::FLOAT8E4M3FN, "\x38\xb8", {0x38, 0xb8}},
      {onnx::TensorProto::FLOAT8E5M2, "\x3c\xbc", {0x3c, 0xbc}},
      {onnx::TensorProto::INT4, "\xf1", {0xf1}},
      {onnx::TensorProto::UINT4, "\xf1", {0xf1}},
      {onnx::TensorProto::FLOAT4E2M1, "\xf1", {0xf1}},
      {onnx::TensorProto::UINT2, "\x0d", {0x0d}},
  };
  for (const Case& c : cases) {
    onnx::TensorProto raw, typed;
    for (auto* proto : {&raw, &typed}) {
      proto->set_data_type(c.type);
      proto->add_dims(2);
    }
    raw.set_raw_data(c.raw);
    for (const int32_t value : c.ints) typed.add_int32_data(value);
    const auto a = tensor_from_proto(raw, {});
    const auto b = tensor_from_proto(typed, {});
    ASSERT_TRUE(a.is_ok()) << c.type << ": " << a.status().message();
    ASSERT_TRUE(b.is_ok()) << c.type << ": " << b.status().message();
    ASSERT_EQ(a->bytes(), static_cast<int64_t>(c.raw.size()));
    EXPECT_EQ(std::memcmp(a->data(), c.raw.data(), c.raw.size()), 0) << c.type;
    EXPECT_EQ(std::memcmp(a->data(), b->data(), c.raw.size()), 0) << c.type;
  }
}

TEST(TensorProto, Files) {
  const auto path =
      std::filesystem::temp_directory_path() / ("stoker_tensor_" + std::to_string(::getpid()));
  onnx::TensorProto proto;
  fill_tensor(proto, {2}, std::vector<float>{1, 2});
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
  const auto value = read_value_proto_file(path.string(), ProtoKind::kTensor);
  ASSERT_TRUE(value.is_ok()) << value.status().message();
  EXPECT_EQ(value->tensor().values<float>()[1], 2);
  onnx::SequenceProto sequence;
  *sequence.add_tensor_values() = proto;
  onnx::OptionalProto optional;
  *optional.mutable_sequence_value() = sequence;
  std::ofstream(path, std::ios::binary) << optional.SerializeAsString();
  const auto nested = read_value_proto_file(path.string(), ProtoKind::kOptional);
  ASSERT_TRUE(nested.is_ok()) << nested.status().message();
  ASSERT_EQ(nested->kind(), AnyValue::Kind::kSequence);
  EXPECT_EQ(nested->elements().at(0).tensor().values<float>()[0], 1);
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString().substr(0, 5);
  EXPECT_FALSE(read_value_proto_file(path.string(), ProtoKind::kTensor).is_ok());
  std::filesystem::remove(path);
  EXPECT_EQ(read_value_proto_file(path.string(), ProtoKind::kTensor).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace stoker::test
