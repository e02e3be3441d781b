// The bare loop that the benchmark compares with the controller: it writes the same objects, but decides nothing.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "controller/kube/cluster.h"

namespace longshore::bench::control {

struct WriteOptions {
  std::string namespace_ = "default";
  int models = 10'000;
  int fleets = 1;       // Model i belongs to fleet i % fleets; fleets are named "f0" and so on.
  int writers = 16;     // Number of concurrent writers.
  bool status = false;  // After creating each Model, also write a status of the same size as the controller's.
};

// Creates Models "m0" and so on, and returns how long that took. Errors are those of kube::Api.
Result<Duration> WriteModels(const kube::Cluster& cluster, const WriteOptions& options);
// Changes an annotation of the Models in turn, `times` times in all, and returns how long that took.
Result<Duration> TouchModels(const kube::Cluster& cluster, const WriteOptions& options, int times);
// Deletes all Models of the namespace, with one request for all of them, which is repeated until none is left.
Status DeleteModels(const kube::Cluster& cluster, const std::string& namespace_);

// Watches until options.models Models are Ready, and calls `begun` when the watch has started. Unavailable after the
// timeout, with the number of Ready Models; Cancelled as soon as `given_up` is requested.
Status AwaitReady(const kube::Cluster& cluster, const WriteOptions& options, Duration time_max,
                  const std::stop_token& given_up, const std::function<void()>& begun);

}  // namespace longshore::bench::control
