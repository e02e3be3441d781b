// Compares our rules with those of Argo Rollouts, Flagger and Kayenta, at equal false alarms.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.h"
#include "tests/sim/peer_tuning.h"
#include "tests/sim/report.h"

namespace longshore::sim {

struct PeerOptions {
  std::string program;  // The path of longshore-peer-rules.
  // Of equal versions and of each fault. Others choose the settings.
  Rollouts rollouts;
  std::vector<Fault> faults = AllFaults(100);
  TuningCounts counts{};
};

// For each fault, family of worlds and peer, the candidate's requests until the fault is found, in the same simulated
// rollouts. The peer has the setting that finds the fault soonest, of the many in peer_settings.h that roll back at
// most 1 % of the equal versions in each world of the family. Settings are chosen and compared with different seeds.
// Then the peers' documented settings.
Result<std::vector<Row>> PeerRows(const PeerOptions& options);

}  // namespace longshore::sim
