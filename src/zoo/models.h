// The zoo's models, one file each or per family; zoo.cpp lists them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zoo/builder.h"

namespace stoker::zoo {

void build_mlp(ModelBuilder& model);
void build_lenet(ModelBuilder& model);
void build_resnet50(ModelBuilder& model);
void build_mobilenetv2(ModelBuilder& model);
void build_efficientnet_b0(ModelBuilder& model);
void build_yolov8n(ModelBuilder& model);
void build_unet(ModelBuilder& model);
void build_vit_b16(ModelBuilder& model);
void build_bert_base(ModelBuilder& model);
void build_distilbert(ModelBuilder& model);
void build_whisper_tiny_encoder(ModelBuilder& model);
void build_whisper_tiny_decoder(ModelBuilder& model);
void build_lstm(ModelBuilder& model);
void build_dlrm(ModelBuilder& model);
void build_llama_135m(ModelBuilder& model);
void build_llama_135m_prefill(ModelBuilder& model);
void build_llama_1b(ModelBuilder& model);
void build_llama_1b_prefill(ModelBuilder& model);

}  // namespace stoker::zoo
