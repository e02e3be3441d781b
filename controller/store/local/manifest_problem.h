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

// Joins the lines of a parser's message: tables and conditions have one line for it.
inline std::string InOneLine(std::string message) {
  for (size_t at = 0; (at = message.find('\n', at)) != std::string::npos; at += 2) message.replace(at, 1, "; ");
  return message;
}

}  // namespace longshore::store::local
