// Reads a YAML manifest as JSON and remembers the line of each value. Only document.cc uses yaml-cpp.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::api {

// The place of values in a file, for messages. Paths have the form "spec.rollout.steps[1].weight".
struct Origin {
  std::string file;                  // "" if the value is not from a file.
  std::map<std::string, int> lines;  // Path to line, from 1.

  // "models/digits.yaml:14: spec.rollout: " with the line of the nearest known parent path; only the path if there is
  // no file.
  std::string At(const std::string& path) const;
};

struct YamlDocument {
  Json root;
  Origin origin;
  int line = 1;
};

inline constexpr int kYamlDepthMax = 64;
inline constexpr int kYamlNodesMax = 200000;  // Per file, with aliases expanded.

// All documents of the text that are not empty. Unquoted scalars have the core types of YAML 1.2. Returns an error with
// file and line for text that is not YAML, for a key that occurs twice in a mapping, and above the limits.
Result<std::vector<YamlDocument>> LoadYaml(std::string_view file, std::string_view text, size_t documents_max);

// Writes YAML in block style, with keys in their order.
std::string EmitYaml(const Json& root);

}  // namespace longshore::api
