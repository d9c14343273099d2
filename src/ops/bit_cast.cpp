// The bits of every element read as another dtype of the same width. `from` names the dtype of the
// input: the evaluation in f64 has to know whose bits are meant.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "bit_cast", 0, "input", kAny & ~kStrings));
  const DType to = c.attributes.get_dtype("to", DType::kInvalid), from = c.type(0).dtype;
  if (dtype_bits(to) != dtype_bits(from)) {
    return invalid_model("bit_cast: input has elements of {} bits ({}), {} has {}",
                         dtype_bits(from), dtype_name(from), dtype_name(to), dtype_bits(to));
  }
  if (const DType told = c.attributes.get_dtype("from", from); told != from) {
    return invalid_model("bit_cast: input is {}, attribute 'from' says {}", dtype_name(from),
                         dtype_name(told));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = to;
  return Status::ok();
}

bool is_bare(DType dtype) { return dtype == DType::kC64 || dtype == DType::kC128; }

// The bits of element `at` of a view, as `dtype` has them.
uint64_t load_bits(const TensorView& view, DType dtype, int64_t at) {
  const int bits = dtype_bits(dtype);
  uint64_t code = 0;
  if (view.dtype != dtype) {  // f64 in place of the dtype
    store_double(dtype)(&code, 0, load_double(view.dtype)(view.data, at));
  } else if (bits >= 8) {
    std::memcpy(&code, view.as<const char>() + at * (bits / 8), static_cast<size_t>(bits / 8));
    return code;
  } else {
    code = view.as<const uint8_t>()[at * bits / 8] >> (at * bits % 8);
  }
  return bits == 64 ? code : code & ((uint64_t{1} << bits) - 1);
}

void store_bits(const TensorView& view, DType dtype, int64_t at, uint64_t code) {
  const int bits = dtype_bits(dtype);
  // Any byte may come in, but only 0 and 1 are a bool.
  if (dtype == DType::kBool) code = code != 0;
  if (view.dtype != dtype) {
    store_double(view.dtype)(view.data, at, load_double(dtype)(&code, 0));
  } else if (bits >= 8) {
    std::memcpy(view.as<char>() + at * (bits / 8), &code, static_cast<size_t>(bits / 8));
  } else {
    uint8_t& byte = view.as<uint8_t>()[at * bits / 8];
    const int shift = static_cast<int>(at * bits % 8), mask = ((1 << bits) - 1) << shift;
    byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<int>(code) << shift));
  }
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  const DType to = c.attributes.get_dtype("to", y.dtype);
  const bool wide = dtype_bits(x.dtype) != dtype_bits(to);
  const DType from =
      c.attributes.get_dtype("from", wide && dtype_bits(to) == 32 ? DType::kF32 : x.dtype);
  if (dtype_bits(from) != dtype_bits(to)) {
    return invalid_argument("bit_cast: the dtype of the input is not known; set attribute 'from'");
  }
  STOKER_TRY(check_broadcast(y.shape, {&x}));
  const Walk walk = broadcast_walk(y.shape, {&y, &x});
  if (is_bare(from) || is_bare(to)) {
    const int64_t bytes = dtype_bits(to) / 8;
    if (x.dtype != from || y.dtype != to)
      return invalid_argument("bit_cast: complex numbers have no evaluation in f64");
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
      std::memcpy(y.as<char>() + o[0] * bytes, x.as<const char>() + o[1] * bytes,
                  static_cast<size_t>(bytes));
    });
    return Status::ok();
  }
  for_each_wanted(walk, c.wanted,
                  [&](const int64_t* o) { store_bits(y, to, o[0], load_bits(x, from, o[1])); });
  return Status::ok();
}

}  // namespace

extern const Op op_bit_cast;
const Op op_bit_cast = {
    .name = "bit_cast",
    .attributes = {{"to", AttributeKind::kDType, true}, {"from", AttributeKind::kDType}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
