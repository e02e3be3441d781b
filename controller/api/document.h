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
  std::map<std::string, int> lines;  // Key: path. Value: line number, from 1.

  // Returns "models/digits.yaml:14: spec.rollout: ", with the line of the nearest parent path that has one. Returns
  // only the path if `file` is empty.
  std::string At(const std::string& path) const;
  // Returns that line; 1 if no parent path has one.
  int LineOf(const std::string& path) const;
};

struct YamlDocument {
  Json root;
  Origin origin;
  int line = 1;
};

inline constexpr int kYamlDepthMax = 64;
inline constexpr int kYamlNodesMax = 200000;  // Per file, with aliases expanded.

// Returns all documents of the text that are not empty. Unquoted scalars have the core types of YAML 1.2. Returns an
// error with file and line if the text is not YAML, if a key occurs twice in a mapping, or if a limit is exceeded.
Result<std::vector<YamlDocument>> LoadYaml(std::string_view file, std::string_view text, size_t documents_max);

// Returns YAML in block style. The keys keep their order.
std::string EmitYaml(const Json& root);

}  // namespace longshore::api
