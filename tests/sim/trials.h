// Many simulated rollouts: how often an equal version is rolled back, and how soon a worse one is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "tests/sim/rules.h"

namespace longshore::sim {

struct Falses {
  std::string world;
  int rollouts = 0;
  int rolled_back = 0;
  int64_t requests = 0;
  std::map<std::string, int> reasons;
  double Share() const { return static_cast<double>(rolled_back) / rollouts; }
};

// Independent requests, or those of nodes that differ, drift, have bursts and run batches.
enum class Requests { kIndependent, kCorrelated };

// Rollouts of a version against itself through the default steps, analysed after every request. Error rates, spreads
// of the run time, baselines, objectives and conditions differ from rollout to rollout.
Falses RunEqualVersions(Requests requests, int rollouts, int64_t requests_min, uint64_t seed);

// The candidate's requests until the rule rolled back. A trial without a rollback counts as infinitely many.
struct Delay {
  int trials = 0;
  int found = 0;
  double median = 0;  // 0 if at least half of the trials had no rollback.
  double p90 = 0;
};

struct Options {
  int equal_rollouts = 10000;
  int64_t equal_requests_min = 200;
  int trials = 200;
  uint64_t seed = 1;
};

// One line of the table.
struct Row {
  std::string what;
  std::string peer;
  Delay ours;
  Delay theirs;
  double ours_false = 0;  // Share of equal versions that were rolled back within the same number of requests.
  double theirs_false = 0;
};

struct Report {
  std::vector<Falses> equal;
  std::vector<Row> rows;
};
Report Simulate(const Options& options);

// The report as text for people.
std::string ToText(const Report& report);
// {"rows": [{"what", "peer", "ours", "theirs", "ratio", "goal", "met", ...}]}; the value of a rule that finds less than
// half of the regressions is null.
Json ToJson(const Report& report);

}  // namespace longshore::sim
