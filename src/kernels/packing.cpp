// Packing of constant weights into the forms of tensor_desc.h, and back. Every packed position is
// either an element of the canonical weight, padding (zero), or a column sum behind the panels.
//
// Unsigned weights of the 8-bit packings are stored as i8 (w - 128); the kernels shift the zero
// point by as much.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/status.h"
#include "kernels/desc/recurrent.h"
#include "kernels/tactic.h"

namespace stoker {
namespace {

constexpr int64_t kMaxPackedBytes = int64_t{1} << 46;

// Sizes of a packed weight. Gemm: O = N, I = K, outer = batches. Conv: outer = 1. Recurrent: O =
// hidden, I = K, outer = directions.
struct Geometry {
  int64_t outer = 1, o = 0, i = 0, kh = 1, kw = 1;
  int64_t element_bytes = 4;
  bool transposed = false;  // gemm: canonical form is [N, K]
  bool sums = false;
  bool is_unsigned = false;
  const RecurrentParams* recurrent = nullptr;
  int64_t elements = 0;  // packed ones, without the sums
  int64_t sum_count = 0;
  int64_t bytes = 0;
};

int64_t blocks(int64_t count, int64_t size) { return count / size + (count % size != 0); }

bool multiply(int64_t& product, int64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product) && product <= kMaxPackedBytes;
}

Status check_dtype(DType dtype, Packing packing) {
  const bool eight_bits = dtype == DType::kU8 || dtype == DType::kI8;
  const bool needs_eight = packing == Packing::kGemmPanelI8 || packing == Packing::kConvC16I8 ||
                           packing == Packing::kConvStemI8;
  const bool any = packing == Packing::kDepthwiseC16 || packing == Packing::kGemmPanel ||
                   packing == Packing::kGatePanel;
  const bool fine = needs_eight ? eight_bits : dtype == DType::kF32 || (any && eight_bits);
  if (fine) return Status::ok();
  return unsupported("packing {}: weight has dtype {}, expected {}; choose another packing",
                     packing_name(packing), dtype_name(dtype), needs_eight ? "u8 or i8" : "f32");
}

Status fill_sizes(Geometry& g, Packing packing) {
  int64_t elements = g.outer, sums = 0;
  bool fits = true;
  const auto times = [&](int64_t factor) { fits = fits && multiply(elements, factor); };
  const int64_t o_blocks = blocks(g.o, 16);
  switch (packing) {
    case Packing::kGatePanel:
      for (const int64_t f : {gate_count(*g.recurrent), o_blocks, g.i, int64_t{16}}) times(f);
      break;
    case Packing::kGemmPanel:
      for (const int64_t f : {o_blocks, g.i, int64_t{16}}) times(f);
      break;
    case Packing::kGemmPanelI8:
      for (const int64_t f : {o_blocks, blocks(g.i, 4), int64_t{64}}) times(f);
      sums = g.outer;
      break;
    case Packing::kConvC16:
    case Packing::kConvC16I8:
    case Packing::kConvTransposeC16:
      for (const int64_t f : {o_blocks, blocks(g.i, 16), g.kh, g.kw, int64_t{256}}) times(f);
      sums = packing == Packing::kConvC16I8;
      break;
    case Packing::kConvStem:
      for (const int64_t f : {o_blocks, g.i, g.kh, g.kw, int64_t{16}}) times(f);
      break;
    case Packing::kConvStemI8:
      for (const int64_t f : {o_blocks, blocks(g.i, 4), g.kh, g.kw, int64_t{64}}) times(f);
      sums = 1;
      break;
    default:
      for (const int64_t f : {o_blocks, g.kh, g.kw, int64_t{16}}) times(f);
  }
  g.elements = g.bytes = elements;
  fits = fits && multiply(g.bytes, g.element_bytes);
  if (sums) fits = fits && multiply(sums, o_blocks) && multiply(sums, 16);
  g.sum_count = sums;
  g.sums = sums > 0;
  if (!fits || sums > kMaxPackedBytes / 4) {
    return error(StatusCode::kResourceExhausted, "packing {}: the packed weight exceeds {} bytes",
                 packing_name(packing), kMaxPackedBytes);
  }
  g.bytes += sums * 4;
  return Status::ok();
}

// The table of a gather, as the transposed B of a product has it.
Status fill_table(Geometry& g, const Desc& spec) {
  const std::vector<int64_t>& dims = spec.inputs[0].dims;
  if (dims.size() != 2) return unsupported("packing gemm_panel: a table of rank {}", dims.size());
  g.transposed = true;
  g.o = dims[0];
  g.i = dims[1];
  return Status::ok();
}

Status fill_gemm(Geometry& g, const Desc& spec, Packing packing) {
  const std::vector<int64_t>& dims = spec.inputs[1].dims;
  if (spec.family() != Family::kGemm || dims.size() < 2) {
    return unsupported("packing {}: expected the B of a gemm with rank >= 2, found rank {} of a {}",
                       packing_name(packing), dims.size(), family_name(spec.family()));
  }
  g.transposed = spec.as<GemmParams>().transpose_b;
  const size_t rank = dims.size();
  g.i = g.transposed ? dims[rank - 1] : dims[rank - 2];
  g.o = g.transposed ? dims[rank - 2] : dims[rank - 1];
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (!multiply(g.outer, dims[d])) {
      return error(StatusCode::kResourceExhausted, "packing: the batch of the weight overflows");
    }
  }
  return Status::ok();
}

Status fill_conv(Geometry& g, const Desc& spec, Packing packing) {
  const std::vector<int64_t>& dims = spec.inputs[1].dims;
  if (spec.family() != Family::kConv || (dims.size() != 3 && dims.size() != 4)) {
    return unsupported("packing {}: expected a conv weight of rank 3 or 4, found rank {} of a {}",
                       packing_name(packing), dims.size(), family_name(spec.family()));
  }
  const int64_t group = spec.as<ConvParams>().group;
  const bool transposed = spec.as<ConvParams>().transposed;
  if (transposed != (packing == Packing::kConvTransposeC16)) {
    return unsupported("packing {} does not hold the weight of a {}conv", packing_name(packing),
                       transposed ? "transposed " : "");
  }
  const bool depthwise = packing == Packing::kDepthwiseC16;
  if (depthwise ? dims[1] != 1 || group != dims[0] : group != 1) {
    return unsupported("packing {}: a weight of {} groups does not fit; choose another packing",
                       packing_name(packing), group);
  }
  g.o = dims[transposed ? 1 : 0];
  g.i = dims[transposed ? 0 : 1];
  if (dims.size() == 4) g.kh = dims[2];
  g.kw = dims.back();
  return Status::ok();
}

Status fill_gates(Geometry& g, const Desc& spec, int index) {
  const std::vector<int64_t>& dims = spec.inputs[static_cast<size_t>(index)].dims;
  if (spec.family() != Family::kRecurrent || dims.size() != 3) {
    return unsupported(
        "packing gate_panel: expected W or R of a recurrent layer, found rank {} of "
        "a {}",
        dims.size(), family_name(spec.family()));
  }
  g.recurrent = &spec.as<RecurrentParams>();
  const int64_t gates = gate_count(*g.recurrent);
  if (dims[1] % gates != 0)
    return unsupported("packing gate_panel: {} rows are not {} gates", dims[1], gates);
  g.outer = dims[0];
  g.o = dims[1] / gates;
  g.i = dims[2];
  return Status::ok();
}

Result<Geometry> geometry(const Desc& spec, int index, Packing packing) {
  const bool gates = packing == Packing::kGatePanel;
  const bool table = packing == Packing::kGemmPanel && spec.family() == Family::kGather;
  if (index != (table                 ? 0
                : gates && index == 2 ? 2
                                      : 1) ||
      index >= static_cast<int>(spec.inputs.size())) {
    return unsupported("packing {}: operand {} of a {} is not a weight", packing_name(packing),
                       index, family_name(spec.family()));
  }
  const TensorDesc& weight = spec.inputs[static_cast<size_t>(index)];
  STOKER_TRY(check_dtype(weight.dtype, packing));
  for (const int64_t extent : weight.dims) {
    if (extent < 0)
      return invalid_argument("packing {}: negative extent {}", packing_name(packing), extent);
  }
  Geometry g;
  g.element_bytes = dtype_bits(weight.dtype) / 8;
  g.is_unsigned = weight.dtype == DType::kU8 && packing != Packing::kDepthwiseC16;
  if (gates) {
    STOKER_TRY(fill_gates(g, spec, index));
  } else if (table) {
    STOKER_TRY(fill_table(g, spec));
  } else if (packing == Packing::kGemmPanel || packing == Packing::kGemmPanelI8) {
    STOKER_TRY(fill_gemm(g, spec, packing));
  } else {
    STOKER_TRY(fill_conv(g, spec, packing));
  }
  STOKER_TRY(fill_sizes(g, packing));
  return g;
}

// Calls visit(packed position, canonical position, column of the sums) for every canonical element.
template <class Visit>
void walk_gemm(const Geometry& g, int64_t k_group, Visit visit) {
  const int64_t panels = blocks(g.o, 16), k_blocks = blocks(g.i, k_group);
  for (int64_t b = 0; b < g.outer; ++b) {
    for (int64_t k = 0; k < g.i; ++k) {
      for (int64_t n = 0; n < g.o; ++n) {
        const int64_t canonical = b * g.i * g.o + (g.transposed ? n * g.i + k : k * g.o + n);
        const int64_t step = (b * panels + n / 16) * k_blocks + k / k_group;
        visit((step * 16 + n % 16) * k_group + k % k_group, canonical, b * panels * 16 + n);
      }
    }
  }
}

template <class Visit>
void walk_gates(const Geometry& g, Visit visit) {
  const int64_t blocks_of = blocks(g.o, 16), gates = gate_count(*g.recurrent);
  int64_t canonical = 0;
  for (int64_t d = 0; d < g.outer; ++d) {
    for (int64_t gate = 0; gate < gates; ++gate) {
      for (int64_t n = 0; n < g.o; ++n) {
        const int64_t panel =
            d * gates * blocks_of + gate_panel(*g.recurrent, blocks_of, n / 16, gate);
        for (int64_t k = 0; k < g.i; ++k)
          visit((panel * g.i + k) * 16 + n % 16, canonical++, int64_t{0});
      }
    }
  }
}

template <class Position, class Visit>
void walk_conv(const Geometry& g, Position position, Visit visit) {
  int64_t canonical = 0;
  for (int64_t o = 0; o < g.o; ++o) {
    for (int64_t i = 0; i < g.i; ++i) {
      for (int64_t h = 0; h < g.kh; ++h) {
        for (int64_t w = 0; w < g.kw; ++w) visit(position(o, i, h, w), canonical++, o);
      }
    }
  }
}

template <class Visit>
void walk(const Geometry& g, Packing packing, Visit visit) {
  const int64_t i16 = blocks(g.i, 16), i4 = blocks(g.i, 4), kh = g.kh, kw = g.kw, ic = g.i;
  switch (packing) {
    case Packing::kGatePanel: return walk_gates(g, visit);
    case Packing::kGemmPanel: return walk_gemm(g, 1, visit);
    case Packing::kGemmPanelI8: return walk_gemm(g, 4, visit);
    case Packing::kConvC16:
      return walk_conv(
          g,
          [=](int64_t o, int64_t i, int64_t h, int64_t w) {
            return ((((o / 16 * i16 + i / 16) * kh + h) * kw + w) * 16 + i % 16) * 16 + o % 16;
          },
          visit);
    case Packing::kConvC16I8:
      return walk_conv(
          g,
          [=](int64_t o, int64_t i, int64_t h, int64_t w) {
            const int64_t tap = ((o / 16 * i16 + i / 16) * kh + h) * kw + w;
            return ((tap * 4 + i % 16 / 4) * 16 + o % 16) * 4 + i % 4;
          },
          visit);
    case Packing::kConvTransposeC16: {
      Geometry swapped = g;
      std::swap(swapped.o, swapped.i);
      return walk_conv(
          swapped,
          [=](int64_t i, int64_t o, int64_t h, int64_t w) {
            return ((((o / 16 * kh + h) * kw + w) * i16 + i / 16) * 16 + i % 16) * 16 + o % 16;
          },
          visit);
    }
    case Packing::kConvStem:
      return walk_conv(
          g,
          [=](int64_t o, int64_t i, int64_t h, int64_t w) {
            return (((o / 16 * ic + i) * kh + h) * kw + w) * 16 + o % 16;
          },
          visit);
    case Packing::kConvStemI8:
      return walk_conv(
          g,
          [=](int64_t o, int64_t i, int64_t h, int64_t w) {
            return ((((o / 16 * kh + h) * kw + w) * i4 + i / 4) * 16 + o % 16) * 4 + i % 4;
          },
          visit);
    default:
      return walk_conv(
          g,
          [=](int64_t o, int64_t, int64_t h, int64_t w) {
            return ((o / 16 * kh + h) * kw + w) * 16 + o % 16;
          },
          visit);
  }
}

template <class T>
void pack_elements(const Geometry& g, Packing packing, const T* from, T* to, T flip) {
  walk(g, packing, [&](int64_t packed, int64_t canonical, int64_t) {
    to[packed] = static_cast<T>(from[canonical] ^ flip);
  });
}

void add_sums(const Geometry& g, Packing packing, const int8_t* packed, int32_t* sums) {
  walk(g, packing, [&](int64_t position, int64_t, int64_t column) {
    sums[column] = static_cast<int32_t>(static_cast<uint32_t>(sums[column]) +
                                        static_cast<uint32_t>(int32_t{packed[position]}));
  });
}

}  // namespace

std::string packing_key(const Desc& spec, int index, Packing packing) {
  const Result<Geometry> g = geometry(spec, index, packing);
  if (!g.is_ok()) return fmt::format("{}/{}/{}", packing_name(packing), index, desc_key(spec));
  std::string key = fmt::format("{}/{}x{}x{}x{}x{}/{}", packing_name(packing), g->outer, g->o, g->i,
                                g->kh, g->kw, g->element_bytes);
  if (g->transposed) key += "/transposed";
  if (g->is_unsigned) key += "/unsigned";
  if (g->recurrent)
    key += fmt::format("/{} of {} gates", gates_of_first_sweep(*g->recurrent),
                       gate_count(*g->recurrent));
  return key;
}

Result<int64_t> packed_bytes(const Desc& spec, int index, Packing packing) {
  if (packing == Packing::kNone) {
    if (index < 0 || index >= static_cast<int>(spec.inputs.size())) {
      return invalid_argument("packed_bytes: no operand {}", index);
    }
    const TensorDesc& operand = spec.inputs[static_cast<size_t>(index)];
    STOKER_ASSIGN(const int64_t count, element_count(operand.dims));
    return byte_size(operand.dtype, count);
  }
  STOKER_ASSIGN(const Geometry g, geometry(spec, index, packing));
  return g.bytes;
}

Result<Tensor> pack_weight(const Desc& spec, int index, Packing packing, const Tensor& weight) {
  if (packing == Packing::kNone) return weight;
  STOKER_ASSIGN(const Geometry g, geometry(spec, index, packing));
  const TensorDesc& operand = spec.inputs[static_cast<size_t>(index)];
  if (weight.dtype() != operand.dtype || weight.shape() != operand.dims) {
    return invalid_argument("pack_weight: expected {}{}, found {}{}", dtype_name(operand.dtype),
                            shape_text(operand.dims), dtype_name(weight.dtype()),
                            shape_text(weight.shape()));
  }
  STOKER_ASSIGN(Tensor packed, Tensor::allocate(DType::kU8, {g.bytes}));
  if (g.element_bytes == 4) {
    pack_elements<uint32_t>(g, packing, static_cast<const uint32_t*>(weight.data()),
                            static_cast<uint32_t*>(packed.data()), 0);
  } else {
    pack_elements<uint8_t>(g, packing, static_cast<const uint8_t*>(weight.data()),
                           static_cast<uint8_t*>(packed.data()), g.is_unsigned ? 0x80 : 0);
  }
  if (g.sums) {
    auto* bytes = static_cast<std::byte*>(packed.data());
    add_sums(g, packing, reinterpret_cast<const int8_t*>(bytes),
             reinterpret_cast<int32_t*>(bytes + g.elements));
  }
  return packed;
}

Result<Tensor> unpack_weight(const Desc& spec, int index, Packing packing, const Tensor& packed) {
  if (packing == Packing::kNone) return packed;
  STOKER_ASSIGN(const Geometry g, geometry(spec, index, packing));
  if (packed.dtype() != DType::kU8 || packed.bytes() != g.bytes) {
    return invalid_argument("unpack_weight: expected u8[{}], found {}{}", g.bytes,
                            dtype_name(packed.dtype()), shape_text(packed.shape()));
  }
  const TensorDesc& operand = spec.inputs[static_cast<size_t>(index)];
  STOKER_ASSIGN(Tensor weight, Tensor::allocate(operand.dtype, operand.dims));
  if (g.element_bytes == 4) {
    const auto* from = static_cast<const uint32_t*>(packed.data());
    auto* to = static_cast<uint32_t*>(weight.data());
    walk(g, packing,
         [&](int64_t position, int64_t canonical, int64_t) { to[canonical] = from[position]; });
  } else {
    const auto* from = static_cast<const uint8_t*>(packed.data());
    auto* to = static_cast<uint8_t*>(weight.data());
    const uint8_t flip = g.is_unsigned ? 0x80 : 0;
    walk(g, packing, [&](int64_t position, int64_t canonical, int64_t) {
      to[canonical] = static_cast<uint8_t>(from[position] ^ flip);
    });
  }
  return weight;
}

}  // namespace stoker
