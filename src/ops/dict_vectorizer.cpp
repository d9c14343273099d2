// The values of a map in the order of a vocabulary of its keys, [1, vocabulary]; zero or the empty
// string where the map has no such key.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ops/map_values.h"

namespace stoker {

namespace {

constexpr const char* kName = "dict_vectorizer";
constexpr DTypeSet kKeys = dtypes({DType::kI64, DType::kString});
constexpr DTypeSet kValues = kFloats | kInts | kStrings;

struct Vocabulary {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  int64_t size() const { return static_cast<int64_t>(ints.size() + strings.size()); }
  DType dtype() const { return strings.empty() ? DType::kI64 : DType::kString; }
};

Result<Vocabulary> vocabulary_of(const Attributes& attributes, DType key) {
  Vocabulary made{attributes.get_ints("int64_vocabulary"),
                  attribute_strings(attributes, "string_vocabulary")};
  if (made.ints.empty() == made.strings.empty()) {
    return invalid_model("{}: {} of int64_vocabulary and string_vocabulary are given, expected one",
                         kName, made.ints.empty() ? 0 : 2);
  }
  if (made.dtype() == key) return made;
  return invalid_model("{}: the keys are {}, the vocabulary is {}", kName, dtype_name(key),
                       dtype_name(made.dtype()));
}

Status infer(InferContext& c) {
  STOKER_TRY(check_map(c, kName, kKeys, kValues));
  STOKER_ASSIGN(const Vocabulary vocabulary, vocabulary_of(c.attributes, c.type(0).key));
  set_output(c, 0, c.type(0).dtype, {Dim(1), Dim(vocabulary.size())});
  return Status::ok();
}

// For every word of the vocabulary the place of its entry in the map, or -1.
template <class Key>
std::vector<int64_t> places_of(const std::vector<Key>& words, std::span<const Key> keys) {
  std::map<Key, int64_t> entries;
  for (size_t i = 0; i < keys.size(); ++i) entries[keys[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> places;
  for (const Key& word : words) {
    const auto found = entries.find(word);
    places.push_back(found == entries.end() ? -1 : found->second);
  }
  return places;
}

Status evaluate(ValueContext& c) {
  STOKER_ASSIGN(const MapView map, map_of(c, kName, kKeys, kValues));
  STOKER_ASSIGN(const Vocabulary vocabulary, vocabulary_of(c.attributes, map.keys.dtype()));
  const std::vector<int64_t> places =
      vocabulary.strings.empty()
          ? places_of<int64_t>(vocabulary.ints, map.keys.values<int64_t>())
          : places_of<std::string>(vocabulary.strings, std::span(map.keys.strings()));
  // Zero-filled.
  STOKER_ASSIGN(Tensor out, Tensor::allocate(map.values.dtype(), {1, vocabulary.size()}));
  const TensorView to = view_of(out), from = view_of(map.values);
  const Mover move(to, from);
  for (size_t k = 0; k < places.size(); ++k) {
    if (places[k] >= 0) move(static_cast<int64_t>(k), places[k]);
  }
  c.outputs[0] = std::move(out);
  return Status::ok();
}

}  // namespace

extern const Op op_dict_vectorizer;
const Op op_dict_vectorizer = {
    .name = kName,
    .attributes = {{"int64_vocabulary", AttributeKind::kInts},
                   {"string_vocabulary", AttributeKind::kStrings}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
