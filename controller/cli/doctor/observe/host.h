// Examines a controller on this host. Reads only; it changes nothing.
#pragma once

#include <functional>

#include "common/base/clock.h"
#include "common/base/path.h"
#include "controller/cli/doctor/finding.h"
#include "controller/cli/doctor/observe/asked.h"
#include "controller/cli/text/standing.h"
#include "controller/store/store.h"

namespace longshore::cli::doctor::observe {

// What is examined, and how, in both places.
struct Examination {
  std::string namespace_;   // Only fleets and models of this namespace.
  std::string own_version;  // The version of this command line.
  std::string place;        // Arguments by which other commands find this place: " --manifests /m".
  Limit limit{5000};        // For each read.
  const Clock& clock;
  std::function<void(const std::string& what)> on_slow;  // See RunAll.
};

// `seen`: what the manifest files say about the objects.
Findings ExamineHost(const Examination& examination, store::Store& store, const Path& manifests, text::HostSeen seen);

}  // namespace longshore::cli::doctor::observe
