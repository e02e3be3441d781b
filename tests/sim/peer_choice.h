// Chooses the setting of a peer that finds a fault soonest, among those with few false alarms.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tests/sim/share.h"

namespace longshore::sim {

// The requests until a rollback that does not happen.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// What one setting did with many rollouts.
struct Outcomes {
  // The candidate's requests until the rollback, for each rollout; kNever if it was not rolled back.
  std::vector<double> requests;

  Share RolledBack() const;
  // The median over all rollouts; nullopt if more than half of them were not rolled back.
  std::optional<double> Median() const;
};

// What is known about a setting. The outcomes stay where they are.
struct Tried {
  size_t setting = 0;       // Its index in the sweep.
  double false_alarms = 0;  // The share of equal versions that it rolls back, in the world where that is the largest.
  const Outcomes* faulty = nullptr;
};

// Returns the setting with the smallest median of the requests until it finds the fault, among those that roll back at
// most this share of the equal versions. Of equal medians, the one that finds the fault more often, and then the first.
// Returns nullopt if no such setting finds the fault in half of the rollouts.
std::optional<size_t> ChooseSetting(std::span<const Tried> tried, double false_alarms_max);

// Returns the settings among which ChooseSetting would choose after counting the false alarms more exactly: for each of
// the shares in `false_alarms_max`, the `count` best. They are sorted, without repetition.
std::vector<size_t> Shortlist(std::span<const Tried> tried, std::span<const double> false_alarms_max, size_t count);

}  // namespace longshore::sim
