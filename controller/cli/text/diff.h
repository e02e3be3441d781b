// The differences between two objects, field by field.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/json/json.h"

namespace longshore::cli::text {

// A field that only one side has, or whose values differ.
struct Difference {
  std::string path;  // "spec.rollout.steps[1].weight".
  // The keys of the maps that contain it, from the outside: up to the outermost list, which field managers own as a
  // whole. {"spec", "rollout", "steps"} for the path above.
  std::vector<std::string> keys;
  std::optional<Json> before;
  std::optional<Json> after;
};

// Compares what users write: labels, annotations and spec. Returns the fields in the order of `after`, then the removed
// ones. A null document has no fields.
std::vector<Difference> Differences(const Json& before, const Json& after);

// Returns one line per difference, which begins with + (added), - (removed) or ~ (changed).
std::string DiffText(const std::vector<Difference>& differences);

}  // namespace longshore::cli::text
