// For each element, 1 at the place of its category along a new last axis; numbers are truncated to
// integers.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ml.h"

namespace stoker {

namespace {

constexpr const char* kName = "one_hot_encoder";

struct Categories {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  int64_t size() const { return static_cast<int64_t>(ints.size() + strings.size()); }
};

Result<Categories> categories_of(const Attributes& attributes, bool text) {
  Categories made{attributes.get_ints("cats_int64s"),
                  attribute_strings(attributes, "cats_strings")};
  if (made.ints.empty() == made.strings.empty()) {
    return invalid_model("{}: expected categories in one of cats_int64s and cats_strings, found {}",
                         kName, made.ints.empty() ? "neither" : "both");
  }
  if (made.strings.empty() != text) return made;
  return invalid_model("{}: the categories are {}, the input is not", kName,
                       made.strings.empty() ? "integers" : "strings");
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kFeatures | kStrings));
  STOKER_ASSIGN(const Categories categories,
                categories_of(c.attributes, c.type(0).dtype == DType::kString));
  if (!c.type(0).ranked) return set_unranked(c, DType::kF32);
  Dims dims = c.type(0).dims;
  dims.push_back(Dim(categories.size()));
  set_output(c, 0, DType::kF32, std::move(dims));
  return Status::ok();
}

// The place of an element's category; the last of equal ones counts, -1 when there is none.
int64_t place_of(const Categories& categories, const TensorView& x, int64_t offset) {
  if (x.strings) {
    const auto& list = categories.strings;
    const auto found =
        std::find(list.rbegin(), list.rend(), (*x.strings)[static_cast<size_t>(offset)]);
    return list.rend() - found - 1;
  }
  const auto& list = categories.ints;
  int64_t value = 0;
  if (is_integer(x.dtype)) {
    value = load_int(x.dtype)(x.data, offset);
  } else {
    const double number = load_double(x.dtype)(x.data, offset);
    if (!(number > -0x1p63 && number < 0x1p63)) return -1;
    value = static_cast<int64_t>(number);
  }
  return list.rend() - std::find(list.rbegin(), list.rend(), value) - 1;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const Categories categories, categories_of(c.attributes, x.strings != nullptr));
  const int64_t width = categories.size();
  STOKER_TRY(check_count(y, x.count() * width, kName, "the output"));
  const bool must_exist = c.attributes.get_int("zeros", 1) == 0;
  const Reader read(x);
  const Writer write(y);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t place = place_of(categories, x, read.offset(i));
    if (place < 0 && must_exist)
      return invalid_argument("{}: element {} is of no category, and zeros=0", kName, i);
    for (int64_t k = 0; k < width; ++k) write.number(i * width + k, k == place ? 1 : 0);
  }
  return Status::ok();
}

}  // namespace

extern const Op op_one_hot_encoder;
const Op op_one_hot_encoder = {
    .name = kName,
    .attributes = {{"cats_int64s", AttributeKind::kInts},
                   {"cats_strings", AttributeKind::kStrings},
                   {"zeros", AttributeKind::kInt}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
