#include "tests/sim/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longshore::sim {
namespace {

// A rollout lasts for 40 minutes or, at a low rate, until this many requests have been answered.
constexpr double kHorizonSecondsMin = 40 * 60;
constexpr double kHorizonRequestsMin = 24000;
constexpr int kBaselineRequests = 1000;

api::ArmEvidence Baseline(const World& world, int requests, uint64_t seed) {
  World only_stable = world;
  only_stable.candidate_share = 0;
  Stream stream(only_stable, seed);
  api::ArmEvidence baseline;
  for (int i = 0; i < requests; ++i) analysis::Add(EvidenceOf(stream.Next()), baseline);
  return baseline;
}

struct EqualCase {
  World world;
  api::ModelSpec spec;
  int baseline_requests = 0;
};

Conditions DrawConditions(std::mt19937_64& random) {
  const auto pick = [&](auto choices) { return choices[random() % choices.size()]; };
  Conditions drawn;
  drawn.nodes = pick(std::vector<int>{1, 3});
  drawn.node_sigma = pick(std::vector<double>{0, 0.3});
  drawn.drift_sigma = pick(std::vector<double>{0, 0.1, 0.4});
  drawn.drift_seconds = pick(std::vector<double>{3, 30, 300});
  drawn.burst_every_seconds = pick(std::vector<double>{0, 20, 100});
  drawn.burst_errors = pick(std::vector<double>{0, 0.05, 0.5});
  drawn.batch_size = pick(std::vector<int>{1, 4, 32});
  return drawn;
}

EqualCase DrawEqualCase(Requests requests, uint64_t seed) {
  std::mt19937_64 random(seed * 2654435761 + 12345);
  const auto pick = [&](auto choices) { return choices[random() % choices.size()]; };
  EqualCase drawn;
  drawn.world.stable_errors = drawn.world.candidate_errors = pick(std::vector<double>{0, 0.001, 0.01, 0.05, 0.3});
  drawn.world.run_time_sigma = pick(std::vector<double>{0.05, 0.25, 0.5, 1.0});
  drawn.baseline_requests = pick(std::vector<int>{0, 100, 1000});
  // With tolerance 0, a version that equals stable lies on the edge of the null hypothesis, which is the hardest case.
  drawn.spec.rollout.latency.tolerance = pick(std::vector<double>{0, 0, 0.1});
  if (pick(std::vector<bool>{false, true})) drawn.spec.slo.latency_target = std::chrono::milliseconds(10);
  drawn.spec.slo.latency_quantile = 0.9;
  if (requests == Requests::kCorrelated) drawn.world.conditions = DrawConditions(random);
  return drawn;
}

// Runs one rollout. Returns the reason of the rollback, or "" if there was none.
std::string RunEqual(const EqualCase& drawn, uint64_t seed, int64_t requests_min, int64_t& requests) {
  EvidenceRule rule(drawn.spec, Baseline(drawn.world, drawn.baseline_requests, seed + 1000000007));
  Stream stream(drawn.world, seed);
  for (const api::Step& step : drawn.spec.rollout.steps) {
    stream.SetCandidateShare(step.weight_percent / 100);
    for (int64_t in_step = 0; in_step < requests_min;) {
      const Request request = stream.Next();
      in_step += request.candidate ? 1 : 0;
      ++requests;
      if (rule.RollsBack(request)) return rule.reason();
    }
  }
  return "";
}

double HorizonSeconds(const World& world) {
  return std::max(kHorizonSecondsMin, kHorizonRequestsMin / world.requests_per_second);
}

constexpr double kNever = std::numeric_limits<double>::infinity();

// Returns the number of the candidate's requests until our rule rolls back; kNever if it does not.
double RunOurs(const World& world, uint64_t seed, uint64_t baseline_seed) {
  EvidenceRule rule({}, Baseline(world, kBaselineRequests, baseline_seed));
  Stream stream(world, seed);
  double candidates = 0;
  const auto total = static_cast<int64_t>(HorizonSeconds(world) * world.requests_per_second);
  for (int64_t i = 0; i < total; ++i) {
    const Request request = stream.Next();
    candidates += request.candidate ? 1 : 0;
    if (rule.RollsBack(request)) return candidates;
  }
  return kNever;
}

Delay DelayOf(std::vector<double> delays) {
  std::ranges::sort(delays);
  const auto at = [&](double quantile) {
    const double delay = delays[static_cast<size_t>(quantile * static_cast<double>(delays.size() - 1))];
    return std::isfinite(delay) ? delay : 0;
  };
  const auto found = std::ranges::count_if(delays, [](double delay) { return std::isfinite(delay); });
  return {{static_cast<int>(found), static_cast<int>(delays.size())}, at(0.5), at(0.9)};
}

struct Fault {
  std::string what;
  World world;
  bool latency = false;
};

std::vector<Fault> Faults() {
  Fault one{"2x errors, 1% -> 2%", {}, false};
  one.world.candidate_errors = 0.02;
  Fault five{"2x errors, 5% -> 10%", {}, false};
  five.world.stable_errors = 0.05;
  five.world.candidate_errors = 0.1;
  Fault slow{"+20% run time", {}, true};
  slow.world.slowdown = 1.2;
  return {one, five, slow};
}

World EqualOf(World world) {
  world.candidate_errors = world.stable_errors;
  world.slowdown = 1;
  return world;
}

// A world with a fault, and the seeds of its rollouts. All rules see the same streams.
struct Case {
  Fault fault;
  int trials = 0;
  uint64_t seed = 0;

  int equal_trials() const { return std::max(trials, kFalseTrialsMin); }
  uint64_t SeedOf(int trial) const { return seed * 1000003 + static_cast<uint64_t>(trial); }
  uint64_t EqualSeedOf(int trial) const { return (seed + 1) * 1000003 + static_cast<uint64_t>(trial); }
};

Measured MeasureOurs(const Case& one) {
  const World equal = EqualOf(one.fault.world);
  std::vector<double> delays, equal_delays;
  for (int i = 0; i < one.trials; ++i) delays.push_back(RunOurs(one.fault.world, one.SeedOf(i), one.SeedOf(i) + 77));
  for (int i = 0; i < one.equal_trials(); ++i)
    equal_delays.push_back(RunOurs(equal, one.EqualSeedOf(i), one.EqualSeedOf(i) + 77));
  return {DelayOf(std::move(delays)), DelayOf(std::move(equal_delays)).found};
}

using Rollouts = std::vector<std::vector<Look>>;

// What a peer measures in the rollouts of a case if it measures once per given interval.
struct Seen {
  Rollouts faulty;
  Rollouts equal;
};

Seen Look(const Case& one, double interval_seconds) {
  const World& world = one.fault.world;
  const Looking looking{one.fault.latency ? Metric::kP99 : Metric::kErrorShare, interval_seconds,
                        HorizonSeconds(world)};
  Seen seen;
  for (int i = 0; i < one.trials; ++i) seen.faulty.push_back(LooksAt(world, looking, one.SeedOf(i)));
  for (int i = 0; i < one.equal_trials(); ++i)
    seen.equal.push_back(LooksAt(EqualOf(world), looking, one.EqualSeedOf(i)));
  return seen;
}

Measured MeasureLimit(const Seen& seen, const Limit& limit) {
  const auto delay_of = [&](const Rollouts& rollouts) {
    std::vector<double> delays;
    for (const auto& looks : rollouts) delays.push_back(RequestsUntilRollback(looks, limit).value_or(kNever));
    return DelayOf(std::move(delays));
  };
  return {delay_of(seen.faulty), delay_of(seen.equal).found};
}

struct Peer {
  std::string name;
  Measured measured;
};

std::string NameOf(bool latency, double interval_seconds, const Limit& limit) {
  const std::string what = latency ? fmt::format("p99 <= {:.1f} ms", limit.measurement_max / 1000)
                                   : fmt::format("errors <= {:.2f}%", 100 * limit.measurement_max);
  return fmt::format("{} every {:.0f} s, {} failed", what, interval_seconds, limit.failures_max);
}

// Returns the peer's best setting for a fault: the one that rolls back the faulty candidates soonest, among the
// settings that roll back at most kPeerFalseShareMax of the equal versions. The comparison favours the peer, because
// the setting is chosen by its results, which an operator does not know. Both Argo Rollouts and Flagger can be set like
// this.
Peer BestSetting(const Case& one) {
  Peer best;
  for (const double interval_seconds : {10, 30, 60, 120, 300, 600, 1200}) {
    const Seen seen = Look(one, interval_seconds);
    for (const int failures_max : {1, 2, 3, 4, 5}) {
      const Limit limit{LowestLimit(seen.equal, failures_max, kPeerFalseShareMax), failures_max};
      const Measured measured = MeasureLimit(seen, limit);
      const double median = measured.delay.median;
      if (!best.name.empty() &&
          (median == 0 || (best.measured.delay.median > 0 && best.measured.delay.median <= median)))
        continue;
      best = {NameOf(one.fault.latency, interval_seconds, limit), measured};
    }
  }
  best.name = "best setting: " + best.name;
  return best;
}

// The examples in the documentation of the peers: Argo Rollouts' analysis page (interval 5m, successCondition result[0]
// >= 0.95, failureLimit 3, so the fourth failure ends the rollout) and Flagger's canary (interval 1m, threshold 5,
// success rate 99%, p99 500 ms).
std::vector<Peer> Examples(const Case& one) {
  const auto example = [&](const char* tool, double interval_seconds, const Limit& limit) {
    return Peer{fmt::format("{}'s example: {}", tool, NameOf(one.fault.latency, interval_seconds, limit)),
                MeasureLimit(Look(one, interval_seconds), limit)};
  };
  if (one.fault.latency) return {example("Flagger", 60, {500000, 5})};
  return {example("Argo", 300, {0.05, 4}), example("Flagger", 60, {0.01, 5})};
}

void AddRows(const Case& one, Report& report) {
  const Row row{one.fault.what, one.fault.world.requests_per_second, "", false, MeasureOurs(one), {}};
  const auto add = [&](const Peer& peer, bool is_example) {
    report.rows.push_back(row);
    report.rows.back().peer = peer.name;
    report.rows.back().is_example = is_example;
    report.rows.back().theirs = peer.measured;
  };
  add(BestSetting(one), false);
  for (const Peer& peer : Examples(one)) add(peer, true);
}

}  // namespace

Falses RunEqualVersions(Requests requests, int rollouts, int64_t requests_min, uint64_t seed) {
  Falses falses{requests == Requests::kCorrelated ? "correlated" : "independent", {0, rollouts}, 0, {}};
  for (int i = 0; i < rollouts; ++i) {
    const uint64_t own_seed = seed * 1000000 + static_cast<uint64_t>(i);
    const std::string reason = RunEqual(DrawEqualCase(requests, own_seed), own_seed, requests_min, falses.requests);
    if (reason.empty()) continue;
    ++falses.rolled_back.count;
    ++falses.reasons[reason];
  }
  return falses;
}

Report Simulate(const Options& options) {
  Report report;
  for (const Requests requests : {Requests::kIndependent, Requests::kCorrelated}) {
    report.equal.push_back(
        RunEqualVersions(requests, options.equal_rollouts, options.equal_requests_min, options.seed));
  }
  for (const double rate : options.requests_per_second) {
    for (Fault fault : Faults()) {
      fault.world.requests_per_second = rate;
      AddRows({fault, options.trials, options.seed}, report);
    }
  }
  return report;
}

}  // namespace longshore::sim
