#include "controller/cli/input/selector.h"

#include <algorithm>

#include "common/base/trimmed.h"
#include "controller/api/text_format.h"

namespace longshore::cli::input {
namespace {

using Operator = Requirement::Operator;

// Splits at the commas that are outside of parentheses.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool is_in_set = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') is_in_set = true;
    if (i < text.size() && text[i] == ')') is_in_set = false;
    if (i < text.size() && (text[i] != ',' || is_in_set)) continue;
    parts.push_back(Trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

Requirement WithOneValue(std::string_view key, Operator op, std::string_view value) {
  return {std::string(Trimmed(key)), op, {std::string(Trimmed(value))}};
}

// Parses "KEY in (A, B)" and "KEY notin (A, B)".
Result<Requirement> ParseSet(std::string_view text) {
  const size_t open = text.find('(');
  const std::string_view head = Trimmed(text.substr(0, open));
  const size_t space = head.find_last_of(" \t");
  const std::string_view word = space == std::string_view::npos ? head : head.substr(space + 1);
  if (text.back() != ')' || space == std::string_view::npos || (word != "in" && word != "notin"))
    return InvalidArgument("\"{}\" is not of the form KEY in (VALUE, VALUE) or KEY notin (VALUE, VALUE)", text);
  Requirement requirement{
      std::string(Trimmed(head.substr(0, space))), word == "in" ? Operator::kIn : Operator::kNotIn, {}};
  for (const std::string_view value : Split(text.substr(open + 1, text.size() - open - 2)))
    requirement.values.emplace_back(value);
  return requirement;
}

Result<Requirement> ParseRequirement(std::string_view text) {
  if (text.find('(') != std::string_view::npos) return ParseSet(text);
  if (const size_t at = text.find("!="); at != std::string_view::npos)
    return WithOneValue(text.substr(0, at), Operator::kNotIn, text.substr(at + 2));
  if (const size_t at = text.find("=="); at != std::string_view::npos)
    return WithOneValue(text.substr(0, at), Operator::kIn, text.substr(at + 2));
  if (const size_t at = text.find('='); at != std::string_view::npos)
    return WithOneValue(text.substr(0, at), Operator::kIn, text.substr(at + 1));
  if (text.starts_with("!")) return Requirement{std::string(Trimmed(text.substr(1))), Operator::kDoesNotExist, {}};
  return Requirement{std::string(text), Operator::kExists, {}};
}

Status Check(const Requirement& requirement) {
  if (!api::Matches(requirement.key, api::kLabelName))
    return InvalidArgument("\"{}\" is not {}", requirement.key, api::kLabelName.what);
  for (const std::string& value : requirement.values) {
    if (!value.empty() && !api::Matches(value, api::kLabelValue))
      return InvalidArgument("\"{}\" is not {}", value, api::kLabelValue.what);
  }
  return {};
}

bool Matches(const Requirement& requirement, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  const bool exists = label != labels.end();
  const bool is_one_of = exists && std::ranges::find(requirement.values, label->second) != requirement.values.end();
  switch (requirement.op) {
    case Operator::kIn: return is_one_of;
    case Operator::kNotIn: return !is_one_of;
    case Operator::kExists: return exists;
    case Operator::kDoesNotExist: break;
  }
  return !exists;
}

}  // namespace

Result<Selector> ParseSelector(std::string_view text) {
  Selector selector;
  if (Trimmed(text).empty()) return selector;
  for (const std::string_view part : Split(text)) {
    ASSIGN_OR_RETURN(const Requirement requirement, ParseRequirement(part));
    RETURN_IF_ERROR(Check(requirement));
    selector.push_back(requirement);
  }
  return selector;
}

bool Matches(const Selector& selector, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(selector, [&](const Requirement& one) { return Matches(one, labels); });
}

}  // namespace longshore::cli::input
