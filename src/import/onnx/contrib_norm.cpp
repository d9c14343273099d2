// Domain com.microsoft: normalizations with residuals and embeddings; and
// SimplifiedLayerNormalization, which ONNX Runtime's tools write without a domain.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

// 1 / sqrt(mean of x^2 + epsilon) over the axes from `axis` on, in f32.
Value* inverse_rms(Composer& c, Value* x, int64_t axis, double epsilon) {
  const int64_t rank = c.rank(x, "input");
  std::vector<int64_t> axes;
  for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d) axes.push_back(d);
  if (c.dtype(x) != DType::kF64) x = c.cast(x, DType::kF32);
  Value* mean = c.op("reduce_mean", {c.mul(x, x), c.ints(axes, "axes")});
  Value* shifted = c.add(mean, c.scalar(c.dtype(x), epsilon, "epsilon"));
  return c.op("reciprocal", {c.op("sqrt", {shifted})});
}

Status import_rms(NodeImporter& node) {
  Composer c(node);
  Value *x = c.input(0, "X"), *scale = c.input(1, "scale");
  const int64_t axis = node.get_int("axis", -1);
  const double epsilon = node.get_float("epsilon", 1e-5f);
  c.bind(0, c.op("rms_normalization", {x, scale}, {{"axis", axis}, {"epsilon", epsilon}}));
  if (node.wants(1)) c.bind(1, inverse_rms(c, x, axis, epsilon));
  return c.status();
}

// input + skip + bias; the sum is output 3.
Value* residual_sum(Composer& c, size_t bias) {
  Value* sum = c.add(c.input(0, "input"), c.input(1, "skip"));
  if (c.node().has_input(bias)) sum = c.add(sum, c.node().input(bias));
  c.bind(3, sum);
  return sum;
}

Status import_skip_norm(NodeImporter& node) {
  Composer c(node);
  Value* sum = residual_sum(c, 4);
  std::vector<Value*> inputs = {sum, c.input(2, "gamma")};
  if (node.has_input(3)) inputs.push_back(node.input(3));
  const auto made =
      c.outputs("layer_normalization", std::move(inputs),
                {{"axis", int64_t{-1}}, {"epsilon", node.get_float("epsilon", 1e-12f)}},
                node.wants(1) || node.wants(2) ? 3 : 1);
  for (size_t i = 0; i < made.size(); ++i) c.bind(i, made[i]);
  return c.status();
}

Status import_skip_rms(NodeImporter& node) {
  Composer c(node);
  Value* sum = residual_sum(c, 3);
  const double epsilon = node.get_float("epsilon", 1e-12f);
  c.bind(0, c.op("rms_normalization", {sum, c.input(2, "gamma")},
                 {{"axis", int64_t{-1}}, {"epsilon", epsilon}}));
  if (node.wants(1)) return unsupported("output 1 (mean): this normalization computes none");
  if (node.wants(2)) c.bind(2, inverse_rms(c, sum, -1, epsilon));
  return c.status();
}

// Group normalization of x in the order that the node says; scale and bias may be of a wider dtype,
// which is then the one that is computed in.
Value* grouped(Composer& c, Value* x) {
  NodeImporter& node = c.node();
  const bool last = node.get_int("channels_last", 1) != 0;
  Value *gamma = c.input(1, "gamma"), *beta = c.input(2, "beta");
  const DType dtype = c.dtype(x), wide = c.dtype(gamma);
  x = c.cast(x, wide);
  if (last) x = c.channels_first(x);
  Value* y = c.op(
      "group_normalization", {x, gamma, beta},
      {{"num_groups", node.get_int("groups", 0)}, {"epsilon", node.get_float("epsilon", 1e-5f)}});
  if (node.get_int("activation", 0) == 1) y = c.op("swish", {y});
  if (last) y = c.channels_last(y);
  return c.cast(y, dtype);
}

Status import_group_norm(NodeImporter& node) {
  Composer c(node);
  return c.finish(grouped(c, c.input(0, "X")));
}

Status import_skip_group_norm(NodeImporter& node) {
  Composer c(node);
  const bool last = node.get_int("channels_last", 1) != 0;
  Value *x = c.input(0, "X"), *skip = c.input(3, "skip"), *bias = node.input(4);
  if (c.rank(skip, "skip") == 2) {
    skip = c.unsqueeze(skip, last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3},
                       "skip_axes");
  }
  Value* sum = c.add(x, skip);
  if (bias && !last) bias = c.unsqueeze(bias, {1, 2}, "bias_axes");
  if (bias) sum = c.add(sum, bias);
  c.bind(1, sum);
  return c.finish(grouped(c, sum));
}

// ---- Embeddings.

struct Embedding {
  Value *ids, *words, *places, *gamma, *beta;
  Value *segments = nullptr, *kinds = nullptr, *mask = nullptr, *positions = nullptr;
};

// Rows 0 to the sequence's length of the table of places, or those that the ids name.
Value* places_of(Composer& c, const Embedding& e) {
  if (e.positions) return c.op("gather", {e.places, e.positions}, {{"axis", int64_t{0}}});
  Value* shape = c.op("shape", {e.ids}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return c.op("slice", {e.places, c.ints({0}, "first_place"), shape, c.ints({0}, "place_axis")});
}

// How many ones each row of the mask has; zeros without a mask.
Value* mask_index(Composer& c, const Embedding& e) {
  if (e.mask) {
    Value* ones = c.op("equal", {e.mask, c.scalar(c.dtype(e.mask), 1, "one")});
    return c.op("reduce_sum", {c.cast(ones, DType::kI32), c.ints({1}, "mask_axis")},
                {{"keepdims", int64_t{0}}});
  }
  Value* rows = c.op("shape", {e.ids}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  return c.op("constant_of_shape", {rows}, {{"value", Tensor::from<int32_t>({1}, {0})}});
}

Status embed(Composer& c, const Embedding& e) {
  Value* sum = c.op("gather", {e.words, e.ids}, {{"axis", int64_t{0}}});
  sum = c.add(sum, places_of(c, e));
  if (e.segments && e.kinds) {
    sum = c.add(sum, c.op("gather", {e.kinds, e.segments}, {{"axis", int64_t{0}}}));
  }
  const double epsilon = c.node().get_float("epsilon", 1e-12f);
  c.bind(0, c.op("layer_normalization", {sum, e.gamma, e.beta},
                 {{"axis", int64_t{-1}}, {"epsilon", epsilon}}));
  if (c.node().wants(1)) c.bind(1, mask_index(c, e));
  c.bind(2, sum);
  return c.status();
}

Status import_embed(NodeImporter& node) {
  Composer c(node);
  Embedding e{.ids = c.input(0, "input_ids"),
              .words = c.input(2, "word_embedding"),
              .places = c.input(3, "position_embedding"),
              .gamma = c.input(5, "gamma"),
              .beta = c.input(6, "beta")};
  e.segments = node.input(1);
  e.kinds = node.input(4);
  e.mask = node.input(7);
  e.positions = node.input(8);
  return embed(c, e);
}

// Every table is in 8 bits, with a scale and a zero point of its own.
Status import_quantized_embed(NodeImporter& node) {
  Composer c(node);
  const auto table = [&](size_t i, size_t scale, size_t zero, const char* what) {
    return c.op("dequantize_linear",
                {c.input(i, what), c.input(scale, "scale"), c.input(zero, "zero point")});
  };
  Embedding e{.ids = c.input(0, "input_ids"),
              .words = table(2, 8, 13, "word_embedding"),
              .places = table(3, 9, 14, "position_embedding"),
              .gamma = table(5, 11, 16, "gamma"),
              .beta = table(6, 12, 17, "beta")};
  e.segments = node.input(1);
  if (e.segments) e.kinds = table(4, 10, 15, "segment_embedding");
  e.mask = node.input(7);
  return embed(c, e);
}

constexpr OnnxOp kOps[] = {
    {"", "SimplifiedLayerNormalization", import_rms},
    {"com.microsoft", "EmbedLayerNormalization", import_embed},
    {"com.microsoft", "GroupNorm", import_group_norm},
    {"com.microsoft", "LayerNormalization", import_same},
    {"com.microsoft", "QEmbedLayerNormalization", import_quantized_embed},
    {"com.microsoft", "SimplifiedLayerNormalization", import_rms},
    {"com.microsoft", "SkipGroupNorm", import_skip_group_norm},
    {"com.microsoft", "SkipLayerNormalization", import_skip_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", import_skip_rms},
};

}  // namespace

std::span<const OnnxOp> contrib_norm_ops() { return kOps; }

}  // namespace stoker
