#include "tests/golden/golden.h"

#include <algorithm>
#include <cmath>

#include "common/os/file.h"
#include "controller/api/document.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::golden {
namespace {

void ExpandTimes(Json& json) {
  if (json.is_structured()) {
    for (Json& item : json) ExpandTimes(item);
  } else if (json.is_string() && json.get_ref<const std::string&>().starts_with("@")) {
    const auto after = api::ParseDuration(json.get<std::string>().substr(1));
    if (after) json = api::FormatTime(kStart + *after);
  }
}

bool SameScalar(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>();
    return std::abs(x - b.get<double>()) <= 1e-6 * std::max(1.0, std::abs(x));
  }
  return a == b;
}

}  // namespace

Result<std::vector<Case>> LoadCases(const std::string& folder) {
  const Path root = source_tree::Root() / "tests" / "golden" / folder;
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const Path& file : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    ASSIGN_OR_RETURN(auto documents, api::LoadYaml(file.string(), text, 1000));
    for (auto& document : documents) {
      ExpandTimes(document.root);
      cases.push_back(
          {fmt::format("{}:{}: {}", file.string(), document.line, Get<std::string>(document.root, "about", "?")),
           std::move(document.root)});
    }
  }
  return cases;
}

TimePoint TimeOf(const Json& json, const char* key) {
  const auto after = api::ParseDuration(Get<std::string>(json, key, "0s"));
  CHECK(after.has_value());
  return kStart + *after;
}

std::vector<std::string> Differences(const Json& expected, const Json& actual, const std::string& path) {
  std::vector<std::string> all;
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const auto more = Differences(value, Child(actual, key.c_str()), path + "." + key);
      all.insert(all.end(), more.begin(), more.end());
    }
  } else if (!SameScalar(expected, actual)) {
    all.push_back(fmt::format("{}: expected {}, is {}", path, expected.dump(), actual.dump()));
  }
  return all;
}

const Json& Child(const Json& json, const char* key) {
  static const Json kNull;
  return json.is_object() && json.contains(key) ? json.at(key) : kNull;
}

}  // namespace longshore::golden
