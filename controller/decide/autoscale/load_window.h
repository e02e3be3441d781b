// Averages of what a fleet did in the last seconds.
//
// Chance must not look like demand: 400 requests come within 10 % of their mean, and 2000 within 5 % (two standard
// deviations). So each signal is an average over as few of the newest ticks as contain kRequestsMin requests, and at
// most over kWindowMax.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "controller/decide/autoscale/fleet_metrics.h"

namespace longshore::autoscale {

// What all measured nodes did in a short time, as sums over the nodes.
struct Tick {
  double seconds = 0;       // Its length; above 0.
  double arrivals = 0;      // Requests that came, including those that were refused.
  double started = 0;       // Requests of which the run began.
  double wait_seconds = 0;  // How long those had waited.
  double busy_seconds = 0;  // Summed over the run slots.
  double slots = 0;         // The number of run slots.
  double queued = 0;        // Requests that wait at its end.
  int nodes = 0;
  // Key: served name. Value: counts of the times from arrival to answer, in the buckets of common/base/buckets.h.
  std::map<std::string, std::vector<int64_t>> times{};
};

class LoadWindow {
 public:
  static constexpr double kWindowMaxSeconds = 15;
  static constexpr double kRequestsMin = 2000;

  void Add(Tick tick);
  void Clear() { ticks_.clear(); }

  // The metrics at present, without the numbers of nodes. `at`: time of the oldest sample of the newest tick. All are
  // unknown as long as there is no tick. A latency is unknown if no node reports the Model.
  FleetMetrics Now(const std::vector<LatencyObjective>& objectives, TimePoint at) const;

 private:
  std::deque<Tick> ticks_;  // The newest first.
};

}  // namespace longshore::autoscale
