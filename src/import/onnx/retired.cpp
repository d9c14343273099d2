// Experimental operators of opset 1 that the standard took back before opset 10; networks that were
// exported from Core ML and Caffe2 then still have them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// alpha * x + beta.
Status import_affine(NodeImporter& node) {
  Composer c(node);
  Value* y = c.scaled(c.input(0, "X"), node.get_float("alpha", 1), "alpha");
  const double beta = node.get_float("beta", 0);
  return c.finish(beta == 0 ? y : c.add(y, c.scalar(c.dtype(y), beta, "beta")));
}

Status import_scale(NodeImporter& node) {
  Composer c(node);
  return c.finish(c.scaled(c.input(0, "input"), node.get_float("scale", 1), "scale"));
}

// scale * x + bias, a number for each channel.
Status import_image_scaler(NodeImporter& node) {
  Composer c(node);
  Value* y = c.scaled(c.input(0, "input"), node.get_float("scale", 1), "scale");
  const std::vector<double> given = node.get_floats("bias");
  if (given.empty() || !c.ok()) return c.finish(y);
  const std::vector<float> bias(given.begin(), given.end());
  Value* channels =
      c.constant(Tensor::from<float>({static_cast<int64_t>(bias.size()), 1, 1}, bias), "bias");
  return c.finish(c.add(y, c.cast(channels, c.dtype(y))));
}

// alpha * f(beta * x).
Status import_scaled(NodeImporter& node, const char* op) {
  Composer c(node);
  Value* x = c.scaled(c.input(0, "input"), node.get_float("beta", 1), "beta");
  return c.finish(c.scaled(c.op(op, {x}), node.get_float("alpha", 1), "alpha"));
}

Status import_scaled_tanh(NodeImporter& node) { return import_scaled(node, "tanh"); }
Status import_parametric_softplus(NodeImporter& node) { return import_scaled(node, "softplus"); }

// Height and width without the border (left, top, right, bottom), or `scale` (height, width) of
// them from the left and top border on.
Status import_crop(NodeImporter& node) {
  Composer c(node);
  Value* x = c.input(0, "input");
  const std::vector<int64_t> border = node.get_ints("border"), size = node.get_ints("scale");
  if (c.rank(x, "input") != 4) {
    return c.ok() ? invalid_model("input is {}, expected rank 4", type_text(x->type)) : c.status();
  }
  if (border.size() != 4 || (!size.empty() && size.size() != 2)) {
    return invalid_model("border has {} numbers and scale {}, expected 4 and 2 or none",
                         border.size(), size.size());
  }
  for (size_t axis = 0; axis < 2; ++axis) {  // height, then width
    constexpr int64_t kMost = int64_t{1} << 40;
    const int64_t start = border[1 - axis], rest = border[3 - axis];
    const int64_t length = size.empty() ? 0 : size[axis];
    if (start < 0 || rest < 0 || length < 0 || std::max({start, rest, length}) > kMost) {
      return invalid_model("border and scale must hold numbers from 0 on");
    }
    // The end counts from the back, where 0 would be the front.
    const int64_t end = !size.empty() ? start + length : rest > 0 ? -rest : INT64_MAX;
    x = c.slice(x, static_cast<int64_t>(axis) + 2, start, end, axis == 0 ? "rows" : "columns");
  }
  return c.finish(x);
}

Status import_dynamic_slice(NodeImporter& node) { return node.finish("slice", node.inputs()); }

constexpr OnnxOp kOps[] = {
    {"", "Affine", import_affine},
    {"", "Crop", import_crop},
    {"", "DynamicSlice", import_dynamic_slice},
    {"", "ImageScaler", import_image_scaler},
    {"", "ParametricSoftplus", import_parametric_softplus},
    {"", "Scale", import_scale},
    {"", "ScaledTanh", import_scaled_tanh},
};

}  // namespace

std::span<const OnnxOp> retired_ops() { return kOps; }

}  // namespace stoker
