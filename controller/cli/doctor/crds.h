// Whether a cluster's CustomResourceDefinitions have every field that this release reads and writes. Pure.
#pragma once

#include <set>
#include <string>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// Returns the paths of all fields that a version of the CRD defines: ".status.rollout.phase". Returns NotFound if the
// CRD does not serve the version.
Result<std::set<std::string>> FieldsOf(const Json& crd, const std::string& version);

// `ours`: the CRD of this release. `theirs`: the one of the cluster. An API server drops fields that its CRD lacks, so
// a controller that is newer than the CRDs loses what it writes.
Finding CheckCrd(const Json& ours, const Result<Json>& theirs);

}  // namespace longshore::cli::doctor
