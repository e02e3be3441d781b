// Which ops there are, for who wants to know before bringing a model.
#pragma once

#include <string>
#include <vector>

namespace longshore::engine::cpu {

struct OpSupport {
  std::string op;
  std::string types;      // Which values of the attribute T it takes: "float, int32"; "any".
  bool has_fast = false;  // Beside the reference kernel there is a faster way, for float.
};

// All, sorted by op.
std::vector<OpSupport> SupportedOps();

}  // namespace longshore::engine::cpu
