// Every string cut at a delimiter, or at white space when there is none: the parts along a new last
// axis, filled up with empty strings, and their numbers.
// SPDX-License-Identifier: Apache-2.0
#include "ops/unicode.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

using Parts = std::vector<std::string>;

Parts split_at(const std::string& text, const std::string& delimiter, int64_t most) {
  Parts parts;
  size_t start = 0;
  for (size_t at = 0; static_cast<int64_t>(parts.size()) < most; start = at + delimiter.size()) {
    at = text.find(delimiter, start);
    if (at == std::string::npos) break;
    parts.push_back(text.substr(start, at - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

// The text without the white space at its end.
std::string trimmed(const std::string& text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_space(next_character(text, at))) end = at;
  }
  return text.substr(0, end);
}

// Runs of white space are one separator, and none at either end.
Parts split_words(const std::string& given, int64_t most) {
  const std::string text = trimmed(given);
  Parts parts;
  size_t at = 0;
  const auto skip = [&](bool spaces) {
    while (at < text.size()) {
      size_t next = at;
      if (is_space(next_character(text, next)) != spaces) break;
      at = next;
    }
  };
  for (skip(true); at < text.size(); skip(true)) {
    if (static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text.substr(at));
      break;
    }
    const size_t start = at;
    skip(false);
    parts.push_back(text.substr(start, at - start));
  }
  return parts;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "string_split", 0, "input", kStrings));
  const ValueType& x = c.type(0);
  c.outputs[0] = ValueType::unranked(DType::kString);
  c.outputs[1] = ValueType::unranked(DType::kI64);
  if (!x.ranked) return Status::ok();
  Dims dims = x.dims;
  set_output(c, 1, DType::kI64, dims);
  dims.push_back(c.fresh());
  set_output(c, 0, DType::kString, std::move(dims));
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "string_split", 0, kStrings));
  const Tensor& x = c.tensor(0);
  const std::string delimiter = c.attributes.get_string("delimiter");
  int64_t most = c.attributes.get_int("maxsplit", -1);
  if (most < 0) most = INT64_MAX;
  std::vector<Parts> all;
  size_t longest = 0;
  STOKER_ASSIGN(Tensor counts, Tensor::allocate(DType::kI64, x.shape()));
  for (const std::string& text : x.strings()) {
    Parts parts = delimiter.empty() ? split_words(text, most) : split_at(text, delimiter, most);
    counts.values<int64_t>()[all.size()] = static_cast<int64_t>(parts.size());
    longest = std::max(longest, parts.size());
    all.push_back(std::move(parts));
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<int64_t>(longest));
  STOKER_ASSIGN(Tensor y, Tensor::allocate(DType::kString, shape));
  for (size_t i = 0; i < all.size(); ++i) {
    std::move(all[i].begin(), all[i].end(),
              y.strings().begin() + static_cast<std::ptrdiff_t>(i * longest));
  }
  c.outputs[0] = std::move(y);
  c.outputs[1] = std::move(counts);
  return Status::ok();
}

}  // namespace

extern const Op op_string_split;
const Op op_string_split = {
    .name = "string_split",
    .output_count = 2,
    .attributes = {{"delimiter", AttributeKind::kString}, {"maxsplit", AttributeKind::kInt}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
