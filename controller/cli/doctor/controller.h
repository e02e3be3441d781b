// Checks of the controller: whether it runs, and the versions of the programs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// What the lock file of a directory of manifests says.
struct HostLife {
  std::string manifests;  // The directory.
  bool is_running = false;
  int pid = 0;
  TimePoint last_active_at{};  // TimePoint{}: never.
  Status answer{};             // Why its administration listener has not answered; OK also if it was not asked.
};
Finding CheckHostLife(const HostLife& life, TimePoint now);

// What the Lease of a cluster's controller says.
struct LeaseLife {
  std::string name;      // "longshore/longshore-controller"; "": no fleet and no pod says where it is.
  Status pods{};         // Why the pods of controllers could not be listed.
  Status read{};         // Why the Lease could not be read; NotFound if it does not exist.
  bool is_held = false;  // Whether its holder renews it.
  std::string holder{};
  TimePoint renewed_at{};
};
Finding CheckLeaseLife(const LeaseLife& life, TimePoint now);

// The version of a program, or why it is not known.
struct ProgramVersion {
  std::string program;  // "controller", "node cpu-0".
  Result<std::string> version;
};
// Compares the versions of running programs with the version of this command line.
Findings CheckVersions(const std::string& own, const std::vector<ProgramVersion>& programs);

}  // namespace longshore::cli::doctor
