// Checks of what belongs to the fleets of a cluster: pods, Services, network policies, admission. Pure.
//
// The arguments are lists as the API server answers them: {"items": [...]}; or why they could not be read.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// One finding for each pod that waits, with the reason of Kubernetes: an image that cannot be pulled, a pod that no
// machine has room for, a program that ends again and again.
Findings CheckPods(const std::string& namespace_, const Result<Json>& pods);

// The Services of fleets must have a ready endpoint.
Findings CheckServices(const std::string& namespace_, const Result<Json>& services, const Result<Json>& slices);

// Only hints: policies of others that select the pods with these labels and do not mention the port of the nodes'
// streams. `direction`: "Egress" for the nodes, "Ingress" for the controller.
Findings CheckNetworkPolicies(const std::string& namespace_, const std::string& direction, const Json& labels,
                              const Result<Json>& policies);

// The version that GET /version reports. Longshore needs 1.30.
Finding CheckServer(const std::string& server, const Result<Json>& version);

// The command that changes the installation, to which a cure adds values; without a namespace, nothing is installed.
std::string HelmCommand(const std::string& namespace_);

// The chart's ValidatingAdmissionPolicies. `helm`: the HelmCommand.
Finding CheckAdmission(const Result<Json>& policies, const std::string& helm);

}  // namespace longshore::cli::doctor
