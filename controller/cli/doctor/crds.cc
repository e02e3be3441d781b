#include "controller/cli/doctor/crds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "controller/api/apply_crds.h"

namespace longshore::cli::doctor {
namespace {

constexpr const char* kVersion = "v1alpha1";
constexpr size_t kFieldsNamedMax = 3;

// The depth is limited by that of the document (kYamlDepthMax; an API server also has a limit).
void AddFields(const Json& schema, const std::string& path, std::set<std::string>& fields) {
  if (!schema.is_object()) return;
  for (const char* nested : {"items", "additionalProperties"}) {
    if (schema.contains(nested)) AddFields(schema.at(nested), path, fields);
  }
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (const auto& [name, property] : properties->items()) {
    fields.insert(path + "." + name);
    AddFields(property, path + "." + name, fields);
  }
}

std::string ListOf(const std::vector<std::string>& fields) {
  const size_t named = std::min(fields.size(), kFieldsNamedMax);
  std::string list = fmt::format("{}", fmt::join(fields.begin(), fields.begin() + static_cast<long>(named), ", "));
  return fields.size() == named ? list : list + fmt::format(" and {} more", fields.size() - named);
}

}  // namespace

Result<std::set<std::string>> FieldsOf(const Json& crd, const std::string& version) try {
  for (const Json& one : crd.at("spec").at("versions")) {
    if (one.at("name") != version || !one.at("served").get<bool>()) continue;
    std::set<std::string> fields;
    AddFields(one.at("schema").at("openAPIV3Schema"), "", fields);
    return fields;
  }
  return NotFound("it does not serve the version {}", version);
} catch (const Json::exception& error) {  // A field is missing or has the wrong type.
  return DataLoss("it is not a valid CRD: {}", error.what());
}

Finding CheckCrd(const Json& ours, const Result<Json>& theirs) {
  const std::string crd = ours.at("metadata").at("name").get<std::string>();
  Finding finding{kKubernetes, "CRD " + crd, Verdict::kOk, "", ""};
  const auto fail = [&](const std::string& cause) {
    finding.verdict = Verdict::kFailure;
    finding.cause = cause;
    finding.cure = api::kApplyCrds;
    return finding;
  };
  if (!theirs && theirs.error().code == Code::kNotFound) return fail("it does not exist.");
  if (!theirs) {
    finding.verdict = Verdict::kNotKnown;
    finding.cause = theirs.error().message + ".";
    finding.cure =
        fmt::format("ask an administrator to run kubectl longshore doctor, or for the right to get CRD {}", crd);
    return finding;
  }
  const auto needed = FieldsOf(ours, kVersion);
  const auto stored = FieldsOf(*theirs, kVersion);
  CHECK(needed.has_value());
  if (!stored) return fail(stored.error().message + ".");
  std::vector<std::string> missing;
  std::ranges::set_difference(*needed, *stored, std::back_inserter(missing));
  if (!missing.empty()) {
    return fail(fmt::format(
        "it is older than this release: it lacks {}, which the API server drops when it is written.", ListOf(missing)));
  }
  finding.cause = fmt::format("it serves {} with all {} fields of this release.", kVersion, needed->size());
  return finding;
}

}  // namespace longshore::cli::doctor
