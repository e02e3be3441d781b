// The Kubernetes objects of a fleet, as documents for server-side apply. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::fleet::pods {

// Settings of this installation, the same for all fleets.
struct PodSettings {
  std::string image;       // Image of new fleets whose spec does not set one.
  std::string controller;  // The address that nodes dial: "dns:///longshore-nodes.longshore.svc:8610".
  std::string lease;       // Namespace and name of the Lease of the controller: "longshore/longshore-controller".
  std::string ca;          // PEM: the CAs that sign the certificates of the controller and the peers.
};

inline constexpr const char* kFleetLabel = "longshore.dev/fleet";
// A label of pods with the uid of their fleet. A fleet that is deleted and created again under the same name has
// another uid, so its nodes do not become peers of the nodes of the deleted fleet.
inline constexpr const char* kFleetUidLabel = "longshore.dev/fleet-uid";
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kManager = "longshore-controller";
// Annotations of a Deployment: the digest of the inputs of its pod template, and the kForm of the controller that made
// it.
inline constexpr const char* kInputsAnnotation = "longshore.dev/inputs";
inline constexpr const char* kFormAnnotation = "longshore.dev/form";
// Version of the code that makes pod templates. Increment it if the same inputs give another template than in the last
// release. A Deployment with the same inputs and another form is not changed, so that a new controller version restarts
// no nodes.
inline constexpr const char* kForm = "3";

inline constexpr int kGrpcPort = 8500;
inline constexpr int kRestPort = 8501;
inline constexpr int kAdminPort = 8502;
inline constexpr int kPeerPort = 8503;
inline constexpr const char* kTokenAudience = "longshore-controller";

// Returns "longshore-NAME".
std::string ChildName(const std::string& fleet_name);

// Returns AlreadyExists, which names the objects, if objects of a fleet with this name would replace those of the
// controller itself, which are in its own namespace.
Status CheckName(const api::Metadata& fleet, const PodSettings& settings);

// Returns the Deployment without `replicas`, which has another field manager
// (docs/decisions/0007-scale-writes-the-least.md). Requires that status.image is set.
Json DeploymentOf(const api::ServingFleet& fleet, const PodSettings& settings);

// Returns all other objects of the fleet, in the order in which they must be created.
std::vector<Json> SupportingObjectsOf(const api::ServingFleet& fleet, const PodSettings& settings);

// Returns the path of an object in the API, for example "/apis/apps/v1/namespaces/vision/deployments/longshore-cpu".
std::string PathOf(const Json& object);

}  // namespace longshore::fleet::pods
