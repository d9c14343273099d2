// The list of models.
// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include "base/status.h"
#include "zoo/model_file.h"
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

Result<const ZooEntry*> entry_of(std::string_view name) {
  if (const ZooEntry* entry = find_zoo_entry(name)) return entry;
  std::string names;
  for (const ZooEntry& known : kEntries)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return Status(StatusCode::kNotFound,
                fmt::format("zoo: no model '{}'; there are {}", name, names));
}

}  // namespace

std::span<const ZooEntry> zoo_entries() { return kEntries; }

const ZooEntry* find_zoo_entry(std::string_view name) {
  for (const ZooEntry& entry : kEntries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<std::string> zoo_model_bytes(std::string_view name) {
  STOKER_ASSIGN(const ZooEntry* entry, entry_of(name));
  zoo::ModelBuilder model(entry->name);
  entry->build(model);
  return zoo::model_bytes(model);
}

Status write_zoo_model(std::string_view name, const std::string& path) {
  STOKER_ASSIGN(const ZooEntry* entry, entry_of(name));
  zoo::ModelBuilder model(entry->name);
  entry->build(model);
  return zoo::write_model(model, path);
}

}  // namespace stoker
