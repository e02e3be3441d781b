// Test cases of decisions as data: each document of tests/golden/FOLDER/*.yaml is one case. The test of the code that
// makes the decision reads the cases of its folder.
//
//   about: One sentence that says what must be true.
//   ...                      the input, in the form that the test defines
//   expect: {phase: Step}    a part of the output: fields that are not named here are not compared
//
// A text such as "@90s" stands for the time 90 s after kStart, in the form that statuses have.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::golden {

inline constexpr TimePoint kStart{std::chrono::seconds(1800000000)};

struct Case {
  std::string where;  // "tests/golden/rollout/steps.yaml:12: The sentence."
  Json json;
};

Result<std::vector<Case>> LoadCases(const std::string& folder);

// The time kStart plus the value of the field, such as "90s"; kStart if the field is absent.
TimePoint TimeOf(const Json& json, const char* key);

// Every field of `expected` that differs in `actual`, as "path: expected X, is Y"; empty if all agree. Objects may
// have more fields than expected; numbers are equal within a millionth.
std::vector<std::string> Differences(const Json& expected, const Json& actual, const std::string& path = "");

// The field of an object, or `otherwise` if it is absent.
template <typename T>
T Get(const Json& json, const char* key, T otherwise) {
  return json.is_object() && json.contains(key) ? json.at(key).get<T>() : otherwise;
}
const Json& Child(const Json& json, const char* key);

}  // namespace longshore::golden
