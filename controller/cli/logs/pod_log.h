// Reads the log of a pod from the API server.
#pragma once

#include <string>

#include "common/base/error.h"
#include "controller/cli/logs/lines.h"
#include "controller/cli/logs/printer.h"
#include "controller/kube/cluster.h"

namespace longshore::cli::logs {

struct PodContainer {
  std::string namespace_;
  std::string pod;
  std::string container;
};

// Prints the lines that are wanted. With `follow`, prints later ones too, until the container ends. Returns
// PermissionDenied, which names the right that is missing, if the user may not read logs of pods.
Status PrintPodLog(const kube::Cluster& cluster, const PodContainer& of, const Wanted& wanted, Printer& printer);

}  // namespace longshore::cli::logs
