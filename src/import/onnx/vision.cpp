// Sampling of images and feature maps, regions of interest, boxes, encoded images.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Opset 20 renamed the modes.
Status import_grid_sample(NodeImporter& node) {
  std::string mode = node.get_string("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return node.finish_same(node.inputs(), {{"mode", mode}});
}

Status import_roi_align(NodeImporter& node) {
  const bool old = node.version() < 16;
  const std::string mode =
      node.get_string("coordinate_transformation_mode", old ? "output_half_pixel" : "half_pixel");
  return node.finish_same(node.inputs(), {{"coordinate_transformation_mode", mode}});
}

constexpr OnnxOp kOps[] = {
    {"", "DeformConv", import_same},        {"", "GridSample", import_grid_sample},
    {"", "ImageDecoder", import_same},      {"", "MaxRoiPool", import_same},
    {"", "NonMaxSuppression", import_same}, {"", "RoiAlign", import_roi_align},
};

}  // namespace

std::span<const OnnxOp> vision_ops() { return kOps; }

}  // namespace stoker
