// The strings without the stop words, in upper or lower case. Case is mapped the same in every
// locale, and the attribute `locale` is accepted and changes nothing.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "ops/unicode.h"
#include "ops/value_checks.h"

namespace stoker {

namespace {

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "string_normalizer", 0, "input", kStrings));
  const std::string action = c.attributes.get_string("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return invalid_model(
        "string_normalizer: case_change_action is \"{}\", expected LOWER, UPPER or NONE", action);
  }
  const ValueType& x = c.type(0);
  if (!x.ranked) return set_unranked(c, DType::kString);
  if (x.rank() != 1 && (x.rank() != 2 || x.dims[0].constant().value_or(1) != 1)) {
    return invalid_model("string_normalizer: input is {}, expected [C] or [1,C]", type_text(x));
  }
  const bool drops = c.attributes.has("stopwords");
  const int64_t extent = x.dims.back().constant().value_or(0);
  Dims dims(x.dims.size(), Dim(1));
  dims.back() = drops || extent == 0 ? c.fresh() : Dim(extent);
  set_output(c, 0, DType::kString, std::move(dims));
  return Status::ok();
}

Status evaluate(ValueContext& c) {
  STOKER_TRY(check_tensor(c, "string_normalizer", 0, kStrings));
  const Tensor& x = c.tensor(0);
  if (x.rank() != 1 && (x.rank() != 2 || x.shape()[0] != 1)) {
    return invalid_argument("string_normalizer: input has shape {}, expected [C] or [1,C]",
                            shape_text(x.shape()));
  }
  const std::string action = c.attributes.get_string("case_change_action", "NONE");
  const bool exact = c.attributes.get_int("is_case_sensitive") != 0;
  const Attribute none = std::vector<std::string>();
  const auto given = c.attributes.all().find("stopwords");
  const Attribute& words = given == c.attributes.all().end() ? none : given->second;
  std::unordered_set<std::string> stop;
  for (const std::string& word : std::get<std::vector<std::string>>(words)) {
    stop.insert(exact ? word : in_small_letters(word));
  }
  std::vector<std::string> kept;
  for (const std::string& text : x.strings()) {
    if (stop.count(exact ? text : in_small_letters(text))) continue;
    kept.push_back(action == "LOWER"   ? in_small_letters(text)
                   : action == "UPPER" ? upper_text(text)
                                       : text);
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape(x.shape().size(), 1);
  shape.back() = static_cast<int64_t>(kept.size());
  STOKER_ASSIGN(c.outputs[0], Tensor::from_strings(std::move(shape), std::move(kept)));
  return Status::ok();
}

}  // namespace

extern const Op op_string_normalizer;
const Op op_string_normalizer = {
    .name = "string_normalizer",
    .attributes = {{"case_change_action", AttributeKind::kString},
                   {"is_case_sensitive", AttributeKind::kInt},
                   {"locale", AttributeKind::kString},
                   {"stopwords", AttributeKind::kStrings}},
    .infer = infer,
    .evaluate_values = evaluate,
};

}  // namespace stoker
