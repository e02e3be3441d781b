// Why a manifest, or an object in it, was not applied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"

namespace longshore::store::local {

// A problem of a manifest.
struct ManifestProblem {
  std::string file;
  std::string reason;   // "Invalid", "NotApplied", "Vanished" or "Duplicate".
  std::string message;  // Includes file, line and field if the parser reported them.
};

}  // namespace longshore::store::local
