// Convolution, pooling, normalization, resizing, recurrence.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/numeric.h"
#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// Until opset 13 the number of outputs told whether the node trains, and two more outputs were the
// batch's own mean and variance.
Status import_batch_norm(NodeImporter& node) {
  const int64_t version = node.version();
  if (version < 9 && node.get_int("spatial", 1) == 0) {
    const Value* scale = node.input(1);
    if (!scale || !scale->type.ranked || scale->type.rank() != 1 || !node.has_input(0) ||
        !node.input(0)->type.ranked || node.input(0)->type.rank() != 2) {
      return unsupported("spatial=0 with statistics per element");
    }
  }
  const bool trains = version >= 14 ? node.get_int("training_mode", 0) != 0
                                    : node.output_count() > 1 && node.get_int("is_test", 0) == 0;
  if (!trains && node.output_count() > 1) {
    return invalid_model("{} outputs without training_mode, expected 1", node.output_count());
  }
  for (const char* name : {"spatial", "is_test", "training_mode"}) node.drop(name);
  if (trains) return node.finish_same(node.inputs(), {{"training_mode", int64_t{1}}});
  node.drop("momentum");
  return import_same(node);
}

// y = x. The mask, where asked for, is true everywhere.
Status import_dropout_inference(NodeImporter& node) {
  if (node.wants(1)) {
    STOKER_ASSIGN(Value* const shape, node.apply("shape", {node.input(0)}));
    Result<Tensor> yes =
        node.version() >= 10
            ? Tensor::from_bytes(DType::kBool, {1}, std::as_bytes(std::span("\1", 1)))
            : Result<Tensor>(Tensor());
    if (node.version() < 10) {  // the mask had the type of the data
      STOKER_ASSIGN(Value* const one, node.scalar_like(node.input(0)->type.dtype, 1, "one"));
      yes = one->constant->reshaped({1});
    }
    if (!yes.is_ok()) return yes.status();
    STOKER_ASSIGN(Value* const mask, node.apply("constant_of_shape", {shape}, {{"value", *yes}}));
    node.bind(1, mask);
  }
  STOKER_ASSIGN(Value* const same, node.apply("identity", {node.input(0)}));
  node.bind(0, same);
  return Status::ok();
}

// Whether the node drops elements is the third input since opset 12, was the attribute is_test
// before opset 7, and is said to be no in between.
Status import_dropout(NodeImporter& node) {
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  const int64_t version = node.version();
  Value* ratio = node.input(1);
  Value* mode = node.input(2);
  if (version < 12) {
    if (version >= 7 || node.get_int("is_test", 0) != 0) return import_dropout_inference(node);
    STOKER_ASSIGN(mode, node.scalar_like(DType::kBool, 1, "training_mode"));
    STOKER_ASSIGN(ratio, node.scalar_like(DType::kF32, node.get_float("ratio", 0.5), "ratio"));
  }
  const bool known = !mode || (mode->constant && mode->constant->count() == 1);
  if (known && (!mode || load_int(mode->constant->dtype())(mode->constant->data(), 0) == 0)) {
    return import_dropout_inference(node);
  }
  Attributes attributes;
  if (node.has("seed")) attributes.set("seed", node.get_int("seed", 0));
  STOKER_ASSIGN(Node* const made,
                node.emit("dropout", {node.input(0), ratio, mode}, std::move(attributes), 2));
  node.bind(0, made->outputs[0]);
  if (!node.wants(1)) return Status::ok();
  Value* mask = made->outputs[1];
  if (version < 10) {
    STOKER_ASSIGN(mask, node.apply("cast", {mask}, {{"to", node.input(0)->type.dtype}}));
  }
  node.bind(1, mask);
  return Status::ok();
}

// Resize of opset 10 and Upsample: positions scale from the corner, nearest takes the pixel below
// when growing and above when shrinking.
Status finish_old_resize(NodeImporter& node, Value* scales) {
  std::string mode = node.get_string("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  return node.finish("resize", {node.input(0), nullptr, scales},
                     {{"mode", mode},
                      {"nearest_mode", std::string("simple")},
                      {"coordinate_transformation_mode", std::string("asymmetric")}});
}

Status import_upsample(NodeImporter& node) {
  if (node.version() >= 9) {
    if (!node.has_input(1)) return invalid_model("input 1 (scales) is left out");
    return finish_old_resize(node, node.input(1));
  }
  std::vector<double> factors = node.get_floats("scales");
  if (factors.empty() && node.has("height_scale")) {
    factors = {1, 1, node.get_float("height_scale", 1), node.get_float("width_scale", 1)};
  }
  if (factors.empty()) return invalid_model("attribute 'scales' is missing");
  std::vector<float> scales(factors.begin(), factors.end());
  Value* constant =
      node.constant(Tensor::from<float>({static_cast<int64_t>(scales.size())}, scales), "scales");
  return finish_old_resize(node, constant);
}

Status import_resize(NodeImporter& node) {
  if (node.version() < 11) {
    if (!node.has_input(1)) return invalid_model("input 1 (scales) is left out");
    return finish_old_resize(node, node.input(1));
  }
  // Opset 11 wrote empty tensors for inputs that are left out.
  std::vector<Value*> inputs = node.inputs();
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] && inputs[i]->type.ranked && inputs[i]->type.rank() == 1 &&
        inputs[i]->type.dims[0] == Dim(0)) {
      inputs[i] = nullptr;
    }
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  return node.finish_same(std::move(inputs));
}

Status import_recurrent(NodeImporter& node) {
  node.drop("output_sequence");  // before opset 7: whether Y is computed at all
  return import_same(node);
}

// Written out: each group is normalized, then scale and bias apply per group (opset 18) or channel.
Status import_group_norm(NodeImporter& node) {
  if (find_op("group_normalization") && node.version() >= 21) return import_same(node);
  const int64_t groups = node.get_int("num_groups", 0);
  for (size_t i = 0; i < 3; ++i) {
    if (!node.has_input(i)) return invalid_model("input {} is left out", i);
  }
  const ValueType& type = node.input(0)->type;
  if (!type.ranked || type.rank() < 2 || !type.dims[1].is_const() || groups < 1 ||
      type.dims[1].value() % groups != 0) {
    return unsupported("expected a known channel count that num_groups={} divides, found {}",
                       groups, type_text(type));
  }
  const int64_t channels = type.dims[1].value();
  const double epsilon = node.get_float("epsilon", 1e-5f);
  STOKER_ASSIGN(Value* const ones, node.scalar_like(type.dtype, 1, "one"));
  STOKER_ASSIGN(Value* const zeros, node.scalar_like(type.dtype, 0, "zero"));
  Value* count = node.constant_i64({groups}, "groups");
  STOKER_ASSIGN(Value* const unit, node.apply("expand", {ones, count}));
  STOKER_ASSIGN(Value* const none, node.apply("expand", {zeros, count}));
  STOKER_ASSIGN(
      Value* const split,
      node.apply("reshape", {node.input(0), node.constant_i64({0, groups, -1}, "split")}));
  STOKER_ASSIGN(Value* const normal,
                node.apply("instance_normalization", {split, unit, none}, {{"epsilon", epsilon}}));
  STOKER_ASSIGN(Value* const shape, node.apply("shape", {node.input(0)}));
  STOKER_ASSIGN(Value* const whole, node.apply("reshape", {normal, shape}));
  Value* factors[2] = {node.input(1), node.input(2)};
  std::vector<int64_t> form(static_cast<size_t>(type.rank()) - 1, 1);
  form[0] = channels;
  Value* target = node.constant_i64(form, "channels");
  for (Value*& factor : factors) {
    if (node.version() < 21) {  // one per group: repeat over the group's channels
      STOKER_ASSIGN(Value* const column,
                    node.apply("reshape", {factor, node.constant_i64({groups, 1}, "column")}));
      STOKER_ASSIGN(
          factor,
          node.apply("expand", {column, node.constant_i64({groups, channels / groups}, "repeat")}));
    }
    STOKER_ASSIGN(factor, node.apply("reshape", {factor, target}));
  }
  STOKER_ASSIGN(Value* const scaled, node.apply("mul", {whole, factors[0]}));
  return node.finish("add", {scaled, factors[1]});
}

// (x - mean) / (sqrt(mean of squares - mean squared) + 1e-9), as the standard's function body.
Status import_mean_variance(NodeImporter& node) {
  if (find_op("mean_variance_normalization")) return import_same(node);
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  Value* x = node.input(0);
  std::vector<int64_t> axes = node.get_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  Value* over = node.constant_i64(axes, "axes");
  STOKER_ASSIGN(Value* const small, node.scalar_like(x->type.dtype, 1e-9, "epsilon"));
  STOKER_ASSIGN(Value* const mean, node.apply("reduce_mean", {x, over}));
  STOKER_ASSIGN(Value* const mean_squared, node.apply("mul", {mean, mean}));
  STOKER_ASSIGN(Value* const squares, node.apply("mul", {x, x}));
  STOKER_ASSIGN(Value* const square_mean, node.apply("reduce_mean", {squares, over}));
  STOKER_ASSIGN(Value* const variance, node.apply("sub", {square_mean, mean_squared}));
  STOKER_ASSIGN(Value* const deviation, node.apply("sqrt", {variance}));
  STOKER_ASSIGN(Value* const divisor, node.apply("add", {deviation, small}));
  STOKER_ASSIGN(Value* const centered, node.apply("sub", {x, mean}));
  return node.finish("div", {centered, divisor});
}

constexpr OnnxOp kOps[] = {
    {"", "AffineGrid", import_same},
    {"", "AveragePool", import_same},
    {"", "BatchNormalization", import_batch_norm},
    {"", "Col2Im", import_same},
    {"", "Conv", import_same},
    {"", "ConvTranspose", import_same},
    {"", "Dropout", import_dropout},
    {"", "GRU", import_recurrent},
    {"", "GlobalAveragePool", import_same},
    {"", "GlobalLpPool", import_same},
    {"", "GlobalMaxPool", import_same},
    {"", "GroupNormalization", import_group_norm},
    {"", "InstanceNormalization", import_same},
    {"", "LRN", import_same},
    {"", "LSTM", import_recurrent},
    {"", "LayerNormalization", import_same},
    {"", "LpNormalization", import_same},
    {"", "LpPool", import_same},
    {"", "MaxPool", import_same},
    {"", "MaxUnpool", import_same},
    {"", "MeanVarianceNormalization", import_mean_variance},
    {"", "NegativeLogLikelihoodLoss", import_same},
    {"", "RMSNormalization", import_same},
    {"", "RNN", import_recurrent},
    {"", "Resize", import_resize},
    {"", "SoftmaxCrossEntropyLoss", import_same},
    {"", "Upsample", import_upsample},
};

}  // namespace

std::span<const OnnxOp> nn_ops() { return kOps; }

}  // namespace stoker
