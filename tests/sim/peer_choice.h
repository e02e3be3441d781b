// Chooses the setting of a peer that finds a fault soonest, among those with few false alarms.
#pragma once

#include <limits>
#include <optional>
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

// Returns the index of the setting with the smallest median of the requests until it finds the fault, among those that
// roll back at most this share of the equal versions. Of equal medians, the one that finds the fault more often.
// Returns nullopt if no such setting finds the fault in half of the rollouts. `equal` and `faulty` have an element for
// each setting.
std::optional<size_t> ChooseSetting(const std::vector<Outcomes>& equal, const std::vector<Outcomes>& faulty,
                                    double false_alarms_max);

}  // namespace longshore::sim
