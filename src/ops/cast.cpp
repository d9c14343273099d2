// Another dtype. Floats to integers truncate towards zero and saturate (below a byte they wrap, as
// in ONNX), integers wrap, numbers and strings convert as text; 8-bit floats saturate unless
// saturate=0, e8m0 rounds by round_mode.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "ops/support.h"

namespace stoker {

namespace {

// The fewest digits that give the value again in its dtype, as numpy prints them.
std::string shortest_text(DType dtype, double value) {
  if (dtype == DType::kF64) return fmt::format("{}", value);
  if (dtype == DType::kF32) return fmt::format("{}", static_cast<float>(value));
  for (int digits = 1; digits < 9; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    uint64_t code = 0;
    store_double(dtype)(&code, 0, read);
    if (load_double(dtype)(&code, 0) == value) return fmt::format("{}", read);
  }
  return fmt::format("{}", value);
}

std::string number_text(const TensorView& x, int64_t offset) {
  if (x.dtype == DType::kBool) return load_int(x.dtype)(x.data, offset) ? "1" : "0";
  if (x.dtype == DType::kU64)
    return std::to_string(static_cast<uint64_t>(load_int(x.dtype)(x.data, offset)));
  if (is_integer(x.dtype)) return std::to_string(load_int(x.dtype)(x.data, offset));
  const double value = load_double(x.dtype)(x.data, offset);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return shortest_text(x.dtype, value);
}

// The whole text as a number; from_chars knows no leading plus, which ONNX allows.
template <class T>
bool read(const std::string& text, T& value) {
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [last, code] = std::from_chars(begin, end, value);
  return code == std::errc() && last == end && begin != end;
}

Status parse_number(const std::string& text, const TensorView& y, int64_t offset) {
  int64_t integer = 0;
  uint64_t natural = 0;
  double number = 0;
  if (y.dtype == DType::kU64 && read(text, natural)) {
    store_int(y.dtype)(y.data, offset, static_cast<int64_t>(natural));
  } else if (y.dtype != DType::kU64 && is_exact_integer(y.dtype) && read(text, integer)) {
    store_int(y.dtype)(y.data, offset, integer);
  } else if (read(text, number)) {
    store_double(y.dtype)(y.data, offset, number);
  } else {
    return invalid_argument("cast: the string \"{}\" is not a number", text);
  }
  return Status::ok();
}

Status cast_strings(const EvalContext& c, const Walk& walk) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  Status status;
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    if (!status.is_ok()) return;
    if (x.dtype != DType::kString) {
      (*y.strings)[static_cast<size_t>(o[0])] = number_text(x, o[1]);
      return;
    }
    const std::string& text = (*x.strings)[static_cast<size_t>(o[1])];
    if (y.dtype == DType::kString) {
      (*y.strings)[static_cast<size_t>(o[0])] = text;
    } else {
      status = parse_number(text, y, o[0]);
    }
  });
  return status;
}

// A power of two at or beyond the value, for e8m0.
double round_e8m0(double value, bool up) {
  if (!(value > 0) || std::isinf(value)) return value;
  const double low = std::ldexp(1.0, std::max(std::ilogb(value), -127));
  return up && value > low ? std::min(low * 2, 0x1p127) : low;
}

Status cast_numbers(const EvalContext& c, const Walk& walk) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  if (is_exact_integer(x.dtype) && is_exact_integer(y.dtype)) {
    const LoadInt load = load_int(x.dtype);
    const StoreInt store = store_int(y.dtype);
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
      store(y.data, o[0], wrap_int(y.dtype, load(x.data, o[1])));
    });
    return Status::ok();
  }
  const bool saturate = c.attributes.get_int("saturate", 1) != 0;
  const LoadDouble load = load_double(x.dtype);
  if (contains(kPackedInts, y.dtype)) {
    const LoadInt load_integer = load_int(x.dtype);
    const StoreInt store = store_int(y.dtype);
    for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
      store(y.data, o[0], wrap_int(y.dtype, load_integer(x.data, o[1])));
    });
    return Status::ok();
  }
  const StoreDouble store = saturate ? store_double(y.dtype) : store_double_unsaturated(y.dtype);
  const std::string mode =
      y.dtype == DType::kF8E8M0 ? c.attributes.get_string("round_mode", "up") : "";
  const bool up = mode == "up", down = mode == "down";
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    const double value = load(x.data, o[1]);
    store(y.data, o[0], up || down ? round_e8m0(value, up) : value);
  });
  return Status::ok();
}

}  // namespace

extern const Op op_cast;
const Op op_cast = {
    .name = "cast",
    .attributes = {{"to", AttributeKind::kDType, true},
                   {"saturate", AttributeKind::kInt},
                   {"round_mode", AttributeKind::kString}},
    .infer = [](InferContext& c) -> Status {
      const DType to = c.attributes.get_dtype("to", DType::kInvalid);
      if (!contains(kReal | kStrings, to))
        return unsupported("cast: the target dtype {} has no conversion", dtype_name(to));
      STOKER_TRY(infer_unary(c, "cast", kReal | kStrings, to));
      if (is_integer(to) && is_exact_integer(c.type(0).dtype)) pass_elements(c, 0);
      return Status::ok();
    },
    .evaluate = [](const EvalContext& c) -> Status {
      STOKER_TRY(check_broadcast(c.outputs[0].shape, {&c.inputs[0]}));
      const Walk walk = broadcast_walk(c.outputs[0].shape, {&c.outputs[0], &c.inputs[0]});
      const bool strings =
          c.inputs[0].dtype == DType::kString || c.outputs[0].dtype == DType::kString;
      return strings ? cast_strings(c, walk) : cast_numbers(c, walk);
    },
    .pointwise = true,
};

}  // namespace stoker
