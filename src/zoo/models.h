// The zoo's models, one file each; zoo.cpp lists them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace onnx {
class ModelProto;
}

namespace stoker::zoo {

void build_mlp(onnx::ModelProto& model);
void build_lenet(onnx::ModelProto& model);
void build_resnet50(onnx::ModelProto& model);
void build_mobilenetv2(onnx::ModelProto& model);
void build_bert_base(onnx::ModelProto& model);

}  // namespace stoker::zoo
