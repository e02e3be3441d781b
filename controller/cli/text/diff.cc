#include "controller/cli/text/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace longshore::cli::text {
namespace {

// Where a value is in a document.
struct FieldAt {
  std::string path;
  std::vector<std::string> keys;  // Difference::keys.
  bool is_in_list = false;
};
struct Leaf {
  FieldAt at;
  Json value;
};
using Leaves = std::vector<Leaf>;

// Quotes a key that contains a dot or a bracket in the path; keys of labels and annotations often contain dots.
FieldAt Below(FieldAt field, const std::string& key) {
  const bool is_plain = key.find_first_of(".[") == std::string::npos;
  field.path += is_plain ? "." + key : fmt::format("[\"{}\"]", key);
  if (!field.is_in_list) field.keys.push_back(key);
  return field;
}

void Flatten(const Json& value, const FieldAt& field, Leaves& leaves) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) Flatten(item, Below(field, key), leaves);
  } else if (value.is_array() && !value.empty()) {
    for (size_t i = 0; i < value.size(); ++i)
      Flatten(value[i], {fmt::format("{}[{}]", field.path, i), field.keys, true}, leaves);
  } else {
    leaves.push_back({field, value});
  }
}

Leaves LeavesOf(const Json& document) {
  Leaves leaves;
  if (document.is_null()) return leaves;
  const Json metadata = document.value("metadata", Json::object());
  for (const char* key : {"labels", "annotations"}) {
    if (metadata.contains(key)) Flatten(metadata.at(key), Below({"metadata", {"metadata"}}, key), leaves);
  }
  Flatten(document.value("spec", Json::object()), {"spec", {"spec"}}, leaves);
  return leaves;
}

std::string Shown(const Json& value) { return DumpJson(value); }

}  // namespace

std::vector<Difference> Differences(const Json& before, const Json& after) {
  const Leaves was = LeavesOf(before);
  std::map<std::string, Json> gone;
  for (const Leaf& leaf : was) gone.emplace(leaf.at.path, leaf.value);
  std::vector<Difference> differences;
  for (const auto& [at, value] : LeavesOf(after)) {
    const auto found = gone.find(at.path);
    if (found == gone.end()) {
      differences.push_back({at.path, at.keys, std::nullopt, value});
      continue;
    }
    if (found->second != value) differences.push_back({at.path, at.keys, found->second, value});
    gone.erase(found);
  }
  for (const auto& [at, value] : was) {
    if (gone.contains(at.path)) differences.push_back({at.path, at.keys, value, std::nullopt});
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
