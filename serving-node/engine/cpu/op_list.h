// The supported ops, so that a user can check a model before deploying it.
#pragma once

#include <string>
#include <vector>

namespace longshore::engine::cpu {

struct OpSupport {
  std::string op;
  std::string types;      // The supported values of the attribute T, such as "float, int32", or "any".
  bool has_fast = false;  // Whether the op has a faster implementation than the reference kernel, for float.
};

// All supported ops, sorted by name.
std::vector<OpSupport> SupportedOps();

}  // namespace longshore::engine::cpu
