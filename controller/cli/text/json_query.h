// The paths of json_path.h: what is between two braces.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::cli::text {

inline constexpr int kJsonQueryFiltersMax = 4;  // Nested ones.

struct JsonFilter;

struct JsonStep {
  enum class What { kField, kIndex, kSlice, kAll, kDescend, kFilter };
  What what = What::kField;
  std::string name{};          // For kField and kDescend; "*" for kDescend: everything.
  std::optional<int> begin{};  // For kIndex and kSlice; negative: from the end.
  std::optional<int> end{};    // For kSlice.
  std::shared_ptr<const JsonFilter> filter{};
};

class JsonQuery {
 public:
  bool from_root = false;  // Begins with $.
  std::vector<JsonStep> steps;

  // Returns the values at the path, in the order of the document. They live as long as `root` and `current`.
  std::vector<const Json*> Find(const Json& root, const Json& current) const;
};

// Keeps the elements for which `left op right` holds; with op "", those that have `left`.
struct JsonFilter {
  JsonQuery left;
  std::string op;
  std::optional<JsonQuery> right_query;
  Json right_value;
};

// Parses a path, for example `.items[?(@.metadata.name=="a")].spec`.
Result<JsonQuery> ParseJsonQuery(std::string_view text);

// Parses a text in single or double quotes with \n, \t, \\ and \" or \'.
Result<std::string> ParseQuoted(std::string_view text);

}  // namespace longshore::cli::text
