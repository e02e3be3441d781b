// The objects of Kubernetes that make a fleet, as documents for server-side apply. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::fleet {

// Of this installation, the same for all fleets.
struct PodSettings {
  std::string image;       // Of fleets that name none, when they are made.
  std::string controller;  // What nodes dial: "dns:///longshore-nodes.longshore.svc:8610".
  std::string ca;          // PEM: who signs the controller's certificate and the peers'.
};

inline constexpr const char* kFleetLabel = "longshore.dev/fleet";
// On pods: a fleet that is deleted and made again under its name is another one, whose nodes know no node of the first.
inline constexpr const char* kFleetUidLabel = "longshore.dev/fleet-uid";
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kManager = "longshore-controller";
// On a Deployment: the digest of what its pods were made from, and the form that made them.
inline constexpr const char* kInputsAnnotation = "longshore.dev/inputs";
inline constexpr const char* kFormAnnotation = "longshore.dev/form";
// To be counted up when the same inputs make another pod. A Deployment of another form is left as it is, so that a new
// controller restarts no node.
inline constexpr const char* kForm = "2";

inline constexpr int kGrpcPort = 8500;
inline constexpr int kRestPort = 8501;
inline constexpr int kAdminPort = 8502;
inline constexpr int kPeerPort = 8503;
inline constexpr const char* kTokenAudience = "longshore-controller";

// "longshore-NAME".
std::string ChildName(const std::string& fleet_name);

// The Deployment, without `replicas`: they have another owner (docs/decisions/0007-scale-writes-the-least.md).
// Requires: status.image is there.
Json DeploymentOf(const api::ServingFleet& fleet, const PodSettings& settings);

// All the others, in the order in which they are needed.
std::vector<Json> CompanionsOf(const api::ServingFleet& fleet, const PodSettings& settings);

// The path of an object in the API: "/apis/apps/v1/namespaces/vision/deployments/longshore-cpu".
std::string PathOf(const Json& object);

}  // namespace longshore::fleet
