// Whether a pattern in RE2's syntax matches the whole string. PCRE2 runs it, within limits: a
// pattern that backtracks beyond them is an error, never a hang.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "ops/re2_pattern.h"
#include "ops/support.h"

namespace stoker {

namespace {

constexpr uint32_t kMaxSteps = 20'000'000;  // for one string: seconds
constexpr uint32_t kMaxHeapKib = 256 * 1024;
constexpr uint32_t kMaxDepth = 250;  // of groups

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* p) const {
    Release(p);
  }
};
using Code = std::unique_ptr<pcre2_code, Releaser<pcre2_code_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Releaser<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR bytes_of(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

Result<Code> compile(const Attributes& attributes) {
  const std::string re2 = attributes.get_string("pattern");
  auto pattern = pcre2_pattern(re2);
  if (!pattern.is_ok()) return pattern.status().at("regex_full_match");
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context) return error(StatusCode::kResourceExhausted, "regex_full_match: no memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), kMaxDepth);
  int code = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options =
      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C;
  Code compiled(
      pcre2_compile(bytes_of(*pattern), pattern->size(), options, &code, &offset, context.get()));
  if (!compiled) {
    return invalid_model("regex_full_match: pattern \"{}\": {} (position {} of \"{}\")", re2,
                         pcre2_message(code), offset, *pattern);
  }
  return compiled;
}

class Matcher {
 public:
  static Result<Matcher> create(const Attributes& attributes) {
    Matcher matcher;
    STOKER_ASSIGN(matcher.code_, compile(attributes));
    matcher.data_.reset(pcre2_match_data_create(1, nullptr));
    matcher.context_.reset(pcre2_match_context_create(nullptr));
    if (!matcher.data_ || !matcher.context_)
      return error(StatusCode::kResourceExhausted, "regex_full_match: no memory");
    pcre2_set_match_limit(matcher.context_.get(), kMaxSteps);
    pcre2_set_heap_limit(matcher.context_.get(), kMaxHeapKib);
    return matcher;
  }

  // A string that is not UTF-8 holds bytes that no pattern describes: no match.
  Result<bool> operator()(const std::string& text) const {
    const int found = pcre2_match(code_.get(), bytes_of(text), text.size(), 0,
                                  PCRE2_ANCHORED | PCRE2_ENDANCHORED, data_.get(), context_.get());
    if (found >= 0) return true;
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21) return false;
    return unsupported(
        "regex_full_match: the pattern backtracks too much on a string of {} bytes ({}); write it "
        "so "
        "that it matches in one way only",
        text.size(), pcre2_message(found));
  }

 private:
  Code code_;
  MatchData data_;
  MatchContext context_;
};

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, "regex_full_match", 0, "input", kStrings));
  if (const auto compiled = compile(c.attributes); !compiled.is_ok()) return compiled.status();
  c.outputs[0] = c.type(0);
  c.outputs[0].dtype = DType::kBool;
  return Status::ok();
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_TRY(check_broadcast(y.shape, {&x}));
  STOKER_ASSIGN(const Matcher match, Matcher::create(c.attributes));
  Status status;
  for_each_wanted(broadcast_walk(y.shape, {&y, &x}), c.wanted, [&](const int64_t* o) {
    if (!status.is_ok()) return;
    const auto found = match((*x.strings)[static_cast<size_t>(o[1])]);
    if (found.is_ok()) {
      y.as<bool>()[o[0]] = *found;
    } else {
      status = found.status();
    }
  });
  return status;
}

}  // namespace

extern const Op op_regex_full_match;
const Op op_regex_full_match = {
    .name = "regex_full_match",
    .attributes = {{"pattern", AttributeKind::kString}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker
