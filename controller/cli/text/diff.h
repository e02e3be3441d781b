// What differs between two objects, field by field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/json/json.h"

namespace longshore::cli {

// A field that has a value on one side only, or another one.
struct Difference {
  std::string path;  // "spec.rollout.steps[1].weight".
  std::optional<Json> before;
  std::optional<Json> after;
};

// Of what people write: labels, annotations and spec. In the order of `after`, then what is gone. A null document has
// no field.
std::vector<Difference> Differences(const Json& before, const Json& after);

// A line for each, which begins with +, - or ~.
std::string DiffText(const std::vector<Difference>& differences);

}  // namespace longshore::cli
