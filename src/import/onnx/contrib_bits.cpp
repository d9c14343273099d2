// Domain com.microsoft: products with weights of 2, 4 or 8 bits and gathers from such tables, as
// language models have them. The weights stay narrow; dequantize_linear in blocks makes numbers of
// them.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "import/onnx/op_table.h"
#include "import/onnx/packed_weights.h"

namespace stoker {

namespace {

struct NBits {
  int64_t n, k, bits, block;
  int64_t blocks() const { return (k + block - 1) / block; }
};

Result<NBits> n_bits(const NodeImporter& node) {
  const NBits sizes{node.get_int("N", 0), node.get_int("K", 0), node.get_int("bits", 4),
                    node.get_int("block_size", 0)};
  constexpr int64_t kMost = int64_t{1} << 31;
  if (sizes.n < 1 || sizes.k < 1 || sizes.n > kMost || sizes.k > kMost) {
    return invalid_model("N is {} and K is {}, expected numbers from 1 on", sizes.n, sizes.k);
  }
  if (sizes.block < 16 || sizes.block > kMost || (sizes.block & (sizes.block - 1)) != 0) {
    return invalid_model("block_size is {}, expected a power of 2 from 16 on", sizes.block);
  }
  if (const auto dtype = packed_dtype(sizes.bits); !dtype.is_ok()) return dtype.status();
  if (node.get_int("weight_prepacked", 0) != 0) {
    return unsupported("weights in the layout of a GPU (weight_prepacked is {}), expected 0",
                       node.get_int("weight_prepacked", 0));
  }
  return sizes;
}

// (q - zero) * scale where the zero points are of the weight's float dtype.
Value* with_float_zeros(Composer& c, const NBits& s, Value* q, Value* scale, Value* zeros) {
  q = c.reshape(q, {s.n, s.blocks(), s.block}, "blocks");
  q = c.op("sub", {c.cast(q, c.dtype(scale)), c.unsqueeze(zeros, {2}, "zero_axis")});
  q = c.mul(q, c.unsqueeze(scale, {2}, "scale_axis"));
  return c.reshape(q, {s.n, s.blocks() * s.block}, "rows");
}

// Every column of the weight names the block whose scale and zero point it takes.
Value* with_groups(Composer& c, const NBits& s, Value* q, Value* scale, Value* zeros,
                   Value* groups) {
  const DType dtype = c.dtype(scale);
  groups = c.slice(groups, 0, 0, s.k, "groups");
  q = c.cast(c.slice(q, 1, 0, s.k, "columns"), dtype);
  Value* zero = zeros ? c.op("gather", {c.cast(zeros, dtype), groups}, {{"axis", int64_t{1}}})
                      : c.scalar(dtype, static_cast<double>(1 << (s.bits - 1)), "zero");
  scale = c.op("gather", {scale, groups}, {{"axis", int64_t{1}}});
  return c.mul(c.op("sub", {q, zero}), scale);
}

// The weight [N, K] in the dtype of the scales.
Value* weight_of(Composer& c, const NBits& s) {
  NodeImporter& node = c.node();
  const int64_t blocks = s.blocks(), row = blocks * s.block;
  Value* scale = reshape_weight(c, c.input(2, "scales"), {s.n, blocks}, "scales");
  std::vector<Value*> packed = {c.input(1, "B"), nullptr};
  packed[0] = reshape_weight(c, packed[0], {s.n, row * s.bits / 8}, "weight");
  Value* zeros = c.optional_input(3);
  const bool integer_zeros = zeros && c.dtype(zeros) == DType::kU8;
  if (zeros) {
    const int64_t bytes = (blocks * s.bits + 7) / 8;
    zeros = reshape_weight(c, zeros, {s.n, integer_zeros ? bytes : blocks}, "zero_points");
  }
  if (integer_zeros) packed[1] = zeros;
  unpack_together(c, s.bits, packed, {row, blocks});
  if (integer_zeros) zeros = packed[1];
  Value* w = nullptr;
  if (node.has_input(4)) return with_groups(c, s, packed[0], scale, zeros, node.input(4));
  if (zeros && !integer_zeros) {
    w = with_float_zeros(c, s, packed[0], scale, zeros);
  } else {
    const double middle = static_cast<double>(1 << (s.bits - 1));
    w = dequantize_blocks(c, {packed[0], scale, zeros, 1, s.block, middle});
  }
  return row == s.k ? w : c.slice(w, 1, 0, s.k, "columns");
}

// A weight without elements is a product that the model leaves out: zeros.
bool is_empty(const Value* value) {
  if (!value || !value->type.ranked) return false;
  for (const Dim& dim : value->type.dims) {
    if (dim == Dim(0)) return true;
  }
  return false;
}

Value* zero_product(Composer& c, const NBits& s, Value* a) {
  Value* rows = c.op("shape", {a}, {{"start", int64_t{0}}, {"end", int64_t{-1}}});
  Value* shape = c.op("concat", {rows, c.ints({s.n}, "columns")}, {{"axis", int64_t{0}}});
  return c.op("expand", {c.scalar(c.dtype(a), 0, "nothing"), shape});
}

Status import_matmul_n_bits(NodeImporter& node) {
  STOKER_ASSIGN(const NBits sizes, n_bits(node));
  Composer c(node);
  Value* a = c.input(0, "A");
  Value* y = nullptr;
  if (is_empty(node.input(1))) {
    y = zero_product(c, sizes, a);
  } else {
    y = c.op("matmul", {a, c.transpose(weight_of(c, sizes), {1, 0})});
  }
  return c.finish(node.has_input(5) ? c.add(y, node.input(5)) : y);
}

// ---- Rows of a quantized table.

struct Table {
  Value *data, *scales, *zeros;
  int64_t quantize_axis, gather_axis, block;
  double zero = 0;  // where no zero points are given
};

// Rows are picked first, so that only they are dequantized.
Value* gather_rows(Composer& c, const Table& t, Value* indices) {
  const Attributes axis = {{"axis", t.gather_axis}};
  const int64_t moved =
      t.quantize_axis > t.gather_axis ? c.rank(indices, "indices") - 1 : int64_t{0};
  Value* q = c.op("gather", {t.data, indices}, axis);
  Value* scale = c.op("gather", {t.scales, indices}, axis);
  Value* zeros = t.zeros ? c.op("gather", {t.zeros, indices}, axis) : nullptr;
  return dequantize_blocks(c, {q, scale, zeros, t.quantize_axis + moved, t.block, t.zero});
}

Status import_gather_blocks(NodeImporter& node) {
  Composer c(node);
  Value *data = c.input(0, "data"), *indices = c.input(1, "indices");
  Table t{data, c.input(2, "scales"), c.optional_input(3), 0, 0, node.get_int("block_size", 128)};
  const int64_t rank = c.rank(data, "data"), bits = node.get_int("bits", 4);
  STOKER_TRY(c.status());
  const auto axis_of = [&](const char* name, int64_t fallback) {
    const int64_t axis = node.get_int(name, fallback);
    if (axis < -rank || axis >= rank) {
      c.fail(invalid_model("{} is {}, expected an axis of {}", name, axis, type_text(data->type)));
    }
    return axis < 0 ? axis + rank : axis;
  };
  t.quantize_axis = axis_of("quantize_axis", 1);
  t.gather_axis = axis_of("gather_axis", 0);
  STOKER_TRY(c.status());
  if (c.dtype(data) == DType::kU8) {
    if (const auto dtype = packed_dtype(bits); !dtype.is_ok()) return dtype.status();
    // A row of zero points has as many elements as a row of scales.
    std::vector<Value*> packed = {data, t.zeros};
    if (bits != 8) {
      unpack_together(c, bits, packed,
                      {c.extent(data, -1, "data") * 8 / bits, c.extent(t.scales, -1, "scales")});
    }
    t.data = packed[0];
    t.zeros = packed[1];
    t.zero = static_cast<double>(1 << (bits - 1));
  }
  if (t.block == 0) t.block = c.extent(t.data, t.quantize_axis, "data");
  if (t.gather_axis != t.quantize_axis) return c.finish(gather_rows(c, t, indices));
  Value* all = dequantize_blocks(c, {t.data, t.scales, t.zeros, t.quantize_axis, t.block, t.zero});
  return c.finish(c.op("gather", {all, indices}, {{"axis", t.gather_axis}}));
}

// ---- Codebooks of 16 values.

// The codes of FP4 (one sign, two exponent and one mantissa bit) and NF4 (quantiles of the normal
// distribution; Dettmers et al., "QLoRA", arXiv 2305.14314, appendix E), over the largest.
constexpr float kFp4[16] = {
    0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
constexpr float kNf4[16] = {-1.0f,        -0.69619280f, -0.52507305f, -0.39491749f,
                            -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                            0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
                            0.44070983f,  0.56261700f,  0.72295684f,  1.0f};

Status import_matmul_codebook(NodeImporter& node) {
  Composer c(node);
  const int64_t n = node.get_int("N", 0), k = node.get_int("K", 0);
  const int64_t block = node.get_int("block_size", 0);
  constexpr int64_t kMost = int64_t{1} << 30;
  if (n < 1 || k < 1 || n > kMost || k > kMost || block < 1 || block > kMost) {
    return invalid_model("N is {}, K is {}, block_size is {}, expected numbers from 1 on", n, k,
                         block);
  }
  Value *a = c.input(0, "A"), *absmax = c.input(2, "absmax");
  const bool normal = node.get_int("quant_type", 0) == 1;
  const std::vector<float> codes(std::begin(normal ? kNf4 : kFp4), std::end(normal ? kNf4 : kFp4));
  Value* table = c.cast(c.constant(Tensor::from<float>({16}, codes), "codes"), c.dtype(absmax));
  const int64_t blocks = (n * k + block - 1) / block, rest = blocks * block - n * k;
  Value* q = unpack_bits(c, c.input(1, "B"), 4, n * k, BitOrder::kHighFirst);
  if (rest > 0) q = c.op("pad", {q, c.ints({0, rest}, "last_block")});
  Value* w = c.op("gather", {table, c.cast(q, DType::kI32)}, {{"axis", int64_t{0}}});
  w = c.mul(c.reshape(w, {blocks, block}, "blocks"), c.unsqueeze(absmax, {1}, "absmax_axis"));
  w = c.reshape(w, {-1}, "flat");
  if (rest > 0) w = c.slice(w, 0, 0, n * k, "weight");
  w = c.reshape(w, {n, k}, "rows");
  if (node.get_int("transB", 1) != 0) w = c.transpose(w, {1, 0});
  return c.finish(c.op("matmul", {a, w}));
}

constexpr OnnxOp kOps[] = {
    {"com.microsoft", "GatherBlockQuantized", import_gather_blocks},
    {"com.microsoft", "MatMulBnb4", import_matmul_codebook},
    {"com.microsoft", "MatMulNBits", import_matmul_n_bits},
};

}  // namespace

std::span<const OnnxOp> contrib_bits_ops() { return kOps; }

}  // namespace stoker
