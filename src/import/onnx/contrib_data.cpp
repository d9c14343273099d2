// Domain com.microsoft: data movement, transforms and small functions, most of them older spellings
// of what the standard has today.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "base/numeric.h"
#include "base/status.h"
#include "import/onnx/composer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

Status import_expand_dims(NodeImporter& node) {
  Composer c(node);
  Value *x = c.input(0, "X"), *axis = c.input(1, "axis");
  return c.finish(c.op("unsqueeze", {x, c.cast(c.reshape(axis, {1}, "axis_shape"), DType::kI64)}));
}

// The pads may stand in a matrix of one row.
Status import_pad(NodeImporter& node) {
  Composer c(node);
  std::vector<Value*> inputs = {c.input(0, "data"),
                                c.reshape(c.input(1, "pads"), {-1}, "pads_shape")};
  if (node.has_input(2)) inputs.push_back(c.reshape(node.input(2), {}, "value_shape"));
  return c.finish(c.op("pad", std::move(inputs), {{"mode", node.get_string("mode", "constant")}}));
}

Status import_range(NodeImporter& node) {
  Composer c(node);
  Value *start = c.input(0, "start"), *limit = c.input(1, "limit");
  Value* delta = node.has_input(2) ? node.input(2) : c.scalar(c.dtype(start), 1, "delta");
  return c.finish(c.op("range", {start, limit, delta}));
}

Status import_grid_sample(NodeImporter& node) {
  Composer c(node);
  std::string mode = node.get_string("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return c.finish(c.op("grid_sample", {c.input(0, "X"), c.input(1, "Grid")},
                       {{"align_corners", node.get_int("align_corners", 0)},
                        {"mode", mode},
                        {"padding_mode", node.get_string("padding_mode", "zeros")}}));
}

// All windows of `size` elements along one axis, `step` apart; the windows' elements become the
// last axis.
Status import_unfold(NodeImporter& node) {
  Composer c(node);
  Value* x = c.input(0, "input");
  const int64_t rank = c.rank(x, "input"), given = node.get_int("dim", -1);
  const int64_t size = node.get_int("size", 0), step = node.get_int("step", 1);
  STOKER_TRY(c.status());
  const int64_t axis = given < 0 ? given + rank : given;
  constexpr int64_t kMost = int64_t{1} << 24;
  if (axis < 0 || axis >= rank || size < 1 || size > kMost || step < 1 || step > kMost) {
    return invalid_model(
        "dim is {}, size {}, step {}: expected an axis of {} and numbers from 1 on", given, size,
        step, type_text(x->type));
  }
  Value* length = c.op("shape", {x}, {{"start", axis}, {"end", axis + 1}});
  Value* last = c.op("sub", {length, c.ints({size - 1}, "overhang")});
  Value* starts = c.op("range", {c.scalar(DType::kI64, 0, "first"), c.op("squeeze", {last}),
                                 c.scalar(DType::kI64, static_cast<double>(step), "step")});
  std::vector<int64_t> inside(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) inside[static_cast<size_t>(i)] = i;
  Value* at = c.add(c.unsqueeze(starts, {1}, "window_axis"), c.ints(inside, "inside"));
  Value* windows = c.op("gather", {x, at}, {{"axis", axis}});
  std::vector<int64_t> perm;
  for (int64_t d = 0; d <= rank; ++d) {
    if (d != axis + 1) perm.push_back(d);
  }
  perm.push_back(axis + 1);
  return c.finish(c.transpose(windows, std::move(perm)));
}

// Distances between all rows of two matrices.
Status import_cdist(NodeImporter& node) {
  Composer c(node);
  Value* a = c.unsqueeze(c.input(0, "A"), {1}, "a_axis");
  Value* b = c.unsqueeze(c.input(1, "B"), {0}, "b_axis");
  const std::string metric = node.get_string("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") {
    return unsupported("metric '{}', expected euclidean or sqeuclidean", metric);
  }
  Value* squares = c.op("reduce_sum_square", {c.op("sub", {a, b}), c.ints({-1}, "axes")},
                        {{"keepdims", int64_t{0}}});
  return c.finish(metric == "euclidean" ? c.op("sqrt", {squares}) : squares);
}

// (a + bi) * (c + di), pairs in the last axis; `conjugate` takes c - di.
Status complex_product(NodeImporter& node, bool conjugate) {
  Composer c(node);
  const Attributes halves = {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}};
  const auto a = c.outputs("split", {c.input(0, "A")}, halves, 2);
  const auto b = c.outputs("split", {c.input(1, "B")}, halves, 2);
  Value *real = c.mul(a[0], b[0]), *cross = c.mul(a[1], b[1]);
  Value *left = c.mul(a[1], b[0]), *right = c.mul(a[0], b[1]);
  real = conjugate ? c.add(real, cross) : c.op("sub", {real, cross});
  Value* imaginary = conjugate ? c.op("sub", {left, right}) : c.add(left, right);
  return c.finish(c.op("concat", {real, imaginary}, {{"axis", int64_t{-1}}}));
}

Status import_complex_mul(NodeImporter& node) { return complex_product(node, false); }
Status import_complex_mul_conj(NodeImporter& node) { return complex_product(node, true); }

Status import_is_all_finite(NodeImporter& node) {
  Composer c(node);
  const bool only_nan = node.get_int("isnan_only", 0) != 0;
  const bool only_inf = node.get_int("isinf_only", 0) != 0;
  Value* any = nullptr;
  for (size_t i = 0; i < node.input_count(); ++i) {
    Value* x = c.input(i, "input");
    Value* bad = only_inf ? nullptr : c.op("is_nan", {x});
    if (!only_nan) {
      Value* infinite = c.op("is_inf", {x});
      bad = bad ? c.op("or", {bad, infinite}) : infinite;
    }
    bad = c.op("reduce_max", {c.cast(bad, DType::kI32)}, {{"keepdims", int64_t{0}}});
    any = any ? c.op("max", {any, bad}) : bad;
  }
  if (!any && c.ok()) return invalid_model("expected at least one input, found none");
  return c.finish(c.op("equal", {any, c.scalar(DType::kI32, 0, "none")}));
}

// ---- Fourier transforms of real signals, as products with matrices of cosines and sines.

constexpr int64_t kMostSamples = 8192;

struct Wave {
  int64_t n, half;  // samples, and frequencies from 0 to n/2
};

// [n, 2 * half]: column 2k holds cos, column 2k + 1 holds -sin of 2 pi k t / n.
Result<Tensor> analysis(const Wave& w, DType dtype, bool inverse) {
  STOKER_ASSIGN(Tensor matrix,
                Tensor::allocate(dtype, inverse ? Shape{2 * w.half, w.n} : Shape{w.n, 2 * w.half}));
  const StoreDouble store = store_double(dtype);
  for (int64_t t = 0; t < w.n; ++t) {
    for (int64_t k = 0; k < w.half; ++k) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(k * t % w.n) / static_cast<double>(w.n);
      // Back: every frequency but the first (and the middle one) stands for its mirror image too.
      const double times = !inverse ? 1 : (k == 0 || 2 * k == w.n ? 1 : 2);
      for (int64_t part = 0; part < 2; ++part) {
        const double value = times * (part == 0 ? std::cos(angle) : -std::sin(angle));
        store(matrix.data(), inverse ? (2 * k + part) * w.n + t : t * 2 * w.half + 2 * k + part,
              value);
      }
    }
  }
  return matrix;
}

Status fourier(NodeImporter& node, bool inverse) {
  Composer c(node);
  Value* x = c.input(0, "X");
  if (node.get_int("signal_ndim", 1) != 1 || node.get_int("onesided", 1) != 1 ||
      node.get_int("normalized", 0) != 0) {
    return unsupported(
        "signal_ndim {}, onesided {}, normalized {}: expected a transform of one axis, onesided, "
        "not normalized",
        node.get_int("signal_ndim", 1), node.get_int("onesided", 1), node.get_int("normalized", 0));
  }
  const int64_t extent = c.extent(x, inverse ? -2 : -1, "the signal");
  const int64_t rank = c.rank(x, "the signal");
  STOKER_TRY(c.status());
  const int64_t n = inverse ? 2 * (extent - 1) : extent;
  if (n < 1 || n > kMostSamples || !is_float(x->type.dtype)) {
    return unsupported("a transform of {} samples of {}, expected 1 to {} of a float dtype", n,
                       dtype_name(x->type.dtype), kMostSamples);
  }
  const Wave wave{n, n / 2 + 1};
  Value* matrix = c.constant(analysis(wave, x->type.dtype, inverse), "waves");
  std::vector<int64_t> shape(static_cast<size_t>(rank), 0);
  if (inverse) {  // pairs become one axis
    shape.pop_back();
    shape.back() = 2 * wave.half;
    return c.finish(c.op("matmul", {c.reshape(x, shape, "pairs"), matrix}));
  }
  shape.back() = wave.half;
  shape.push_back(2);
  return c.finish(c.reshape(c.op("matmul", {x, matrix}), shape, "pairs"));
}

Status import_rfft(NodeImporter& node) { return fourier(node, false); }
Status import_irfft(NodeImporter& node) { return fourier(node, true); }

Status import_murmur_hash(NodeImporter& node) {
  Composer c(node);
  Value* x = c.input(0, "X");
  Attributes attributes = {{"positive", node.get_int("positive", 1)},
                           {"seed", node.get_int("seed", 0)}};
  if (c.ok() && is_float(c.dtype(x))) attributes.set("input_dtype", c.dtype(x));
  return c.finish(c.op("murmur_hash3", {x}, std::move(attributes)));
}

// A table lookup; the further inputs matter to training only.
Status import_torch_embedding(NodeImporter& node) {
  Composer c(node);
  return c.finish(
      c.op("gather", {c.input(0, "weight"), c.input(1, "indices")}, {{"axis", int64_t{0}}}));
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "CDist", import_cdist},
    {"com.microsoft", "ComplexMul", import_complex_mul},
    {"com.microsoft", "ComplexMulConj", import_complex_mul_conj},
    {"com.microsoft", "ExpandDims", import_expand_dims},
    {"com.microsoft", "GatherND", import_same},
    {"com.microsoft", "GridSample", import_grid_sample},
    {"com.microsoft", "Inverse", import_same},
    {"com.microsoft", "Irfft", import_irfft},
    {"com.microsoft", "IsAllFinite", import_is_all_finite},
    {"com.microsoft", "MurmurHash3", import_murmur_hash},
    {"com.microsoft", "Pad", import_pad},
    {"com.microsoft", "Range", import_range},
    {"com.microsoft", "Rfft", import_rfft},
    {"com.microsoft", "TorchEmbedding", import_torch_embedding},
    {"com.microsoft", "Trilu", import_same},
    {"com.microsoft", "UnfoldTensor", import_unfold},
};

}  // namespace

std::span<const OnnxOp> contrib_data_ops() { return kOps; }

}  // namespace stoker
