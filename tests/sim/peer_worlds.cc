#include "tests/sim/peer_worlds.h"

#include <algorithm>
#include <functional>

namespace longshore::sim {
namespace {

Measures MeasuresOf(const World& world) {
  const HiddenFault& hidden = world.hidden;
  const bool slower = world.slowdown != 1 || hidden.class_slowdown != 1 || hidden.row_slowdown != 1;
  return slower ? Measures::kRunTimes : Measures::kErrors;
}

bool IsPlain(const World& world) {
  return world.conditions == Conditions{} && world.users == Users{} && world.batches == Batches{};
}

// Returns the index of the world in group.equal, and adds it if necessary.
size_t AddOwn(const World& world, const std::string& fault, Group& group) {
  const auto found = std::ranges::find(group.equal, world, &EqualWorld::world);
  if (found != group.equal.end()) return static_cast<size_t>(found - group.equal.begin());
  group.equal.push_back({IsPlain(world) ? NameOf(Kind::kIndependent) : "the world of: " + fault, world});
  return group.equal.size() - 1;
}

void AddKinds(Group& group) {
  const World base = group.equal.front().world;
  const bool has_plain = std::ranges::any_of(group.equal, IsPlain, &EqualWorld::world);
  const auto left_out = [&](Kind kind) {
    if (kind == Kind::kIndependent) return has_plain;
    if (group.measures == Measures::kRunTimes) return kind == Kind::kFailingUsers;
    return kind == Kind::kBatched || kind == Kind::kBatchedTenants;
  };
  for (const Kind kind : AllKinds()) {
    if (!left_out(kind)) group.equal.push_back({NameOf(kind), base, kind});
  }
}

// Records a rollout whose next second `add` adds.
std::string RecordSeconds(const World& world, const Recording::Options& options, size_t rollout,
                          const std::function<void(double candidate_share, Period& period)>& add) {
  Recording recording(options);
  const Watch watch = WatchFor(world);
  for (double seconds = 1; seconds <= watch.seconds_max; ++seconds) {
    Period period;
    add(watch.candidate_share, period);
    recording.Add(seconds, period);
  }
  return recording.Line(rollout);
}

// Quantiles of the run times in three thousand seconds. A tenth of the requests is enough to know them; they wait ten
// times as long for their batches, so that these have as many rows.
void AddQuantiles(World world, uint64_t seed, Past& past) {
  constexpr int kFewer = 10;
  constexpr int kSeconds = 3000;
  world.requests_per_second /= kFewer;
  world.batches.wait_seconds *= kFewer;
  Service service(world, {.share = 0}, seed, Service::Only::kRunTimes);
  Period period;
  for (int second = 0; second < kSeconds; ++second) service.AddSecond(0, true, period);
  std::vector<double>& run_times = period.stable_run_times_us;
  const auto at = [&](double quantile) {
    const auto element =
        run_times.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(run_times.size() - 1));
    std::ranges::nth_element(run_times, element);
    return *element;
  };
  past.p50_us = at(0.5);
  past.p90_us = at(0.9);
  past.p99_us = at(0.99);
}

}  // namespace

std::vector<Group> GroupsOf(const std::vector<Fault>& faults) {
  std::vector<Group> groups;
  for (const Fault& fault : faults) {
    const World equal = EqualOf(fault.world);
    const Measures measures = MeasuresOf(fault.world);
    auto found = std::ranges::find_if(groups, [&](const Group& group) {
      const World& first = group.equal.front().world;
      return group.measures == measures && first.stable_errors == equal.stable_errors &&
             first.requests_per_second == equal.requests_per_second;
    });
    if (found == groups.end()) found = groups.insert(found, Group{measures, {}, {}});
    found->members.push_back({fault, AddOwn(equal, fault.name, *found)});
  }
  std::ranges::for_each(groups, AddKinds);
  return groups;
}

std::vector<Family> AllFamilies() { return {Family::kOwn, Family::kAssigned, Family::kEvery}; }

const char* NameOf(Family family) {
  switch (family) {
    case Family::kOwn: return "their setting is tuned to the world of the fault";
    case Family::kAssigned: return "their setting holds in every world with this assignment";
    case Family::kEvery: return "their setting holds in every world";
  }
  return "";
}

std::vector<size_t> WorldsOf(const Group& group, const Group::Member& member, Family family) {
  const bool users = group.equal[member.own].AssignsUsers();
  std::vector<size_t> worlds = {member.own};
  if (family == Family::kOwn) return worlds;
  for (size_t i = 0; i < group.equal.size(); ++i) {
    const EqualWorld& equal = group.equal[i];
    const bool is_kind = equal.kind || IsPlain(equal.world);
    if (i != member.own && is_kind && (family == Family::kEvery || equal.AssignsUsers() == users)) worlds.push_back(i);
  }
  return worlds;
}

Past PastOf(const World& world, uint64_t seed, Measures measures) {
  Past past;
  if (measures == Measures::kErrors) {
    past.error_share = Service(world, {}, seed).StableErrors();
  } else {
    AddQuantiles(world, seed, past);
  }
  return past;
}

std::string RecordLine(const World& world, Measures measures, size_t rollout, uint64_t seed) {
  const bool run_times = measures == Measures::kRunTimes;
  Service service(world, {.share = 0}, seed, run_times ? Service::Only::kRunTimes : Service::Only::kErrors);
  return RecordSeconds(
      world, {kPointSeconds, run_times, PastOf(world, seed, measures)}, rollout,
      [&](double candidate_share, Period& period) { service.AddSecond(candidate_share, run_times, period); });
}

std::string RecordEqualLine(const EqualWorld& equal, Measures measures, size_t rollout, uint64_t seed) {
  const World world = equal.Draw(seed);
  if (measures == Measures::kRunTimes) return RecordLine(world, measures, rollout, seed);
  Service service(world, {}, seed);
  const Service::Flows flows = service.EqualFlows(WatchFor(world).candidate_share);
  return RecordSeconds(world, {kPointSeconds, false, PastOf(world, seed, measures)}, rollout,
                       [&](double, Period& period) { service.AddCounts(flows, period); });
}

}  // namespace longshore::sim
