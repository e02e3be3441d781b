// Many simulated rollouts: how often a version that equals stable is rolled back, and how soon a worse one is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "tests/sim/rules.h"

namespace longshore::sim {

// The share of `count` in `trials`.
struct Share {
  int count = 0;
  int trials = 0;
  double value() const { return static_cast<double>(count) / trials; }
  // The upper end of the one-sided 95 % confidence interval of the true share (Clopper and Pearson).
  double UpperBound() const;
};

struct Falses {
  std::string world;
  Share rolled_back;  // The share of all rollouts.
  int64_t requests = 0;
  std::map<std::string, int> reasons;
};

// Requests are independent, or correlated because nodes differ, drift, have bursts and run batches.
enum class Requests { kIndependent, kCorrelated };

// Simulates rollouts of a version against itself through the default steps, analysed after every request. Error rates,
// spreads of the run time, baselines, objectives and conditions differ from rollout to rollout.
Falses RunEqualVersions(Requests requests, int rollouts, int64_t requests_min, uint64_t seed);

// The number of the candidate's requests until the rule rolled back. A trial without a rollback counts as infinitely
// many.
struct Delay {
  Share found;
  double median = 0;  // 0 if more than half of the trials had no rollback.
  double p90 = 0;
};

// The results of a rule in one world.
struct Measured {
  Delay delay;              // In the rollouts with the fault.
  Share equal_rolled_back;  // In rollouts of the same length with equal versions.
};

// A peer that rolls back more than this share of the equal versions is not compared, even if it is fast, because it
// does not tell a fault from chance.
inline constexpr double kPeerFalseShareMax = 0.05;
inline constexpr int kFalseTrialsMin = 40;

struct Options {
  int equal_rollouts = 10000;
  int64_t equal_requests_min = 200;
  int trials = 200;  // Rollouts per fault, rate and rule; with equal versions there are at least kFalseTrialsMin.
  std::vector<double> requests_per_second = {1, 10, 100};
  uint64_t seed = 1;
};

// One line of the table: our rule and a peer for one fault. An example from a peer's documentation has no goal, because
// its limit was not chosen for this service.
struct Row {
  std::string what;
  double requests_per_second = 0;
  std::string peer;
  bool is_example = false;
  Measured ours;
  Measured theirs;

  // Whether the row has a goal, and the peer finds at least half of the faults with few false alarms.
  bool IsCompared() const;
  // The median delay of our rule divided by the peer's; 0 if one of them finds less than half of the faults.
  double Ratio() const;
  bool Meets() const;
};

struct Report {
  std::vector<Falses> equal;
  std::vector<Row> rows;
};
Report Simulate(const Options& options);

// Returns the report as text with tables.
std::string ToText(const Report& report);
// Returns {"rows": [{"what", "peer", "ours", "theirs", "ratio", "goal", "compared", "met", ...}]}. "ours" or "theirs"
// is null if that rule finds less than half of the faults; "met" is null in a row that is not compared, and "goal" in
// an example from a peer's documentation.
Json ToJson(const Report& report);
// Whether every row that has a goal is compared and meets it.
bool MeetsGoals(const Json& report);

}  // namespace longshore::sim
