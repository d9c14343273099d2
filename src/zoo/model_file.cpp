// SPDX-License-Identifier: Apache-2.0
#include "zoo/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/status.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker::zoo {

namespace {

constexpr int64_t kAlignment = 4096;  // of weights in the second file, so that they can be mapped
constexpr int64_t kSmall = 1024;      // weights below it stay in the model
constexpr int64_t kChunk = int64_t{1} << 20;  // floats made at a time

onnx::TensorProto& tensor_of(ModelBuilder& model, const Weight& weight) {
  return *model.proto().mutable_graph()->mutable_initializer(weight.initializer);
}

void store_inside(ModelBuilder& model, const Weight& weight) {
  std::string& bytes = *tensor_of(model, weight).mutable_raw_data();
  bytes.resize(static_cast<size_t>(weight.bytes()));
  // Made in parts and copied: the bytes of a string need not be aligned for floats.
  std::array<float, 4096> part;
  for (int64_t done = 0; done < weight.count;) {
    const int64_t count = std::min<int64_t>(part.size(), weight.count - done);
    const std::span<float> target(part.data(), static_cast<size_t>(count));
    weight.generate(done, target);
    std::ranges::copy(std::as_bytes(target),
                      reinterpret_cast<std::byte*>(bytes.data()) + done * int64_t{sizeof(float)});
    done += count;
  }
}

Result<std::string> serialize(const ModelBuilder& model) {
  std::string bytes;
  bool done = false;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    done = model.proto().SerializeToCodedStream(&coded);
  }
  if (!done) return internal_error("zoo: '{}' did not serialize", model.proto().graph().name());
  return bytes;
}

// An upper bound: each weight adds its bytes, a tag and a length.
int64_t size_bound(const ModelBuilder& model) {
  int64_t total = static_cast<int64_t>(model.proto().ByteSizeLong());
  for (const Weight& weight : model.weights()) total += weight.bytes() + 16;
  return total;
}

void add_entry(onnx::TensorProto& tensor, const char* key, const std::string& value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

Status stream_weight(const Weight& weight, OutputFile& file, std::vector<float>& buffer) {
  for (int64_t done = 0; done < weight.count;) {
    const int64_t count = std::min(kChunk, weight.count - done);
    const std::span<float> target(buffer.data(), static_cast<size_t>(count));
    weight.generate(done, target);
    STOKER_TRY(file.write(std::as_bytes(target)));
    done += count;
  }
  return Status::ok();
}

// Writes the large weights into `file`, called `location`, and says so in the model.
Status store_beside(ModelBuilder& model, OutputFile& file, const std::string& location) {
  std::vector<float> buffer(static_cast<size_t>(kChunk));
  const std::vector<std::byte> zeros(static_cast<size_t>(kAlignment));
  int64_t offset = 0;
  for (const Weight& weight : model.weights()) {
    if (weight.bytes() < kSmall) {
      store_inside(model, weight);
      continue;
    }
    const int64_t padding = (kAlignment - offset % kAlignment) % kAlignment;
    STOKER_TRY(file.write(std::span(zeros).first(static_cast<size_t>(padding))));
    offset += padding;
    auto& tensor = tensor_of(model, weight);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    add_entry(tensor, "location", location);
    add_entry(tensor, "offset", std::to_string(offset));
    add_entry(tensor, "length", std::to_string(weight.bytes()));
    STOKER_TRY(stream_weight(weight, file, buffer));
    offset += weight.bytes();
  }
  return Status::ok();
}

}  // namespace

Result<std::string> model_bytes(ModelBuilder& model, int64_t max_bytes) {
  if (const int64_t size = size_bound(model); size > max_bytes) {
    return error(StatusCode::kResourceExhausted,
                 "zoo: '{}' takes {} bytes, one ONNX file holds at most {}; write it to a file, "
                 "its weights then go into a second file beside it",
                 model.proto().graph().name(), size, max_bytes);
  }
  for (const Weight& weight : model.weights()) store_inside(model, weight);
  return serialize(model);
}

Status write_model(ModelBuilder& model, const std::string& path, int64_t max_bytes) {
  STOKER_ASSIGN(OutputFile file, OutputFile::create(path));
  if (size_bound(model) <= max_bytes) {
    STOKER_ASSIGN(const std::string bytes, model_bytes(model, max_bytes));
    STOKER_TRY(file.write(std::as_bytes(std::span(bytes))));
    return file.commit();
  }
  const std::string data_path = path + ".data";
  STOKER_ASSIGN(OutputFile data, OutputFile::create(data_path));
  STOKER_TRY(store_beside(model, data, std::filesystem::path(data_path).filename().string()));
  STOKER_ASSIGN(const std::string bytes, serialize(model));
  STOKER_TRY(file.write(std::as_bytes(std::span(bytes))));
  STOKER_TRY(data.commit());
  const Status named = file.commit();
  if (!named.is_ok()) {
    std::error_code ignored;
    std::filesystem::remove(data_path, ignored);
  }
  return named;
}

}  // namespace stoker::zoo
