// What a person does if the CRDs of a cluster are missing or older than the programs.
#pragma once

namespace longshore::api {

// A command line. CHART: the chart of this release. CRDs that Helm installed have Helm as the owner of their fields, so
// the apply must take them over.
inline constexpr const char* kApplyCrds = "helm show crds CHART | kubectl apply --server-side --force-conflicts -f -";

}  // namespace longshore::api
