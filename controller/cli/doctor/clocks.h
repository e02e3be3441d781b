// Checks of clocks and certificates. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/cli/doctor/controller.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

// Compares the time of an API server's answer, which has whole seconds, with this machine's clock.
Finding CheckServerClock(const Result<TimePoint>& answered_at, TimePoint now);

// Compares the time of the Lease's renewal with this machine's clock. Only a held Lease says anything.
Findings CheckLeaseClock(const LeaseLife& life, Duration lease_duration, TimePoint now);

struct Certificate {
  std::string what;  // "of your kubeconfig", "/etc/node.crt".
  Result<TimePoint> from;
  Result<TimePoint> until;
  std::string renew{};  // How to renew it.
};
Finding CheckCertificate(const Certificate& certificate, TimePoint now);

}  // namespace longshore::cli::doctor
