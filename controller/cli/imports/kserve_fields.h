// The fields of an InferenceService without a counterpart in a ServingFleet or Model, with the note for each. Internal
// to imports/.
#pragma once

#include <array>

namespace longshore::cli::imports {

struct Known {
  const char* field;
  const char* why;
};

inline constexpr const char* kPlain = "is not imported";
inline constexpr const char* kOwnContainer = "is not imported: the controller defines the node's container";

// Fields of the predictor component and of its pods.
inline constexpr std::array kOfPredictor = {
    Known{"timeout", "is not imported: each request has its own deadline"},
    Known{"logger", "is not imported: nodes log requests with their flag --request_log"},
    Known{"deploymentStrategy",
          "is not imported: a new version of a model restarts no pod; for other changes, see spec.rollout.surge of the "
          "ServingFleet"},
    Known{"scaleMetricType", "is not imported: a fleet scales by the queue delay and the utilization of its nodes"},
    Known{"autoScaling", "is not imported: a fleet scales by the queue delay and the utilization of its nodes"},
    Known{"canary", "is not imported: set spec.rollout.steps of the Model, which need no extra pods"},
    Known{"workerSpec", "is not imported: a node always runs a whole model"},
    Known{"minAvailable", "is not imported: the PodDisruptionBudget of a fleet always has maxUnavailable 1"},
    Known{"maxUnavailable", "is not imported: the PodDisruptionBudget of a fleet always has maxUnavailable 1"},
    Known{"containers", kOwnContainer},
    Known{"initContainers", kOwnContainer},
    Known{"ephemeralContainers", kOwnContainer},
    Known{"volumes", "is not imported; set claims and Secrets in spec.modelVolumes of the ServingFleet"},
    Known{"affinity", "is not imported; set spec.nodeSelector, tolerations and topologySpread of the ServingFleet"},
    Known{"securityContext", "is not imported: nodes always run without privileges"},
    Known{"automountServiceAccountToken", "is not imported: nodes never get a token for the API server"},
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
    Known{"priority", "is not imported; set spec.priorityClassName of the ServingFleet"},
    Known{"readinessGates", kPlain},
    Known{"resourceClaims", kPlain},
    Known{"runtimeClassName", kPlain},
    Known{"schedulerName", kPlain},
    Known{"schedulingGates", kPlain},
    Known{"setHostnameAsFQDN", kPlain},
    Known{"shareProcessNamespace", kPlain},
    Known{"subdomain", kPlain},
};

// Fields of the model server and of its container.
inline constexpr std::array kOfRuntime = {
    Known{"runtime", "is not imported: models run on longshore-node"},
    Known{"runtimeVersion",
          "is not imported: models run on longshore-node, which refuses a model with an unsupported op"},
    Known{"name", kOwnContainer},
    Known{"image",
          "is not imported: a fleet cannot run the image of another server; see spec.image of the ServingFleet"},
    Known{"imagePullPolicy", kOwnContainer},
    Known{"args", "is not imported: longshore-node does not have the arguments of other servers"},
    Known{"command", kOwnContainer},
    Known{"env", kOwnContainer},
    Known{"envFrom", kOwnContainer},
    Known{"ports", "is not imported; set the ports in spec.ports of the ServingFleet"},
    Known{"volumeMounts", "is not imported; set spec.modelVolumes of the ServingFleet"},
    Known{"volumeDevices", kOwnContainer},
    Known{"livenessProbe", kOwnContainer},
    Known{"readinessProbe", kOwnContainer},
    Known{"startupProbe", kOwnContainer},
    Known{"lifecycle", kOwnContainer},
    Known{"securityContext", "is not imported: nodes always run without privileges"},
    Known{"terminationMessagePath", kOwnContainer},
    Known{"terminationMessagePolicy", kOwnContainer},
    Known{"resizePolicy", kOwnContainer},
    Known{"restartPolicy", kOwnContainer},
    Known{"stdin", kOwnContainer},
    Known{"stdinOnce", kOwnContainer},
    Known{"tty", kOwnContainer},
    Known{"workingDir", kOwnContainer},
};

// Fields of the predictor that contain a model server for another framework.
inline constexpr std::array kOtherFormats = {"sklearn", "xgboost",     "pytorch", "triton",  "onnx",
                                             "pmml",    "huggingface", "paddle",  "lightgbm"};

}  // namespace longshore::cli::imports
