// Label selectors, as kubectl's -l: "app=x,tier!=y", "app in (x, y), tier notin (z), canary, !old".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace longshore::cli::input {

struct Requirement {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;
};

// All requirements must hold; an empty selector matches everything.
using Selector = std::vector<Requirement>;

// Returns InvalidArgument, which shows the part that is wrong.
Result<Selector> ParseSelector(std::string_view text);

// As in Kubernetes, != and notin also match objects without the label.
bool Matches(const Selector& selector, const std::map<std::string, std::string>& labels);

}  // namespace longshore::cli::input
