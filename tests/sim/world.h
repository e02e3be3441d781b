// The simulated worlds: a service with a stable version, a candidate, and the people who use it.
#pragma once

#include <string>

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

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

// The users, or tenants, who send the requests. Each user's activity follows Zipf's law with the exponent 1.
struct Users {
  int count = 0;              // 0: each request is from a user of its own.
  double run_time_sigma = 0;  // Standard deviation of the logarithm of a user's mean run time.
  double failing_share = 0;   // Share of the users who fail more often, because of what they send.
  double failing_rate = 0;    // Share of their requests that fail.

  friend bool operator==(const Users&, const Users&) = default;
};

// Batching: a run takes fixed_share + (1 - fixed_share) * rows times the run time of one row, and is padded to a power
// of two.
struct Batches {
  int rows_max = 1;             // 1: no batching.
  double wait_seconds = 0.005;  // A batch waits this long for more requests of its version.
  double fixed_share = 0.8;

  friend bool operator==(const Batches&, const Batches&) = default;
};

// What is wrong with the candidate, besides its error rate and run time, and only for some of the requests.
struct HiddenFault {
  double class_share = 0;     // Share of the requests that belong to the faulty class of inputs.
  double class_errors = 0;    // Share of this class that fails on the candidate.
  double class_slowdown = 1;  // Factor on the candidate's run times for this class.
  bool tenant_fails = false;  // Every request of the most active user fails on the candidate.
  bool node_fails = false;    // One request in five fails on the candidate on the first node.
  double refused_share = 0;   // Share of the candidate's requests that its queue refuses.
  double row_slowdown = 1;    // Factor on the part of a run's time that grows with its rows.

  friend bool operator==(const HiddenFault&, const HiddenFault&) = default;
};

// The candidate equals stable if its error rate is the same, slowdown is 1 and nothing is hidden.
struct World {
  std::string name;
  double requests_per_second = 100;
  double stable_errors = 0.01;  // Share of stable's requests that fail.
  double candidate_errors = 0.01;
  // Share of the errors that are due to the input, so that both versions fail on it.
  double errors_of_inputs = 0.3;
  double run_time_median_us = 10000;  // The run times have a log-normal distribution.
  // Standard deviation of the logarithm of run times; 0.25 gives p99 / median = 1.8.
  double run_time_sigma = 0.25;
  double slowdown = 1;  // The candidate's run times divided by stable's.
  bool keyed = false;   // Users are assigned to the versions, not requests.
  Conditions conditions;
  Users users;
  Batches batches;
  HiddenFault hidden;

  friend bool operator==(const World&, const World&) = default;
};

}  // namespace longshore::sim
