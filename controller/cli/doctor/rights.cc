#include "controller/cli/doctor/rights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "controller/api/document.h"

namespace longshore::cli::doctor {
namespace {

constexpr const char* kApiGroup = "longshore.dev";
constexpr size_t kRightsNamedMax = 5;

// Returns why the first unanswered question has no answer; nullptr if all have one.
const Error* Unanswered(const std::vector<AskedRight>& rights) {
  const auto found = std::ranges::find_if(rights, [](const AskedRight& one) { return !one.allowed; });
  return found == rights.end() ? nullptr : &found->allowed.error();
}

std::string RefusedOf(const std::vector<AskedRight>& rights) {
  std::vector<std::string> refused;
  for (const AskedRight& one : rights) {
    if (one.allowed && !*one.allowed) refused.push_back(ToString(one.right));
  }
  const size_t named = std::min(refused.size(), kRightsNamedMax);
  std::string list = fmt::format("{}", fmt::join(refused.begin(), refused.begin() + static_cast<long>(named), ", "));
  return refused.size() == named ? list : list + fmt::format(" and {} more", refused.size() - named);
}

// The lines of the definition longshore.rules, which contain no template commands.
std::string RulesIn(const std::string& rbac_template) {
  std::istringstream lines(rbac_template);
  std::string rules;
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{{- end")) is_inside = false;
    if (is_inside) rules += line + "\n";
    if (line.find("define \"longshore.rules\"") != std::string::npos) is_inside = true;
  }
  return rules;
}

}  // namespace

std::string ToString(const Right& right) { return right.verb + " " + right.resource; }

std::vector<Right> RightsOfUsers() {
  std::vector<Right> rights;
  for (const char* resource : {"models", "servingfleets"}) {
    for (const char* verb : {"get", "list", "watch"})
      rights.push_back({verb, kApiGroup, resource, "get, status, explain and all other commands"});
    for (const char* verb : {"create", "patch"}) rights.push_back({verb, kApiGroup, resource, "apply, diff and set"});
    rights.push_back({"delete", kApiGroup, resource, "delete"});
  }
  rights.push_back({"patch", kApiGroup, "models/status", "promote, abort, pause, resume, retry, undo and validate"});
  return rights;
}

Result<std::vector<Right>> RightsInChart(const std::string& rbac_template) try {
  ASSIGN_OR_RETURN(const auto documents, api::LoadYaml("rbac.yaml", RulesIn(rbac_template), 1));
  std::vector<Right> rights;
  for (const api::YamlDocument& document : documents) {
    for (const Json& rule : document.root) {
      for (const Json& resource : rule.at("resources")) {
        for (const Json& verb : rule.at("verbs")) {
          rights.push_back(
              {verb.get<std::string>(), rule.at("apiGroups").at(0).get<std::string>(), resource.get<std::string>()});
        }
      }
    }
  }
  if (rights.empty()) return NotFound("rbac.yaml has no rules");
  return rights;
} catch (const Json::exception& error) {
  return DataLoss("rbac.yaml: {}", error.what());
}

Findings CheckUserRights(const std::string& namespace_, const std::vector<AskedRight>& rights) {
  std::vector<std::string> uses;
  for (const AskedRight& one : rights) {
    if (std::ranges::find(uses, one.right.commands) == uses.end()) uses.push_back(one.right.commands);
  }
  Findings findings;
  for (const std::string& use : uses) {
    std::vector<AskedRight> of_use;
    std::ranges::copy_if(rights, std::back_inserter(of_use),
                         [&](const AskedRight& one) { return one.right.commands == use; });
    const bool reads = of_use.front().right.verb == "get";
    Finding finding{kRights, "Yours for " + use, Verdict::kOk,
                    fmt::format("you have them in namespace {}.", namespace_)};
    if (const Error* error = Unanswered(of_use)) {
      finding.verdict = Verdict::kNotKnown;
      finding.cause = error->message + ".";
      finding.cure = "kubectl auth can-i --list -n " + namespace_;
    } else if (const std::string refused = RefusedOf(of_use); !refused.empty()) {
      finding.verdict = reads ? Verdict::kFailure : Verdict::kWarning;
      finding.cause = fmt::format("in namespace {} you may not: {}.", namespace_, refused);
      finding.cure = fmt::format("kubectl -n {} create rolebinding longshore-{} --clusterrole=longshore-{} --user=YOU",
                                 namespace_, reads ? "view" : "edit", reads ? "view" : "edit");
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Finding CheckControllerRights(const std::string& account, const std::string& namespace_,
                              const std::vector<AskedRight>& rights, const std::string& helm) {
  Finding finding{
      kRights, "The controller's", Verdict::kOk,
      fmt::format("{} has all {} that the chart grants, in namespace {}.", account, rights.size(), namespace_)};
  if (const Error* error = Unanswered(rights)) {
    finding.verdict = Verdict::kNotKnown;
    finding.cause = error->message + ".";
    finding.cure = fmt::format("ask an administrator to run longshore doctor -n {}", namespace_);
  } else if (const std::string refused = RefusedOf(rights); !refused.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("in namespace {}, {} may not: {}.", namespace_, account, refused);
    finding.cure =
        fmt::format("{}; if the controller does not serve all namespaces, add {} to watchNamespaces", helm, namespace_);
  }
  return finding;
}

}  // namespace longshore::cli::doctor
