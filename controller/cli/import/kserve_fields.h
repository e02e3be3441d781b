// The fields of an InferenceService that are not imported, with the note for each. Internal to import/.
#pragma once

#include <array>

namespace longshore::cli {

struct Known {
  const char* field;
  const char* why;
};

inline constexpr const char* kPlain = "has no counterpart";
inline constexpr const char* kOwnContainer = "has no counterpart: the controller defines the node's container";

// Fields of the predictor: of the component itself, and of its pods.
inline constexpr std::array kOfPredictor = {
    Known{"timeout", "has no counterpart: each request has its own deadline"},
    Known{"logger", "has no counterpart: nodes log requests with their flag --request_log"},
    Known{"deploymentStrategy", "has no counterpart: a new version of a model restarts no pod; see spec.rollout.surge"},
    Known{"scaleMetricType", "has no counterpart: a fleet scales by how long requests wait and how busy nodes are"},
    Known{"autoScaling", "has no counterpart: a fleet scales by how long requests wait and how busy nodes are"},
    Known{"canary", "has no counterpart: see rollout.steps of the Model, which need no extra pods"},
    Known{"workerSpec", "has no counterpart: a version runs on one node"},
    Known{"minAvailable", "has no counterpart: a fleet always has maxUnavailable 1"},
    Known{"maxUnavailable", "has no counterpart: a fleet always has maxUnavailable 1"},
    Known{"containers", kOwnContainer},
    Known{"initContainers", kOwnContainer},
    Known{"ephemeralContainers", kOwnContainer},
    Known{"volumes", "has no counterpart: see spec.modelVolumes for claims and Secrets"},
    Known{"affinity", "has no counterpart: see spec.nodeSelector, tolerations and topologySpread"},
    Known{"securityContext", "has no counterpart: nodes always run without privileges"},
    Known{"automountServiceAccountToken", "has no counterpart: nodes never get an API token"},
    Known{"serviceAccount", "is deprecated and not imported: use serviceAccountName"},
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

// Fields of the model server: of the server itself, and of its container.
inline constexpr std::array kOfRuntime = {
    Known{"runtime", "has no counterpart: models run on longshore-node"},
    Known{"runtimeVersion",
          "has no counterpart: models run on longshore-node, which refuses a model with an unsupported op"},
    Known{"name", kOwnContainer},
    Known{"image",
          "has no counterpart: a fleet cannot run the image of another server; see spec.image of a ServingFleet"},
    Known{"imagePullPolicy", kOwnContainer},
    Known{"args", "has no counterpart: arguments of another server do not apply to longshore-node"},
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
    Known{"securityContext", "has no counterpart: nodes always run without privileges"},
    Known{"terminationMessagePath", kOwnContainer},
    Known{"terminationMessagePolicy", kOwnContainer},
    Known{"resizePolicy", kOwnContainer},
    Known{"restartPolicy", kOwnContainer},
    Known{"stdin", kOwnContainer},
    Known{"stdinOnce", kOwnContainer},
    Known{"tty", kOwnContainer},
    Known{"workingDir", kOwnContainer},
};

// The fields for predictors of other frameworks.
inline constexpr std::array kOtherFormats = {"sklearn", "xgboost",     "pytorch", "triton",  "onnx",
                                             "pmml",    "huggingface", "paddle",  "lightgbm"};

}  // namespace longshore::cli
