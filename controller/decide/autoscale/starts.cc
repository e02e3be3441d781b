#include "controller/decide/autoscale/starts.h"

#include <algorithm>

namespace longshore::autoscale {
namespace {

constexpr Duration kStartTimeDefault = std::chrono::seconds(30);
// Longer start times are not counted: such a node probably waited for a person, for example for a quota.
constexpr Duration kStartTimeMax = std::chrono::minutes(30);
constexpr double kQuantile = 0.9;

int CountAsked(const api::AutoscaleStatus& status) {
  int nodes = 0;
  for (const api::AskedNodes& asked : status.asked) nodes += asked.nodes;
  return nodes;
}

void NoteStart(api::AutoscaleStatus& status, Duration took) {
  if (took < Duration(0) || took > kStartTimeMax) return;
  status.start_seconds.push_back(
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) / 1000);
  if (status.start_seconds.size() > api::kStartsMax) status.start_seconds.erase(status.start_seconds.begin());
}

}  // namespace

void NoteWanted(api::AutoscaleStatus& status, Change wanted, TimePoint now) {
  const int more = wanted.to - wanted.from;
  if (more > 0 && status.asked.size() == api::kAskedMax) {
    status.asked.back().nodes += more;
  } else if (more > 0) {
    status.asked.push_back({now, more});
  }
  for (int fewer = -more; fewer > 0 && !status.asked.empty();) {
    api::AskedNodes& newest = status.asked.back();
    const int nodes = std::min(fewer, newest.nodes);
    fewer -= nodes;
    newest.nodes -= nodes;
    if (newest.nodes <= 0) status.asked.pop_back();
  }
}

void NoteReady(api::AutoscaleStatus& status, Nodes nodes, TimePoint now) {
  int started = CountAsked(status) - std::max(nodes.wanted - nodes.ready, 0);
  while (started > 0 && !status.asked.empty()) {
    api::AskedNodes& oldest = status.asked.front();
    NoteStart(status, now - oldest.at);
    const int became_ready = std::min(started, oldest.nodes);
    started -= became_ready;
    oldest.nodes -= became_ready;
    if (oldest.nodes <= 0) status.asked.erase(status.asked.begin());
  }
}

bool ExpectsNodes(const api::AutoscaleStatus& status, TimePoint now) {
  const Duration most = StartTimeOf(status) + kLateMax;
  return std::ranges::any_of(status.asked, [&](const api::AskedNodes& asked) { return now - asked.at <= most; });
}

Duration StartTimeOf(const api::AutoscaleStatus& status) {
  if (status.start_seconds.empty()) return kStartTimeDefault;
  std::vector<double> sorted = status.start_seconds;
  std::ranges::sort(sorted);
  const auto rank = static_cast<size_t>(kQuantile * static_cast<double>(sorted.size() - 1));
  return Duration(static_cast<int64_t>(sorted[rank] * 1e6));
}

std::vector<ComingNodes> ComingOf(const api::AutoscaleStatus& status, Nodes nodes, TimePoint now) {
  const Duration start_time = StartTimeOf(status);
  std::vector<ComingNodes> coming;
  int not_ready = std::max(nodes.wanted - nodes.ready, 0);
  for (const api::AskedNodes& asked : status.asked) {
    const int expected = std::min(asked.nodes, not_ready);
    if (expected <= 0) break;
    coming.push_back({std::clamp(start_time - (now - asked.at), Duration(0), start_time), expected});
    not_ready -= expected;
  }
  if (not_ready > 0) coming.push_back({start_time, not_ready});
  return coming;
}

}  // namespace longshore::autoscale
