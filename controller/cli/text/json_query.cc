#include "controller/cli/text/json_query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/trimmed.h"

namespace longshore::cli::text {
namespace {

using What = JsonStep::What;

class QueryParser {
 public:
  QueryParser(std::string_view text, int depth) : text_(text), rest_(text), depth_(depth) {}

  Result<JsonQuery> Parse() {
    JsonQuery query;
    query.from_root = rest_.starts_with('$');
    if (query.from_root || rest_.starts_with('@')) rest_.remove_prefix(1);
    if (rest_ == ".") return query;  // {.} and {@} are the whole value.
    bool is_first = true;
    while (!rest_.empty()) {
      ASSIGN_OR_RETURN(query.steps.emplace_back(), TakeStep(is_first));
      is_first = false;
    }
    return query;
  }

 private:
  Result<JsonStep> TakeStep(bool is_first) {
    if (rest_[0] == '[') return TakeBrackets();
    const bool descends = rest_.starts_with("..");
    if (descends || rest_[0] == '.') {
      rest_.remove_prefix(descends ? 2 : 1);
      if (!descends && rest_.starts_with('[')) return TakeBrackets();
    } else if (!is_first) {
      return Wrong();
    }
    ASSIGN_OR_RETURN(std::string name, TakeName());
    if (descends) return JsonStep{.what = What::kDescend, .name = std::move(name)};
    return JsonStep{.what = name == "*" ? What::kAll : What::kField, .name = std::move(name)};
  }

  // A name ends at a dot or bracket without a backslash.
  Result<std::string> TakeName() {
    std::string name;
    size_t i = 0;
    for (; i < rest_.size() && rest_[i] != '.' && rest_[i] != '['; ++i) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      const bool is_odd = std::string_view(" \"'(){}=<>!,]").find(rest_[i]) != std::string_view::npos;
      if (is_odd) return Wrong();
      name += rest_[i];
    }
    rest_.remove_prefix(i);
    if (name.empty()) return Wrong();
    return name;
  }

  Result<JsonStep> TakeBrackets() {
    ASSIGN_OR_RETURN(const std::string_view inside, TakeInside());
    if (inside == "*") return JsonStep{.what = What::kAll};
    if (inside.starts_with("?(") && inside.ends_with(')')) return ParseFilter(inside.substr(2, inside.size() - 3));
    if (inside.starts_with('\'') || inside.starts_with('"')) {
      ASSIGN_OR_RETURN(std::string name, ParseQuoted(inside));
      return JsonStep{.what = What::kField, .name = std::move(name)};
    }
    const size_t colon = inside.find(':');
    JsonStep step{.what = colon == std::string_view::npos ? What::kIndex : What::kSlice};
    if (step.what == What::kIndex && inside.empty()) return Wrong();
    ASSIGN_OR_RETURN(step.begin, ParseNumber(inside.substr(0, colon)));
    if (step.what == What::kSlice) {
      ASSIGN_OR_RETURN(step.end, ParseNumber(inside.substr(colon + 1)));
    }
    return step;
  }

  // Returns what is between the brackets, in which quotes and further brackets may occur.
  Result<std::string_view> TakeInside() {
    int open = 0;
    char quote = 0;
    for (size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (c == '\\') {
        ++i;
      } else if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[') {
        ++open;
      } else if (c == ']' && --open == 0) {
        const std::string_view inside = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return inside;
      }
    }
    return Wrong();
  }

  Result<std::optional<int>> ParseNumber(std::string_view text) {
    if (text.empty()) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return Wrong();
    return number;
  }

  Result<JsonStep> ParseFilter(std::string_view text) {
    if (depth_ >= kJsonQueryFiltersMax) return Wrong();
    auto filter = std::make_shared<JsonFilter>();
    const size_t at = OperatorIn(text);
    ASSIGN_OR_RETURN(filter->left, QueryParser(Trimmed(text.substr(0, at), " "), depth_ + 1).Parse());
    if (at != text.size()) {
      filter->op = text[at + 1] == '=' ? text.substr(at, 2) : text.substr(at, 1);
      if (filter->op == "=" || filter->op == "!") return Wrong();
      RETURN_IF_ERROR(ParseRight(Trimmed(text.substr(at + filter->op.size()), " "), *filter));
    }
    return JsonStep{.what = What::kFilter, .filter = std::move(filter)};
  }

  Status ParseRight(std::string_view text, JsonFilter& filter) {
    if (text.starts_with('@') || text.starts_with('$') || text.starts_with('.')) {
      ASSIGN_OR_RETURN(filter.right_query, QueryParser(text, depth_ + 1).Parse());
    } else if (text.starts_with('\'')) {
      ASSIGN_OR_RETURN(filter.right_value, ParseQuoted(text));
    } else {
      const auto value = ParseJson(std::string(text));
      if (!value) return Wrong();
      filter.right_value = *value;
    }
    return {};
  }

  // Returns the position of the comparison's operator outside of quotes, or the size of the text.
  static size_t OperatorIn(std::string_view text) {
    char quote = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      if (quote != 0) {
        if (text[i] == quote) quote = 0;
      } else if (text[i] == '"' || text[i] == '\'') {
        quote = text[i];
      } else if (std::string_view("=!<>").find(text[i]) != std::string_view::npos) {
        return i;
      }
    }
    return text.size();
  }

  tl::unexpected<Error> Wrong() const {
    return InvalidArgument(
        "jsonpath: \"{}\" is not a path that is supported; an example is .spec.rollout.steps[0].weight", text_);
  }

  const std::string_view text_;
  std::string_view rest_;
  const int depth_;
};

void Descend(const Json& value, const std::string& name, std::vector<const Json*>& found) {
  if (value.is_object() && name != "*" && value.contains(name)) found.push_back(&value.at(name));
  if (!value.is_structured()) return;
  for (const Json& child : value) {
    if (name == "*") found.push_back(&child);
    Descend(child, name, found);
  }
}

bool Compare(const std::string& op, const Json& left, const Json& right) {
  if (op == "==") return left == right;
  if (op == "!=") return left != right;
  const bool are_alike = (left.is_number() && right.is_number()) || (left.is_string() && right.is_string());
  if (!are_alike) return false;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  return left >= right;
}

bool Holds(const JsonFilter& filter, const Json& root, const Json& element) {
  const std::vector<const Json*> left = filter.left.Find(root, element);
  if (filter.op.empty()) return !left.empty();
  if (left.empty()) return false;
  if (!filter.right_query) return Compare(filter.op, *left[0], filter.right_value);
  const std::vector<const Json*> right = filter.right_query->Find(root, element);
  return !right.empty() && Compare(filter.op, *left[0], *right[0]);
}

// Returns the bound of a slice or an index as a position from the beginning.
int64_t FromBegin(int64_t position, size_t size) {
  return position < 0 ? position + static_cast<int64_t>(size) : position;
}

void AddElements(const JsonStep& step, const Json& list, std::vector<const Json*>& found) {
  if (!list.is_array()) return;
  const auto size = static_cast<int64_t>(list.size());
  const int64_t begin = FromBegin(step.begin.value_or(0), list.size());
  const int64_t end = step.what == What::kIndex ? begin + 1 : FromBegin(step.end.value_or(size), list.size());
  for (int64_t i = std::max<int64_t>(begin, 0); i < std::min(end, size); ++i)
    found.push_back(&list[static_cast<size_t>(i)]);
}

void Step(const JsonStep& step, const Json& root, const Json& value, std::vector<const Json*>& found) {
  switch (step.what) {
    case What::kField:
      if (value.is_object() && value.contains(step.name)) found.push_back(&value.at(step.name));
      return;
    case What::kIndex:
    case What::kSlice:
      if (step.what == What::kIndex && FromBegin(*step.begin, value.size()) < 0) return;
      return AddElements(step, value, found);
    case What::kAll:
      if (!value.is_structured()) return;
      for (const Json& child : value) found.push_back(&child);
      return;
    case What::kDescend: return Descend(value, step.name, found);
    case What::kFilter:
      if (!value.is_structured()) return;
      for (const Json& child : value) {
        if (Holds(*step.filter, root, child)) found.push_back(&child);
      }
      return;
  }
}

}  // namespace

std::vector<const Json*> JsonQuery::Find(const Json& root, const Json& current) const {
  std::vector<const Json*> found = {from_root ? &root : &current};
  for (const JsonStep& step : steps) {
    std::vector<const Json*> next;
    for (const Json* value : found) Step(step, root, *value, next);
    found = std::move(next);
  }
  return found;
}

Result<JsonQuery> ParseJsonQuery(std::string_view text) { return QueryParser(text, 0).Parse(); }

Result<std::string> ParseQuoted(std::string_view text) {
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    char c = text[i];
    if (c == text[0]) break;
    if (c == '\\' && i + 2 < text.size()) {
      c = text[++i];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    out += c;
    if (i + 2 == text.size() && text.back() == text[0]) return out;
  }
  if (text.size() == 2 && text[0] == text[1]) return out;
  return InvalidArgument("jsonpath: {} is not a text in quotes", text);
}

}  // namespace longshore::cli::text
