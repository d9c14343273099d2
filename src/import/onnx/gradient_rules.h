// Derivatives of the ops that ai.onnx.preview.training.Gradient may pass through.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/node_importer.h"

namespace stoker {

// A node of the differentiated part with the values at which it is differentiated.
struct Differentiated {
  const Node& node;
  std::vector<Value*> inputs;  // null: left out
  std::vector<Value*> outputs;
  Value* gradient = nullptr;  // of the result with respect to output 0
};

// Short spelling of the IR that a derivative is.
class GradientBuilder {
 public:
  explicit GradientBuilder(NodeImporter& node) : node_(node) {}

  Result<Value*> apply(const char* op, std::vector<Value*> inputs, Attributes attributes = {}) {
    return node_.apply(op, std::move(inputs), std::move(attributes));
  }
  Result<Value*> number(const Value* like, double value) {
    return node_.scalar_like(like->type.dtype, value, "gradient");
  }
  Value* ints(const std::vector<int64_t>& values) {
    return node_.constant_i64(values, "gradient.axes");
  }
  // The tensor of this value with the shape of another.
  Result<Value*> filled(Value* like, double value);
  // Sums over the axes along which `like` was broadcast.
  Result<Value*> sum_to(Value* gradient, Value* like);
  Result<Value*> reshape_like(Value* value, Value* like);
  Result<Value*> transpose_last(Value* value);

 private:
  NodeImporter& node_;
};

// Imports a Gradient node (gradient.cpp).
Status import_gradient(NodeImporter& node);

// The gradient with respect to input i; an error names an op that has no rule here.
Result<Value*> input_gradient(GradientBuilder& build, const Differentiated& d, size_t i);

}  // namespace stoker
