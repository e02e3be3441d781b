#include "controller/cli/text/json_path.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/trimmed.h"
#include "controller/cli/text/json_query.h"

namespace longshore::cli::text {
namespace {

// One piece of a template: a text, a path, or a path with a template that is repeated for each result.
struct Piece {
  std::string literal{};
  std::optional<JsonQuery> query{};
  bool is_range = false;
  std::vector<Piece> repeated{};
};
using Template = std::vector<Piece>;

// Reads the text up to the closing brace, which may be within quotes.
Result<std::string_view> TakeBraces(std::string_view& rest) {
  char quote = 0;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      ++i;
    } else if (quote != 0) {
      if (rest[i] == quote) quote = 0;
    } else if (rest[i] == '"' || rest[i] == '\'') {
      quote = rest[i];
    } else if (rest[i] == '}') {
      const std::string_view inside = rest.substr(1, i - 1);
      rest.remove_prefix(i + 1);
      return inside;
    }
  }
  return InvalidArgument("jsonpath: \"{}\" has no closing brace", rest);
}

class TemplateParser {
 public:
  explicit TemplateParser(std::string_view text) : rest_(text) {}

  Result<Template> Parse(int depth) {
    if (depth > kJsonPathRangesMax) return InvalidArgument("jsonpath: more than {} nested ranges", kJsonPathRangesMax);
    Template pieces;
    while (!rest_.empty()) {
      if (rest_[0] != '{') {
        const size_t end = std::min(rest_.find('{'), rest_.size());
        pieces.push_back({.literal = std::string(rest_.substr(0, end))});
        rest_.remove_prefix(end);
        continue;
      }
      ASSIGN_OR_RETURN(const std::string_view inside, TakeBraces(rest_));
      const std::string_view action = Trimmed(inside, " ");
      if (action == "end") {
        if (depth > 0) return pieces;
        return InvalidArgument("jsonpath: {{end}} without a {{range}}");
      }
      ASSIGN_OR_RETURN(pieces.emplace_back(), ParseAction(action, depth));
    }
    if (depth > 0) return InvalidArgument("jsonpath: {{range}} without an {{end}}");
    return pieces;
  }

 private:
  Result<Piece> ParseAction(std::string_view action, int depth) {
    Piece piece;
    if (action.starts_with('"') || action.starts_with('\'')) {
      ASSIGN_OR_RETURN(piece.literal, ParseQuoted(action));
      return piece;
    }
    piece.is_range = action.starts_with("range ");
    ASSIGN_OR_RETURN(piece.query, ParseJsonQuery(piece.is_range ? Trimmed(action.substr(6), " ") : action));
    if (piece.is_range) {
      ASSIGN_OR_RETURN(piece.repeated, Parse(depth + 1));
    }
    return piece;
  }

  std::string_view rest_;
};

Result<Template> ParseTemplate(std::string_view text) {
  if (text.empty()) return InvalidArgument("jsonpath: the template is empty; write jsonpath='{{.metadata.name}}'");
  if (text.size() > kJsonPathBytesMax)
    return InvalidArgument("jsonpath: the template has more than {} bytes", kJsonPathBytesMax);
  if (text.find('{') != std::string_view::npos) return TemplateParser(text).Parse(0);
  Piece piece;
  ASSIGN_OR_RETURN(piece.query, ParseJsonQuery(text));
  return Template{piece};
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : DumpJson(value);
}

std::string Print(const Template& pieces, const Json& root, const Json& current) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += piece.literal;
    if (!piece.query) continue;
    const std::vector<const Json*> found = piece.query->Find(root, current);
    for (size_t i = 0; i < found.size(); ++i) {
      if (piece.is_range) {
        text += Print(piece.repeated, root, *found[i]);
      } else {
        text += (i == 0 ? "" : " ") + TextOf(*found[i]);
      }
    }
  }
  return text;
}

}  // namespace

Status CheckJsonPath(std::string_view template_) {
  RETURN_IF_ERROR(ParseTemplate(template_));
  return {};
}

Result<std::string> PrintJsonPath(std::string_view template_, const Json& document) {
  ASSIGN_OR_RETURN(const Template pieces, ParseTemplate(template_));
  return Print(pieces, document, document);
}

}  // namespace longshore::cli::text
