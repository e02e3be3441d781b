#include "tests/sim/peer_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.h"

namespace longshore::sim {

Share Outcomes::RolledBack() const {
  const auto count = std::ranges::count_if(requests, [](double until) { return std::isfinite(until); });
  return {static_cast<int>(count), static_cast<int>(requests.size())};
}

std::optional<double> Outcomes::Median() const {
  if (requests.empty()) return std::nullopt;
  std::vector<double> sorted = requests;
  const auto middle = sorted.begin() + (std::ssize(sorted) - 1) / 2;
  std::ranges::nth_element(sorted, middle);
  return std::isfinite(*middle) ? std::optional(*middle) : std::nullopt;
}

std::optional<size_t> ChooseSetting(const std::vector<Outcomes>& equal, const std::vector<Outcomes>& faulty,
                                    double false_alarms_max) {
  CHECK(equal.size() == faulty.size());
  std::optional<size_t> best;
  std::pair<double, int> best_rank;  // Median, and the number of rollouts in which the fault was missed.
  for (size_t i = 0; i < equal.size(); ++i) {
    const std::optional<double> median = faulty[i].Median();
    if (!median || equal[i].RolledBack().value() > false_alarms_max) continue;
    const Share found = faulty[i].RolledBack();
    const std::pair rank(*median, found.trials - found.count);
    if (best && best_rank <= rank) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

}  // namespace longshore::sim
