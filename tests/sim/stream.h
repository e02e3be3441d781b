// Simulated requests to a stable version and a candidate, reproducible by the seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace longshore::sim {

// Disturbances that affect both versions alike, so that requests at about the same time on one node are correlated. By
// default there are none, and every request is independent.
struct Conditions {
  int nodes = 1;
  double node_sigma = 0;  // Standard deviation of the logarithm of the constant factor on a node's run times.
  // The logarithm of the run times on a node drifts as an Ornstein-Uhlenbeck process with this standard deviation and
  // the time constant drift_seconds.
  double drift_sigma = 0;
  double drift_seconds = 100;
  double burst_every_seconds = 0;  // Mean time between bursts on a node; 0: no bursts.
  double burst_seconds = 5;        // Mean length of a burst.
  double burst_slowdown = 3;
  double burst_errors = 0.05;  // Minimum share of requests that fail during a burst.
  int batch_size = 1;          // Number of requests of one version on one node that share a run.
};

// The simulated conditions. The candidate equals stable if its error rate is the same and slowdown is 1.
struct World {
  double candidate_share = 0.25;  // The candidate's share of the requests.
  double stable_errors = 0.01;    // Share of stable's requests that fail.
  double candidate_errors = 0.01;
  double run_time_median_us = 10000;  // The run times have a log-normal distribution.
  // Standard deviation of the logarithm of run times; 0.25 gives p99 / median = 1.8.
  double run_time_sigma = 0.25;
  double slowdown = 1;               // The candidate's run times divided by stable's.
  double requests_per_second = 100;  // Needed by rules that measure once per interval.
  Conditions conditions;
};

struct Request {
  bool candidate = false;
  bool error = false;
  double run_time_us = 0;
  int node = 0;
  bool first_of_batch = true;  // Only the first request's run time counts, because a batch has only one run.
};

class Stream {
 public:
  Stream(const World& world, uint64_t seed);

  Request Next();
  void SetCandidateShare(double share) { world_.candidate_share = share; }

 private:
  struct Batch {
    int left = 0;
    double run_time_us = 0;
  };
  struct Node {
    double log_speed = 0;
    double log_drift = 0;
    double seen_at = 0;  // Time of the last request on the node, in seconds.
    double burst_ends_at = -1;
    double burst_begins_at = 0;
    Batch batches[2];  // The unfinished batches of stable and of the candidate.
  };
  void Advance(Node& node);
  double Exponential(double mean) { return -mean * std::log1p(-uniform_(random_)); }

  World world_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
  std::vector<Node> nodes_;
  double now_ = 0;  // The simulated time in seconds.
};

}  // namespace longshore::sim
