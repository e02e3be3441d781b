// Examines an installation in a cluster. Reads only; it changes nothing: reviews of rights are not stored.
#pragma once

#include "controller/cli/doctor/finding.h"
#include "controller/cli/doctor/observe/host.h"
#include "controller/kube/cluster.h"

namespace longshore::cli::doctor::observe {

Findings ExamineCluster(const Examination& examination, const kube::Cluster& cluster);

}  // namespace longshore::cli::doctor::observe
