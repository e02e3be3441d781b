#include "tests/sim/peer_choice.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <ranges>
#include <set>

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

namespace {

// The best first: median, and the number of rollouts in which the fault was missed.
struct Rank {
  double median = 0;
  int missed = 0;
  size_t setting = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

std::vector<Rank> Ranked(std::span<const Tried> tried, double false_alarms_max) {
  std::vector<Rank> ranked;
  for (const Tried& one : tried) {
    if (one.false_alarms > false_alarms_max) continue;
    const Share found = one.faulty->RolledBack();
    if (const std::optional<double> median = one.faulty->Median()) {
      ranked.push_back({*median, found.trials - found.count, one.setting});
    }
  }
  std::ranges::sort(ranked);
  return ranked;
}

}  // namespace

std::optional<size_t> ChooseSetting(std::span<const Tried> tried, double false_alarms_max) {
  const std::vector<Rank> ranked = Ranked(tried, false_alarms_max);
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().setting);
}

std::vector<size_t> Shortlist(std::span<const Tried> tried, std::span<const double> false_alarms_max, size_t count) {
  std::set<size_t> settings;
  for (const double max : false_alarms_max) {
    const std::vector<Rank> ranked = Ranked(tried, max);
    for (const Rank& rank : ranked | std::views::take(count)) settings.insert(rank.setting);
  }
  return {settings.begin(), settings.end()};
}

}  // namespace longshore::sim
