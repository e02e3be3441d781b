#include "tests/sim/course.h"

#include <cmath>

#include "controller/api/units.h"

namespace longshore::sim {
namespace {

// What happened before the rollout.
api::ArmEvidence Baseline(int requests, Service& service) {
  Period period;
  api::ArmEvidence baseline;
  while (baseline.requests < requests) {
    period = {};
    service.AddSecond(0, false, period);
    analysis::Add(analysis::Sum(period.windows).stable, baseline);
  }
  return baseline;
}

Service::Pairs PairsOf(const Ladder& ladder) { return {.share = ladder.spec.rollout.pairs.share}; }

// What happens until the evidence is used the next time.
Period Next(const Ladder& ladder, double candidate_share, bool keep_run_times, Service& service) {
  Period period;
  for (double second = 0; second < ladder.look_every_seconds; ++second) {
    service.AddSecond(candidate_share, keep_run_times, period);
  }
  return period;
}

class Rollout {
 public:
  Rollout(const World& world, const Ladder& ladder, uint64_t seed)
      : ladder_(ladder),
        service_(world, PairsOf(ladder), seed),
        analysis_(analysis::Begin(ladder.spec, Baseline(ladder.baseline_requests, service_))) {}

  // Advances by look_every_seconds and uses the evidence. `recording` may be nullptr.
  void Advance(double candidate_share, Recording* recording = nullptr) {
    const Period period = Record(candidate_share, recording);
    analysis_.bins.Follow({kSalt, static_cast<int>(std::lround(candidate_share * 10000))});
    for (const auto& [node, window] : period.windows) {
      course_.requests += window.candidate.requests + window.stable.requests;
      analysis_ = analysis::Update(std::move(analysis_), node, window);
    }
  }

  // Advances without using the evidence.
  Period Record(double candidate_share, Recording* recording) {
    Period period = Next(ladder_, candidate_share, recording != nullptr && recording->keeps_run_times(), service_);
    course_.seconds += ladder_.look_every_seconds;
    if (recording != nullptr) recording->Add(course_.seconds, period);
    return period;
  }

  api::Verdict Judge(const analysis::StepFacts& step) const { return analysis::Judge(analysis_, ladder_.spec, step); }
  api::Verdict JudgeWithoutNumbers(const analysis::StepFacts& step) const {
    return analysis::JudgeWithoutNumbers(analysis_, ladder_.spec, step);
  }
  // As the controller counts them.
  int64_t candidate_requests() const { return analysis::CandidateRequests(analysis_, ladder_.spec.rollout); }
  double seconds() const { return course_.seconds; }

  Course End(End end, const std::string& reason) {
    course_.end = end;
    course_.reason = reason;
    course_.candidate_requests = analysis::CandidateRequests(analysis_, {});
    course_.pairs = analysis_.candidate.pairs.pairs;
    return course_;
  }

 private:
  const Ladder& ladder_;
  Service service_;
  analysis::Analysis analysis_;
  Course course_;
};

// How long a rollout has waited because of LatencyBaseline. As in rollout/step.cc, a long wait is inconclusive.
class Hold {
 public:
  explicit Hold(const api::Rollout& policy) : policy_(policy) {}
  bool IsTooLong(const api::Verdict& verdict, double seconds) {
    if (verdict.reason != "LatencyBaseline") {
      since_ = kNotHeld;
      return false;
    }
    if (since_ == kNotHeld) since_ = seconds;
    return api::DurationOf(seconds - since_) > policy_.progress_deadline;
  }

 private:
  const api::Rollout& policy_;
  static constexpr double kNotHeld = -1;
  double since_ = kNotHeld;
};

}  // namespace

Course RunLadder(const World& world, const Ladder& ladder, uint64_t seed,
                 const std::function<void(const Look&)>& look) {
  const api::Rollout& policy = ladder.spec.rollout;
  Rollout rollout(world, ladder, seed);
  Hold hold(policy);
  for (size_t i = 0; i < policy.steps.size(); ++i) {
    const double began = rollout.seconds();
    const int64_t requests_before = rollout.candidate_requests();
    for (bool passed = false; !passed;) {
      rollout.Advance(policy.steps[i].weight_percent / 100);
      const Duration elapsed = api::DurationOf(rollout.seconds() - began);
      const analysis::StepFacts step{api::ProofOf(policy, i), rollout.candidate_requests() - requests_before, elapsed};
      const api::Verdict verdict = look ? rollout.Judge(step) : rollout.JudgeWithoutNumbers(step);
      if (look) look({rollout.seconds(), policy.steps[i].weight_percent, verdict});
      if (verdict.result == "Fail") return rollout.End(End::kRolledBack, verdict.reason);
      if (verdict.result == "Inconclusive" || hold.IsTooLong(verdict, rollout.seconds())) {
        return rollout.End(End::kInconclusive, verdict.reason);
      }
      passed = verdict.result == "Pass" && elapsed >= policy.steps[i].hold.value_or(policy.hold);
    }
  }
  return rollout.End(End::kPromoted, "");
}

Course RunWatch(const World& world, const Ladder& ladder, const Watch& watch, uint64_t seed, Recording* recording) {
  Rollout rollout(world, ladder, seed);
  while (rollout.seconds() < watch.seconds_max) {
    rollout.Advance(watch.candidate_share, recording);
    const api::Verdict verdict = rollout.JudgeWithoutNumbers({});
    if (verdict.result != "Fail") continue;
    const Course course = rollout.End(End::kRolledBack, verdict.reason);
    while (recording != nullptr && rollout.seconds() < watch.seconds_max) {
      rollout.Record(watch.candidate_share, recording);
    }
    return course;
  }
  return rollout.End(End::kInconclusive, "");
}

}  // namespace longshore::sim
