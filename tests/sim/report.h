// The table of docs/analysis.md, as rows that can be compared with a goal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "tests/sim/trials.h"

namespace longshore::sim {

enum class Better { kLower, kHigher };

struct Row {
  std::string what;
  std::string peer;            // What ours is compared with: a limit, or the rule of a peer.
  std::optional<double> ours;  // nullopt: there is no such number, for example because a fault was not found.
  std::optional<double> theirs;
  double goal = 1;  // For ours / theirs.
  Better better = Better::kLower;
  std::string details{};

  std::optional<double> Ratio() const;
  // Whether the goal is met. It is if the peer has no number, because it does not find the fault at all.
  bool Meets() const;
};

struct Options {
  Rollouts rollouts;  // Of each kind of world and rate, and of each fault.
  std::vector<double> requests_per_second = {100, 10, 1};
};

// The false alarms and the passes of equal versions, at each rate in each kind of world.
std::vector<Row> EqualRows(const Options& options);
// How often a candidate that fails twice as often is promoted, and how soon it is found.
std::vector<Row> FaultRows(const Options& options);

// How many nodes autoscaling asks for, compared with the need, when the load doubles.
std::vector<Row> AutoscaleRows(uint64_t seed);

// One rollout of an equal version as comma-separated values, for tests/sim/interval_picture.py.
std::string IntervalTable(uint64_t seed);

std::string ToText(const std::vector<Row>& rows);
// Returns {"rows": [{"what", "peer", "ours", "theirs", "ratio", "goal", "met", "details"}]}.
Json ToJson(const std::vector<Row>& rows);
// Whether every row meets its goal.
bool MeetsGoals(const std::vector<Row>& rows);

}  // namespace longshore::sim
