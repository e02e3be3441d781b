// Whether the user and the controller have the rights that they need. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// A verb on a resource of the API. For user rights, `commands` names the commands that need it.
struct Right {
  std::string verb;
  std::string group;     // "": the core group.
  std::string resource;  // "models", "models/status".
  std::string commands{};

  friend bool operator==(const Right&, const Right&) = default;
};
// "update models/status".
std::string ToString(const Right& right);

// The rights that commands of `longshore` need in a namespace.
std::vector<Right> RightsOfUsers();

// Reads the rights of the controller from the chart's template rbac.yaml: the rules of its definition longshore.rules.
Result<std::vector<Right>> RightsInChart(const std::string& rbac_template);

struct AskedRight {
  Right right;
  Result<bool> allowed;  // The API server's answer.
};
// The user's own rights.
Findings CheckUserRights(const std::string& namespace_, const std::vector<AskedRight>& rights);
// `account`: "system:serviceaccount:longshore:longshore-controller". `helm`: see workloads.h.
Finding CheckControllerRights(const std::string& account, const std::string& namespace_,
                              const std::vector<AskedRight>& rights, const std::string& helm);

}  // namespace longshore::cli::doctor
