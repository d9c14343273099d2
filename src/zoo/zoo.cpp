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
    {"efficientnet-b0", "EfficientNet-B0, image classification, 5.3 M parameters",
     zoo::build_efficientnet_b0},
    {"yolov8n", "YOLOv8n with its head, detection at 640x640, 3.2 M parameters",
     zoo::build_yolov8n},
    {"unet", "U-Net, segmentation at 256x256, 31.0 M parameters", zoo::build_unet},
    {"vit-b16", "ViT-B/16, image classification, 86.6 M parameters", zoo::build_vit_b16},
    {"bert-base", "BERT base uncased encoder, 109.5 M parameters", zoo::build_bert_base},
    {"distilbert", "DistilBERT base uncased encoder, 66.4 M parameters", zoo::build_distilbert},
    {"whisper-tiny-encoder", "Whisper tiny, encoder of 30 s of sound, 8.2 M parameters",
     zoo::build_whisper_tiny_encoder},
    {"whisper-tiny-decoder", "Whisper tiny, decoder step with caches, 28.4 M parameters",
     zoo::build_whisper_tiny_decoder},
    {"lstm", "language model of two LSTM layers of 1500 cells, 66.0 M parameters", zoo::build_lstm},
    {"dlrm", "DLRM, Criteo Kaggle configuration with cut tables, 29.1 M parameters",
     zoo::build_dlrm},
    {"llama-135m", "SmolLM2-135M shapes, decoder step with caches", zoo::build_llama_135m},
    {"llama-135m-prefill", "SmolLM2-135M shapes, all tokens at once",
     zoo::build_llama_135m_prefill},
    {"llama-1b", "Llama-3.2-1B shapes, decoder step with caches, 4.9 GB in two files",
     zoo::build_llama_1b},
    {"llama-1b-prefill", "Llama-3.2-1B shapes, all tokens at once, 4.9 GB in two files",
     zoo::build_llama_1b_prefill},
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
