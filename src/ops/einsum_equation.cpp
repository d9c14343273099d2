// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum_equation.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace stoker {

namespace {

// Letters and at most one '.', which stands for the ellipsis.
Result<std::string> parse_term(const std::string& text, const std::string& equation) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      term += text[i];
    } else if (text.compare(i, 3, "...") == 0 && term.find('.') == std::string::npos) {
      term += '.';
      i += 2;
    } else {
      return invalid_model(
          "einsum: equation '{}': term '{}' has '{}', expected letters and at most one '...'",
          equation, text, text[i]);
    }
  }
  return term;
}

// The labels of a term whose ellipsis stands for `hidden` axes.
Labels spell_out(const std::string& term, int hidden) {
  Labels labels;
  for (const char letter : term) {
    if (letter != '.') {
      labels.push_back(letter);
    } else {
      for (int k = hidden; k > 0; --k) labels.push_back(-k);
    }
  }
  return labels;
}

Labels implicit_output(const std::vector<Labels>& terms, int hidden) {
  std::map<int, int> seen;
  for (const Labels& term : terms) {
    for (const int label : term) ++seen[label];
  }
  Labels output = spell_out(".", hidden);
  for (const auto& [label, times] : seen) {
    if (label > 0 && times == 1) output.push_back(label);
  }
  return output;
}

Status check_output(const EquationLabels& labels) {
  for (size_t i = 0; i < labels.output.size(); ++i) {
    const int label = labels.output[i];
    const bool known =
        std::any_of(labels.terms.begin(), labels.terms.end(), [&](const Labels& term) {
          return std::find(term.begin(), term.end(), label) != term.end();
        });
    if (!known)
      return invalid_model("einsum: '{}' of the output is in no operand", static_cast<char>(label));
    if (std::find(labels.output.begin(), labels.output.begin() + static_cast<int64_t>(i), label) !=
        labels.output.begin() + static_cast<int64_t>(i)) {
      return invalid_model("einsum: '{}' is twice in the output", static_cast<char>(label));
    }
  }
  return Status::ok();
}

}  // namespace

Result<Equation> parse_equation(const std::string& text) {
  std::string rest;
  std::copy_if(text.begin(), text.end(), std::back_inserter(rest), [](char c) { return c != ' '; });
  Equation equation;
  if (const size_t arrow = rest.find("->"); arrow != std::string::npos) {
    STOKER_ASSIGN(equation.output, parse_term(rest.substr(arrow + 2), text));
    rest.resize(arrow);
  }
  for (size_t start = 0; start != std::string::npos;) {
    const size_t comma = rest.find(',', start);
    STOKER_ASSIGN(std::string term, parse_term(rest.substr(start, comma - start), text));
    equation.terms.push_back(std::move(term));
    start = comma == std::string::npos ? comma : comma + 1;
  }
  return equation;
}

Result<EquationLabels> label_axes(const Equation& equation, const std::vector<int>& ranks) {
  if (ranks.size() != equation.terms.size()) {
    return invalid_model("einsum: the equation has {} terms, the op {} operands",
                         equation.terms.size(), ranks.size());
  }
  EquationLabels labels;
  int most_hidden = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string& term = equation.terms[i];
    const bool ellipsis = term.find('.') != std::string::npos;
    const int hidden = ranks[i] - static_cast<int>(term.size()) + ellipsis;
    if (hidden < 0 || (hidden > 0 && !ellipsis)) {
      return invalid_model("einsum: operand {} has rank {}, its term labels {} axes", i, ranks[i],
                           term.size() - ellipsis);
    }
    has_ellipsis |= ellipsis;
    most_hidden = std::max(most_hidden, hidden);
    labels.terms.push_back(spell_out(term, hidden));
  }
  if (!equation.output) {
    labels.output = implicit_output(labels.terms, most_hidden);
  } else {
    if (most_hidden > 0 && equation.output->find('.') == std::string::npos)
      return invalid_model("einsum: the operands have '...', the output has not");
    if (!has_ellipsis && equation.output->find('.') != std::string::npos)
      return invalid_model("einsum: the output has '...', no operand has");
    labels.output = spell_out(*equation.output, most_hidden);
  }
  STOKER_TRY(check_output(labels));
  return labels;
}

}  // namespace stoker
