// The fields of an InferenceService that a ServingFleet and a Model do not have, with what is said of each. Internal to
// import/.
#pragma once

#include <array>

namespace longshore::cli {

struct Known {
  const char* field;
  const char* why;
};

inline constexpr const char* kPlain = "has no counterpart";
inline constexpr const char* kOwnContainer = "has no counterpart: the node's container is the controller's to make";

// Of the component, and what it says of its pods.
inline constexpr std::array kOfPredictor = {
    Known{"timeout", "has no counterpart: each request's own deadline holds"},
    Known{"logger", "has no counterpart: nodes log requests by their flag --request_log"},
    Known{"deploymentStrategy", "has no counterpart: a new version of a model restarts no pod; see spec.rollout.surge"},
    Known{"scaleMetricType", "has no counterpart: a fleet scales by how long requests wait and how busy nodes are"},
    Known{"autoScaling", "has no counterpart: a fleet scales by how long requests wait and how busy nodes are"},
    Known{"canary", "has no counterpart: a Model's rollout.steps say it, without pods of its own"},
    Known{"workerSpec", "has no counterpart: a version runs on one node"},
    Known{"minAvailable", "has no counterpart: a fleet has maxUnavailable 1"},
    Known{"maxUnavailable", "has no counterpart: a fleet has maxUnavailable 1"},
    Known{"containers", kOwnContainer},
    Known{"initContainers", kOwnContainer},
    Known{"ephemeralContainers", kOwnContainer},
    Known{"volumes", "has no counterpart: see spec.modelVolumes for claims and Secrets"},
    Known{"affinity", "has no counterpart: see spec.nodeSelector, tolerations and topologySpread"},
    Known{"securityContext", "has no counterpart: nodes run without any right"},
    Known{"automountServiceAccountToken", "has no counterpart: nodes never get a token of the API"},
    Known{"serviceAccount", "is the old name of serviceAccountName, and not taken"},
    Known{"restartPolicy", kPlain},
    Known{"activeDeadlineSeconds", kPlain},
    Known{"dnsPolicy", kPlain},
    Known{"dnsConfig", kPlain},
    Known{"enableServiceLinks", kPlain},
    Known{"hostAliases", kPlain},
    Known{"hostIPC", kPlain},
    Known{"hostNetwork", kPlain},
    Known{"hostPID", kPlain},
    Known{"hostUsers", kPlain},
    Known{"hostname", kPlain},
    Known{"nodeName", kPlain},
    Known{"os", kPlain},
    Known{"overhead", kPlain},
    Known{"preemptionPolicy", kPlain},
    Known{"priority", "has no counterpart: see spec.priorityClassName"},
    Known{"readinessGates", kPlain},
    Known{"resourceClaims", kPlain},
    Known{"runtimeClassName", kPlain},
    Known{"schedulerName", kPlain},
    Known{"schedulingGates", kPlain},
    Known{"setHostnameAsFQDN", kPlain},
    Known{"shareProcessNamespace", kPlain},
    Known{"subdomain", kPlain},
};

// Of the model server, and what it says of its container.
inline constexpr std::array kOfRuntime = {
    Known{"runtime", "has no counterpart: the node is Longshore's own"},
    Known{"runtimeVersion",
          "has no counterpart: the node is Longshore's own, and refuses a model whose operations it lacks"},
    Known{"name", kOwnContainer},
    Known{"image", "has no counterpart: an image of another server is no node; see spec.image of a ServingFleet"},
    Known{"imagePullPolicy", kOwnContainer},
    Known{"args", "has no counterpart: what a Model does not say, nodes do not do"},
    Known{"command", kOwnContainer},
    Known{"env", kOwnContainer},
    Known{"envFrom", kOwnContainer},
    Known{"ports", "has no counterpart: see spec.ports of a ServingFleet"},
    Known{"volumeMounts", "has no counterpart: see spec.modelVolumes"},
    Known{"volumeDevices", kOwnContainer},
    Known{"livenessProbe", kOwnContainer},
    Known{"readinessProbe", kOwnContainer},
    Known{"startupProbe", kOwnContainer},
    Known{"lifecycle", kOwnContainer},
    Known{"securityContext", "has no counterpart: nodes run without any right"},
    Known{"terminationMessagePath", kOwnContainer},
    Known{"terminationMessagePolicy", kOwnContainer},
    Known{"resizePolicy", kOwnContainer},
    Known{"restartPolicy", kOwnContainer},
    Known{"stdin", kOwnContainer},
    Known{"stdinOnce", kOwnContainer},
    Known{"tty", kOwnContainer},
    Known{"workingDir", kOwnContainer},
};

// Of predictors that are no TensorFlow.
inline constexpr std::array kOtherFormats = {"sklearn", "xgboost",     "pytorch", "triton",  "onnx",
                                             "pmml",    "huggingface", "paddle",  "lightgbm"};

}  // namespace longshore::cli
