// .npy: numpy's own bytes are read, what is written is what numpy writes, and damaged or foreign
// files are refused with the reason.
// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"
#include "base/file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace stoker {
namespace {

std::string file_bytes(const std::string& header, const std::string& elements, char version = 1) {
  std::string padded = header;
  const size_t prefix = version == 1 ? 10 : 12;
  padded.append(64 - (prefix + padded.size() + 1) % 64, ' ');
  padded += '\n';
  std::string bytes("\x93NUMPY");
  bytes += version;
  bytes += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) {
    bytes += static_cast<char>(padded.size() >> (8 * i) & 0xff);
  }
  return bytes + padded + elements;
}

Result<Tensor> parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes)));
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string dictionary(const std::string& descr, const std::string& order,
                       const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

void expect_refused(const std::string& bytes, StatusCode code, const std::string& words) {
  const auto tensor = parse(bytes);
  ASSERT_FALSE(tensor.is_ok()) << words;
  EXPECT_EQ(tensor.status().code(), code) << tensor.status().message();
  EXPECT_NE(tensor.status().message().find(words), std::string::npos) << tensor.status().message();
}

TEST(Npy, ReadsEveryVersion) {
  for (const char version : {1, 2, 3}) {
    const auto tensor = parse(
        file_bytes(dictionary("<f4", "False", "(2, 3)"), raw<float>({1, 2, 3, 4, 5, 6}), version));
    ASSERT_TRUE(tensor.is_ok()) << tensor.status().message();
    EXPECT_EQ(tensor->shape(), (Shape{2, 3}));
    EXPECT_EQ(tensor->values<float>()[5], 6);
  }
}

TEST(Npy, RearrangesFortranOrder) {
  // The array [[1,2,3],[4,5,6]] column by column.
  const auto tensor =
      parse(file_bytes(dictionary("<i4", "True", "(2, 3)"), raw<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(tensor.is_ok()) << tensor.status().message();
  const auto values = tensor->values<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(values.begin(), values.end()),
            (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsScalarsEmptyTensorsAndBools) {
  auto tensor = parse(file_bytes(dictionary("<i8", "False", "()"), raw<int64_t>({-7})));
  ASSERT_TRUE(tensor.is_ok());
  EXPECT_EQ(tensor->values<int64_t>()[0], -7);
  tensor = parse(file_bytes(dictionary("<f8", "True", "(0, 4)"), ""));
  ASSERT_TRUE(tensor.is_ok());
  EXPECT_EQ(tensor->count(), 0);
  tensor = parse(file_bytes(dictionary("|b1", "False", "(3,)"), std::string("\0\1\5", 3)));
  ASSERT_TRUE(tensor.is_ok());
  EXPECT_EQ(std::memcmp(tensor->data(), "\0\1\1", 3), 0);  // any non-zero byte is true
}

TEST(Npy, RefusesForeignFormsWithTheReason) {
  const std::string four(4, '\0');
  expect_refused(file_bytes(dictionary(">f4", "False", "(1,)"), four), StatusCode::kUnsupported,
                 "big-endian");
  expect_refused(file_bytes(dictionary("|V2", "False", "(2,)"), four), StatusCode::kUnsupported,
                 "bf16");
  expect_refused(file_bytes(dictionary("|O", "False", "(1,)"), four), StatusCode::kUnsupported,
                 "pickled");
  expect_refused(file_bytes(dictionary("<U1", "False", "(1,)"), four), StatusCode::kUnsupported,
                 "<U1");
  expect_refused(
      file_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", four),
      StatusCode::kUnsupported, "structured");
  expect_refused(file_bytes(dictionary("<f4", "False", "(1,)"), four, 4), StatusCode::kUnsupported,
                 "version 4.0");
}

TEST(Npy, RefusesDamage) {
  const std::string good = file_bytes(dictionary("<f4", "False", "(2,)"), raw<float>({1, 2}));
  ASSERT_TRUE(parse(good).is_ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse(good.substr(0, size)).is_ok()) << size;
  }
  expect_refused(good + "x", StatusCode::kCorruptFile, "8 bytes");
  expect_refused("PK\3\4 not numpy", StatusCode::kCorruptFile, "not an .npy");
  const auto header = [](const std::string& text) { return file_bytes(text, ""); };
  expect_refused(header("{}"), StatusCode::kCorruptFile, "needs");
  expect_refused(header("{'descr': '<f4', 'descr': '<f4'}"), StatusCode::kCorruptFile, "repeated");
  expect_refused(header("{'descr': '<f4"), StatusCode::kCorruptFile, "string");
  expect_refused(header(dictionary("<f4", "Maybe", "(1,)")), StatusCode::kCorruptFile, "True");
  expect_refused(header(dictionary("<f4", "False", "(-1,)")), StatusCode::kCorruptFile, "extent");
  expect_refused(header(dictionary("<f4", "False", "(99999999999999999999,)")),
                 StatusCode::kCorruptFile, "extent");
  std::string huge = good;
  huge[8] = huge[9] = '\xff';
  expect_refused(huge, StatusCode::kCorruptFile, "truncated");
}

TEST(Npy, RefusesShapesThatOverflow) {
  for (const char* shape :
       {"(9223372036854775807, 2)", "(4611686018427387904,)", "(4294967296, 4294967296)"}) {
    EXPECT_FALSE(parse(file_bytes(dictionary("<f4", "False", shape), "1234")).is_ok()) << shape;
  }
}

TEST(Npy, WritesStringsAsWideCharacters) {
  const std::string path = testing::TempDir() + "strings.npy";
  const Tensor strings =
      *Tensor::from_strings({2, 2}, {"cat", "", "\u00fc\u732b\U0001F600", "a\xff"});
  ASSERT_TRUE(write_npy(path, strings));
  const Tensor file = *read_file(path, 1 << 20);
  const std::string bytes(static_cast<const char*>(file.data()), static_cast<size_t>(file.bytes()));
  EXPECT_NE(bytes.find("'descr': '<U3'"), std::string::npos);
  EXPECT_NE(bytes.find("'shape': (2, 2)"), std::string::npos);
  const std::u32string expected(U"cat\0\0\0\u00fc\u732b\U0001F600a\uFFFD\0", 12);
  ASSERT_GE(bytes.size(), 48u);
  EXPECT_EQ(std::memcmp(bytes.data() + bytes.size() - 48, expected.data(), 48), 0);
  std::filesystem::remove(path);
}

TEST(Npy, WritesWhatItReads) {
  const std::string folder = testing::TempDir();
  const Tensor tensors[] = {Tensor::from<float>({2, 2}, {1, -2, 3.5f, 4}),
                            Tensor::from<uint8_t>({3}, {0, 128, 255}), Tensor::scalar_i64(-5),
                            Tensor::from<double>({1, 0}, {})};
  for (const Tensor& tensor : tensors) {
    const std::string path = folder + "round-trip.npy";
    const Status written = write_npy(path, tensor);
    ASSERT_TRUE(written.is_ok()) << written.message();
    EXPECT_EQ((std::filesystem::file_size(path) - static_cast<size_t>(tensor.bytes())) % 64, 0u);
    const auto back = read_npy(path);
    ASSERT_TRUE(back.is_ok()) << back.status().message();
    EXPECT_EQ(back->dtype(), tensor.dtype());
    EXPECT_EQ(back->shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(back->data(), tensor.data(), static_cast<size_t>(tensor.bytes())), 0);
    std::filesystem::remove(path);
  }
  EXPECT_FALSE(write_npy(folder + "bf16.npy", *Tensor::allocate(DType::kBF16, {2})).is_ok());
  EXPECT_FALSE(write_npy(folder + "no/such/folder.npy", tensors[0]).is_ok());
}

}  // namespace
}  // namespace stoker
