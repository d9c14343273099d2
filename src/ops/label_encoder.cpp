// Each element looked up in a list of keys and replaced by the value at the same place; the last of
// equal keys counts, and NaN keys match every NaN.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <unordered_map>

#include "ops/ml.h"

namespace stoker {

namespace {

constexpr const char* kName = "label_encoder";
constexpr DTypeSet kTypes = kFloats | kInts | kStrings;

// The list among NAME_tensor, NAME_floats, NAME_int64s and NAME_strings that is given.
Result<Tensor> list_of(const Attributes& attributes, const std::string& name) {
  std::vector<Tensor> found;
  if (const Tensor* tensor = attributes.get_tensor(name + "_tensor")) {
    if (!contains(kTypes, tensor->dtype())) {
      return invalid_model("{}: {}_tensor is {}, expected numbers or strings", kName, name,
                           dtype_name(tensor->dtype()));
    }
    found.push_back(*tensor);
  }
  const std::vector<double> numbers = attributes.get_floats(name + "_floats");
  if (!numbers.empty()) {
    const std::vector<float> floats(numbers.begin(), numbers.end());
    found.push_back(Tensor::from<float>({static_cast<int64_t>(floats.size())}, floats));
  }
  const std::vector<int64_t> ints = attributes.get_ints(name + "_int64s");
  if (!ints.empty())
    found.push_back(Tensor::from<int64_t>({static_cast<int64_t>(ints.size())}, ints));
  std::vector<std::string> strings = attribute_strings(attributes, name + "_strings");
  if (!strings.empty()) {
    const int64_t count = static_cast<int64_t>(strings.size());
    STOKER_ASSIGN(Tensor tensor, Tensor::from_strings({count}, std::move(strings)));
    found.push_back(std::move(tensor));
  }
  if (found.size() == 1) return found[0];
  return invalid_model("{}: {} of the attributes {}_* are given, expected one", kName, found.size(),
                       name);
}

// What elements without a key become.
Result<Tensor> default_of(const Attributes& attributes, DType dtype) {
  if (const Tensor* given = attributes.get_tensor("default_tensor")) {
    if (given->count() == 1 && given->dtype() == dtype) return *given;
    return invalid_model("{}: default_tensor is {} {}, expected one {}", kName,
                         dtype_name(given->dtype()), shape_text(given->shape()), dtype_name(dtype));
  }
  if (dtype == DType::kString)
    return Tensor::from_strings({}, {attributes.get_string("default_string", "_Unused")});
  STOKER_ASSIGN(Tensor tensor, Tensor::allocate(dtype, {}));
  if (is_integer(dtype)) {
    store_int(dtype)(tensor.data(), 0, attributes.get_int("default_int64", -1));
  } else {
    store_double(dtype)(tensor.data(), 0, attributes.get_float("default_float", -0.0));
  }
  return tensor;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kTypes));
  STOKER_ASSIGN(const Tensor keys, list_of(c.attributes, "keys"));
  STOKER_ASSIGN(const Tensor values, list_of(c.attributes, "values"));
  STOKER_TRY(default_of(c.attributes, values.dtype()).status());
  if (keys.count() != values.count())
    return invalid_model("{}: {} keys and {} values", kName, keys.count(), values.count());
  if (keys.dtype() != c.type(0).dtype) {
    return invalid_model("{}: input is {}, the keys are {}", kName, dtype_name(c.type(0).dtype),
                         dtype_name(keys.dtype()));
  }
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = values.dtype();
  return Status::ok();
}

// Numbers by their bits, so that NaN is a key like any other.
uint64_t float_key(double value) {
  if (std::isnan(value)) return std::bit_cast<uint64_t>(std::nan(""));
  return std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
}

// The place of an element of `view` in the list, -1 when it is no key.
class Lookup {
 public:
  explicit Lookup(const Tensor& keys) {
    const TensorView view = view_of(keys);
    for (int64_t i = 0; i < keys.count(); ++i) {
      if (view.strings) {
        strings_[keys.strings()[static_cast<size_t>(i)]] = i;
      } else {
        numbers_[number_key(view, i)] = i;
      }
    }
  }
  int64_t operator()(const TensorView& view, int64_t offset) const {
    if (view.strings) {
      const auto found = strings_.find((*view.strings)[static_cast<size_t>(offset)]);
      return found == strings_.end() ? -1 : found->second;
    }
    const auto found = numbers_.find(number_key(view, offset));
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  static uint64_t number_key(const TensorView& view, int64_t offset) {
    return is_integer(view.dtype) ? static_cast<uint64_t>(load_int(view.dtype)(view.data, offset))
                                  : float_key(load_double(view.dtype)(view.data, offset));
  }
  std::unordered_map<std::string, int64_t> strings_;
  std::unordered_map<uint64_t, int64_t> numbers_;
};

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_count(y, x.count(), kName, "the output"));
  STOKER_ASSIGN(const Tensor keys, list_of(c.attributes, "keys"));
  STOKER_ASSIGN(const Tensor values, list_of(c.attributes, "values"));
  STOKER_ASSIGN(const Tensor fallback, default_of(c.attributes, values.dtype()));
  if (keys.count() > values.count())
    return invalid_model("{}: {} keys and {} values", kName, keys.count(), values.count());
  const Lookup lookup(keys);
  const TensorView value_view = view_of(values), fallback_view = view_of(fallback);
  const Walk walk = broadcast_walk(y.shape, {&y, &x});
  const auto put = [&](int64_t to, const TensorView& from, int64_t at) {
    if (y.strings) {
      (*y.strings)[static_cast<size_t>(to)] = (*from.strings)[static_cast<size_t>(at)];
    } else if (is_integer(from.dtype)) {
      store_int(y.dtype)(y.data, to, load_int(from.dtype)(from.data, at));
    } else {
      store_double(y.dtype)(y.data, to, load_double(from.dtype)(from.data, at));
    }
  };
  for_each_wanted(walk, c.wanted, [&](const int64_t* o) {
    const int64_t place = lookup(x, o[1]);
    put(o[0], place < 0 ? fallback_view : value_view, std::max<int64_t>(place, 0));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_label_encoder;
const Op op_label_encoder = {
    .name = kName,
    .attributes = {{"default_float", AttributeKind::kFloat},
                   {"default_int64", AttributeKind::kInt},
                   {"default_string", AttributeKind::kString},
                   {"default_tensor", AttributeKind::kTensor},
                   {"keys_floats", AttributeKind::kFloats},
                   {"keys_int64s", AttributeKind::kInts},
                   {"keys_strings", AttributeKind::kStrings},
                   {"keys_tensor", AttributeKind::kTensor},
                   {"values_floats", AttributeKind::kFloats},
                   {"values_int64s", AttributeKind::kInts},
                   {"values_strings", AttributeKind::kStrings},
                   {"values_tensor", AttributeKind::kTensor}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
