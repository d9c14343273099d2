// The values of a map with integer keys as a tensor [1,n], by rising key: one after the other
// (DENSE), or each at the place that its key says (SPARSE).
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ops/map_values.h"

namespace stoker {

namespace {

constexpr const char* kName = "cast_map";
constexpr DTypeSet kKeys = dtypes({DType::kI64});
constexpr DTypeSet kValues = kFloats | kInts | kStrings;
constexpr int64_t kMaxPlaces = int64_t{1} << 31;

Result<DType> target_of(const Attributes& attributes) {
  const std::string name = attributes.get_string("cast_to", "TO_FLOAT");
  if (name == "TO_FLOAT") return DType::kF32;
  if (name == "TO_INT64") return DType::kI64;
  if (name == "TO_STRING") return DType::kString;
  return invalid_model("{}: cast_to is \"{}\", expected TO_FLOAT, TO_INT64 or TO_STRING", kName,
                       name);
}

// The places of the output; none for a dense one.
Result<std::optional<int64_t>> places_of(const Attributes& attributes) {
  const std::string form = attributes.get_string("map_form", "DENSE");
  if (form == "DENSE") return std::optional<int64_t>();
  if (form != "SPARSE")
    return invalid_model("{}: map_form is \"{}\", expected DENSE or SPARSE", kName, form);
  const int64_t places = attributes.get_int("max_map", 1);
  if (places >= 1 && places <= kMaxPlaces) return std::optional(places);
  return invalid_model("{}: max_map is {}, expected 1 to {}", kName, places, kMaxPlaces);
}

Status infer(InferContext& c) {
  STOKER_TRY(check_map(c, kName, kKeys, kValues));
  STOKER_ASSIGN(const DType dtype, target_of(c.attributes));
  STOKER_ASSIGN(const auto places, places_of(c.attributes));
  set_output(c, 0, dtype, {Dim(1), places ? Dim(*places) : c.fresh()});
  return Status::ok();
}

Result<Tensor> convert(const Tensor& values, DType dtype) {
  if (dtype == DType::kString && is_float(values.dtype())) {
    // As ONNX Runtime writes them.
    std::vector<std::string> strings;
    for (const double value : to_doubles(view_of(values)))
      strings.push_back(fmt::format("{:.6f}", value));
    return Tensor::from_strings(values.shape(), std::move(strings));
  }
  STOKER_ASSIGN(auto made, evaluate_op(*find_op("cast"), {{"to", dtype}}, {values}, 1));
  return made[0];
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(const MapView map, map_of(c, kName, kKeys, kValues));
  STOKER_ASSIGN(const DType dtype, target_of(c.attributes));
  STOKER_ASSIGN(const auto places, places_of(c.attributes));
  STOKER_ASSIGN(const Tensor values, convert(map.values, dtype));
  std::map<int64_t, int64_t> entries;
  const auto keys = map.keys.values<int64_t>();
  for (size_t i = 0; i < keys.size(); ++i) entries[keys[i]] = static_cast<int64_t>(i);
  const int64_t width = places.value_or(static_cast<int64_t>(entries.size()));
  STOKER_ASSIGN(Tensor out, Tensor::allocate(dtype, {1, width}));
  if (dtype == DType::kString && places) out.strings().assign(static_cast<size_t>(width), "0.f");
  const TensorView to = view_of(out), from = view_of(values);
  const Mover move(to, from);
  int64_t next = 0;
  for (const auto& [key, entry] : entries) {
    if (places && (key < 0 || key >= *places)) {
      return invalid_argument("{}: key {} is outside of max_map {}", kName, key, *places);
    }
    move(places ? key : next++, entry);
  }
  c.outputs[0] = std::move(out);
  return Status::ok();
}

}  // namespace

extern const Op op_cast_map;
const Op op_cast_map = {
    .name = kName,
    .attributes = {{"cast_to", AttributeKind::kString},
                   {"map_form", AttributeKind::kString},
                   {"max_map", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
