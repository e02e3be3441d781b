// A manifest as a tree that remembers its lines. yaml-cpp is seen behind this header only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/json/json.h"

namespace longshore::api {

// Where a value was written, for messages. Paths are as people say them: "spec.rollout.steps[1].weight".
struct Origin {
  std::string file;                  // "" when the value does not come from a file.
  std::map<std::string, int> lines;  // Path to line, from 1.

  // "models/digits.yaml:14: spec.rollout: " with the line of the nearest known path above; without a file only the
  // path.
  std::string At(const std::string& path) const;
};

struct YamlDocument {
  Json root;
  Origin origin;
  int line = 1;
};

inline constexpr int kYamlDepthMax = 64;
inline constexpr int kYamlNodesMax = 200000;  // Of one file, aliases expanded.

// All documents of the text that are not empty. Unquoted scalars get YAML 1.2's core types. Refused with file and line:
// what is not YAML, a key written twice in one mapping, and more than the limits.
Result<std::vector<YamlDocument>> LoadYaml(std::string_view file, std::string_view text, size_t documents_max);

// The reverse: block style, keys in their order.
std::string EmitYaml(const Json& root);

}  // namespace longshore::api
