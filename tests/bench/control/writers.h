// The bare loop beside which the controller is measured: it writes the same objects, and decides nothing.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "common/clock.h"
#include "common/error.h"
#include "controller/kube/cluster.h"

namespace longshore::bench {

struct WriteOptions {
  std::string namespace_ = "default";
  int models = 10'000;
  int fleets = 1;       // Model i is of fleet i % fleets, "f0" and so on.
  int writers = 16;     // In parallel.
  bool status = false;  // A status as long as the controller's, after each was made.
};

// Makes Models "m0" and so on, and gives how long that took. Errors as kube::Api's.
Result<Duration> WriteModels(const kube::Cluster& cluster, const WriteOptions& options);
// Changes an annotation of one Model after the other, so often, and gives how long that took.
Result<Duration> TouchModels(const kube::Cluster& cluster, const WriteOptions& options, int times);
// Of all of them, at once.
Status DeleteModels(const kube::Cluster& cluster, const std::string& namespace_);

// Watches until so many Models are Ready, and calls `begun` when the watch is there. Unavailable after the time, saying
// how many there were; Cancelled at once when `given_up` is requested.
Status AwaitReady(const kube::Cluster& cluster, const WriteOptions& options, Duration time_max,
                  const std::stop_token& given_up, const std::function<void()>& begun);

}  // namespace longshore::bench
