#include "tests/sim/trials.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace longshore::sim {
namespace {

constexpr double kHorizonSeconds = 40 * 60;
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
  // With tolerance 0, an equal version lies on the edge of the null hypothesis: the hardest case.
  drawn.spec.rollout.latency.tolerance = pick(std::vector<double>{0, 0, 0.1});
  if (pick(std::vector<bool>{false, true})) drawn.spec.slo.latency_target = std::chrono::milliseconds(10);
  drawn.spec.slo.latency_quantile = 0.9;
  if (requests == Requests::kCorrelated) drawn.world.conditions = DrawConditions(random);
  return drawn;
}

// Runs one rollout. Returns the reason of the rollback, or "".
std::string RunEqual(const EqualCase& drawn, uint64_t seed, int64_t requests_min, int64_t& requests) {
  EvidenceRule rule(drawn.spec, Baseline(drawn.world, drawn.baseline_requests, seed + 1000000007));
  Stream stream(drawn.world, seed);
  for (const api::Step& step : drawn.spec.rollout.steps) {
    stream.SetCandidateShare(step.weight_percent / 100);
    for (int64_t in_step = 0; in_step < requests_min;) {
      const Request request = stream.Next();
      in_step += request.candidate ? 1 : 0;
      ++requests;
      if (rule.RollsBack(request, 0)) return rule.reason();
    }
  }
  return "";
}

using MakeRule = std::function<std::unique_ptr<Rule>(uint64_t seed)>;

// The candidate's requests until the rollback; infinity without a rollback.
double RunTrial(const World& world, Rule& rule, uint64_t seed) {
  Stream stream(world, seed);
  int64_t candidates = 0;
  const auto total = static_cast<int64_t>(kHorizonSeconds * world.requests_per_second);
  for (int64_t i = 0; i < total; ++i) {
    const Request request = stream.Next();
    candidates += request.candidate ? 1 : 0;
    if (rule.RollsBack(request, static_cast<double>(i) / world.requests_per_second))
      return static_cast<double>(candidates);
  }
  return std::numeric_limits<double>::infinity();
}

Delay Measure(const World& world, const MakeRule& make, int trials, uint64_t seed) {
  std::vector<double> delays;
  for (int i = 0; i < trials; ++i) {
    const uint64_t own_seed = seed * 1000003 + static_cast<uint64_t>(i);
    delays.push_back(RunTrial(world, *make(own_seed), own_seed));
  }
  std::sort(delays.begin(), delays.end());
  const auto at = [&](double quantile) {
    const double delay = delays[static_cast<size_t>(quantile * static_cast<double>(delays.size() - 1))];
    return std::isfinite(delay) ? delay : 0;
  };
  const auto found = std::count_if(delays.begin(), delays.end(), [](double delay) { return std::isfinite(delay); });
  return {trials, static_cast<int>(found), at(0.5), at(0.9)};
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

struct Peer {
  std::string name;
  ThresholdOptions options;
};

// The documented examples: Argo Rollouts' analysis page (interval 5m, successCondition result[0] >= 0.95, failureLimit
// 3: the fourth failure ends it) and Flagger's canary (interval 1m, threshold 5, success rate 99%, p99 500 ms).
std::vector<Peer> PeersFor(const Fault& fault) {
  const double stable_p99 = fault.world.run_time_median_us * std::exp(fault.world.run_time_sigma * 2.3263);
  if (fault.latency) {
    return {{"Flagger p99 <= 500ms", {{}, 500000, 60, 5}},
            {"Flagger p99 <= 1.1x stable's", {{}, 1.1 * stable_p99, 60, 5}},
            {"Argo p99 <= 1.1x stable's", {{}, 1.1 * stable_p99, 300, 4}}};
  }
  return {{"Argo success >= 0.95", {0.95, {}, 300, 4}},
          {"Argo success >= 0.99", {0.99, {}, 300, 4}},
          {"Flagger success >= 99%", {0.99, {}, 60, 5}}};
}

World EqualOf(World world) {
  world.candidate_errors = world.stable_errors;
  world.slowdown = 1;
  return world;
}

double FoundShare(const Delay& delay) { return static_cast<double>(delay.found) / delay.trials; }

void AddRows(const Fault& fault, const Options& options, Report& report) {
  const MakeRule ours = [&](uint64_t seed) {
    return std::make_unique<EvidenceRule>(api::ModelSpec{}, Baseline(fault.world, kBaselineRequests, seed + 77));
  };
  const Delay our_delay = Measure(fault.world, ours, options.trials, options.seed);
  // Our rule decides after each of 200,000 requests, which is slow to simulate; RunEqualVersions measures its false
  // rollbacks as well.
  const double our_false =
      FoundShare(Measure(EqualOf(fault.world), ours, std::max(1, options.trials / 4), options.seed + 1));
  for (const Peer& peer : PeersFor(fault)) {
    const MakeRule theirs = [&](uint64_t) { return std::make_unique<ThresholdRule>(peer.options); };
    Row row{fault.what, peer.name, our_delay, {}, our_false, 0};
    row.theirs = Measure(fault.world, theirs, options.trials, options.seed);
    row.theirs_false = FoundShare(Measure(EqualOf(fault.world), theirs, options.trials, options.seed + 1));
    report.rows.push_back(row);
  }
}

}  // namespace

Falses RunEqualVersions(Requests requests, int rollouts, int64_t requests_min, uint64_t seed) {
  Falses falses{requests == Requests::kCorrelated ? "correlated" : "independent", rollouts, 0, 0, {}};
  for (int i = 0; i < rollouts; ++i) {
    const uint64_t own_seed = seed * 1000000 + static_cast<uint64_t>(i);
    const std::string reason = RunEqual(DrawEqualCase(requests, own_seed), own_seed, requests_min, falses.requests);
    if (reason.empty()) continue;
    ++falses.rolled_back;
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
  for (const Fault& fault : Faults()) AddRows(fault, options, report);
  return report;
}

}  // namespace longshore::sim
