// The list of models and writing them to files.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "onnx/onnx-ml.pb.h"
#include "zoo/models.h"

namespace stoker {

namespace {

constexpr ZooEntry kEntries[] = {
    {"mlp", "perceptron 784-512-256-10, 0.5 M parameters", zoo::build_mlp},
    {"lenet", "LeNet-5 for 28x28 digits, 0.06 M parameters", zoo::build_lenet},
    {"resnet50", "ResNet-50 v1.5, image classification, 25.6 M parameters", zoo::build_resnet50},
    {"mobilenetv2", "MobileNetV2 1.0, image classification, 3.5 M parameters",
     zoo::build_mobilenetv2},
    {"bert-base", "BERT base uncased encoder, 109.5 M parameters", zoo::build_bert_base},
};

}  // namespace

std::span<const ZooEntry> zoo_entries() { return kEntries; }

const ZooEntry* find_zoo_entry(std::string_view name) {
  for (const ZooEntry& entry : kEntries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<std::string> zoo_model_bytes(std::string_view name) {
  const ZooEntry* entry = find_zoo_entry(name);
  if (!entry) {
    std::string names;
    for (const ZooEntry& known : kEntries)
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    return Status(StatusCode::kNotFound,
                  fmt::format("zoo: no model '{}'; there are {}", name, names));
  }
  onnx::ModelProto model;
  entry->build(model);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!model.SerializeToCodedStream(&coded))
      return internal_error("zoo: '{}' did not serialize", name);
  }
  return bytes;
}

Status write_zoo_model(std::string_view name, const std::string& path) {
  STOKER_ASSIGN(const std::string bytes, zoo_model_bytes(name));
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code failure;
  if (!file) {
    const int reason = errno;
    std::filesystem::remove(temporary, failure);
    return error(StatusCode::kResourceExhausted, "cannot write {} bytes to '{}': {}", bytes.size(),
                 path, std::strerror(reason));
  }
  std::filesystem::rename(temporary, path, failure);
  if (failure) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return error(StatusCode::kInvalidArgument, "cannot write '{}': {}", path, failure.message());
  }
  return Status::ok();
}

}  // namespace stoker
