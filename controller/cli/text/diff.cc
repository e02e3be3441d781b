#include "controller/cli/text/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace longshore::cli::text {
namespace {

using Leaves = std::vector<std::pair<std::string, Json>>;

// Appends `key` to `path`. Quotes a key that contains a dot or a bracket; keys of labels and annotations often contain
// dots.
std::string Below(const std::string& path, const std::string& key) {
  if (path.empty()) return key;
  return key.find_first_of(".[") == std::string::npos ? path + "." + key : fmt::format("{}[\"{}\"]", path, key);
}

void Flatten(const Json& value, const std::string& path, Leaves& leaves) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) Flatten(item, Below(path, key), leaves);
  } else if (value.is_array() && !value.empty()) {
    for (size_t i = 0; i < value.size(); ++i) Flatten(value[i], fmt::format("{}[{}]", path, i), leaves);
  } else {
    leaves.emplace_back(path, value);
  }
}

Leaves LeavesOf(const Json& document) {
  Leaves leaves;
  if (document.is_null()) return leaves;
  const Json metadata = document.value("metadata", Json::object());
  for (const char* key : {"labels", "annotations"}) {
    if (metadata.contains(key)) Flatten(metadata.at(key), fmt::format("metadata.{}", key), leaves);
  }
  Flatten(document.value("spec", Json::object()), "spec", leaves);
  return leaves;
}

std::string Shown(const Json& value) { return DumpJson(value); }

}  // namespace

std::vector<Difference> Differences(const Json& before, const Json& after) {
  const Leaves was = LeavesOf(before);
  std::map<std::string, Json> gone(was.begin(), was.end());
  std::vector<Difference> differences;
  for (auto& [path, value] : LeavesOf(after)) {
    const auto found = gone.find(path);
    if (found == gone.end()) {
      differences.push_back({path, std::nullopt, value});
      continue;
    }
    if (found->second != value) differences.push_back({path, found->second, value});
    gone.erase(found);
  }
  for (const auto& [path, value] : was) {
    if (gone.contains(path)) differences.push_back({path, value, std::nullopt});
  }
  return differences;
}

std::string DiffText(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& difference : differences) {
    if (!difference.before) {
      text += fmt::format("  + {}: {}\n", difference.path, Shown(*difference.after));
    } else if (!difference.after) {
      text += fmt::format("  - {}: {}\n", difference.path, Shown(*difference.before));
    } else {
      text += fmt::format("  ~ {}: {} -> {}\n", difference.path, Shown(*difference.before), Shown(*difference.after));
    }
  }
  return text;
}

}  // namespace longshore::cli::text
