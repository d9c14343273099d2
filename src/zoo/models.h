// The zoo's models, one file each or per family; zoo.cpp lists them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zoo/builder.h"

namespace stoker::zoo {

void build_mlp(ModelBuilder& model);
void build_lenet(ModelBuilder& model);
void build_resnet50(ModelBuilder& model);
void build_mobilenetv2(ModelBuilder& model);
void build_bert_base(ModelBuilder& model);

}  // namespace stoker::zoo
