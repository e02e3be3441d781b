// Many simulated rollouts: how often an equal version is rolled back, and how soon a worse one is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "tests/sim/rules.h"

namespace longshore::sim {

// `count` of `trials`.
struct Share {
  int count = 0;
  int trials = 0;
  double value() const { return static_cast<double>(count) / trials; }
  // The upper end of the one-sided 95 % interval of the true share (Clopper and Pearson).
  double UpperBound() const;
};

struct Falses {
  std::string world;
  Share rolled_back;  // Of all rollouts.
  int64_t requests = 0;
  std::map<std::string, int> reasons;
};

// Independent requests, or those of nodes that differ, drift, have bursts and run batches.
enum class Requests { kIndependent, kCorrelated };

// Rollouts of a version against itself through the default steps, analysed after every request. Error rates, spreads
// of the run time, baselines, objectives and conditions differ from rollout to rollout.
Falses RunEqualVersions(Requests requests, int rollouts, int64_t requests_min, uint64_t seed);

// The candidate's requests until the rule rolled back. A trial without a rollback counts as infinitely many.
struct Delay {
  Share found;
  double median = 0;  // 0 if half of the trials or more had no rollback.
  double p90 = 0;
};

// A rule in one world.
struct Measured {
  Delay delay;              // With the fault.
  Share equal_rolled_back;  // Equal versions rolled back on the same horizon.
};

// A peer that rolls back more equal versions than this share does not detect anything, even if it is fast.
inline constexpr double kPeerFalseShareMax = 0.05;
inline constexpr int kFalseTrialsMin = 40;

struct Options {
  int equal_rollouts = 10000;
  int64_t equal_requests_min = 200;
  int trials = 200;  // Per fault, rate and rule; equal versions at least kFalseTrialsMin.
  std::vector<double> requests_per_second = {1, 10, 100};
  uint64_t seed = 1;
};

// One line of the table. A documented example is not a goal: its limit was not chosen for this service.
struct Row {
  std::string what;
  double requests_per_second = 0;
  std::string peer;
  bool is_example = false;
  Measured ours;
  Measured theirs;

  // Whether the row has a goal, and the peer finds more than half of the faults with few false alarms.
  bool IsCompared() const;
  // Our median divided by theirs; 0 if one of them finds less than half of the faults.
  double Ratio() const;
  bool Meets() const;
};

struct Report {
  std::vector<Falses> equal;
  std::vector<Row> rows;
};
Report Simulate(const Options& options);

// The report as text for people.
std::string ToText(const Report& report);
// {"rows": [{"what", "peer", "ours", "theirs", "ratio", "goal", "compared", "met", ...}]}. A rule that finds less than
// half of the faults has null; "met" is null in a row that is not compared, "goal" in a documented example.
Json ToJson(const Report& report);
// Whether every row that has a goal is compared and meets it.
bool MeetsGoals(const Json& report);

}  // namespace longshore::sim
