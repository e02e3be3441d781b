#include "common/node_contract/connection_choice.h"

#include <algorithm>
#include <numeric>

namespace longshore::node_contract {
namespace {

// How many times the wanted share a connection may have. Below 2, moving it brings the node closer to its share.
constexpr double kTooMuchMax = 1.5;

}  // namespace

std::vector<size_t> ChooseConnections(const std::vector<double>& requests_per_second, const ConnectionLimits& limits) {
  std::vector<size_t> busiest;
  for (size_t i = 0; i < requests_per_second.size(); ++i) {
    if (requests_per_second[i] > 0) busiest.push_back(i);
  }
  std::ranges::stable_sort(busiest, std::ranges::greater{}, [&](size_t i) { return requests_per_second[i]; });
  const double all = std::accumulate(requests_per_second.begin(), requests_per_second.end(), 0.0);
  double wanted = limits.load_share * all;
  std::vector<size_t> chosen;
  for (const size_t i : busiest) {
    if (chosen.size() >= limits.connections_max || chosen.size() + 1 >= busiest.size()) break;
    if (requests_per_second[i] > kTooMuchMax * wanted) continue;
    chosen.push_back(i);
    wanted -= requests_per_second[i];
  }
  return chosen;
}

}  // namespace longshore::node_contract
