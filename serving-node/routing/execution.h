// Runs a request on this node and evaluates the result: counts evidence, checks the candidate's guard and offers the
// request as a pair.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "serving-node/models/models.h"
#include "serving-node/routing/first_runs.h"
#include "serving-node/routing/pairing.h"
#include "serving-node/routing/request.h"
#include "serving-node/routing/router_deps.h"
#include "serving-node/routing/second_opinion.h"

namespace longshore::routing {

class Execution {
 public:
  explicit Execution(const RouterDeps& deps);

  // Runs the request on the chosen version, which `ready` holds, and answers it. If a candidate returns NaN or Inf, or
  // an error that blames the request, the request also runs on stable. If stable's answer is good, the failure counts
  // against the candidate, and the user gets stable's answer unless the request named the version.
  void Run(const RequestPtr& request, const models::Handle& ready) const;

 private:
  struct ActiveRun;
  void Submit(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const;
  void Finish(const std::shared_ptr<ActiveRun>& run) const;
  void Judge(const std::shared_ptr<ActiveRun>& run, Result<PredictAnswer> stable) const;
  void Count(const ActiveRun& run, Code code) const;
  void CountEvidence(const ActiveRun& run, Code code, bool overloaded) const;
  void CountForBin(const ActiveRun& run, bool bad) const;
  void CountForGuard(const ActiveRun& run, bool error) const;
  void CountNonFinite(const std::shared_ptr<ActiveRun>& run, const char* why) const;
  void LogError(const ActiveRun& run) const;
  void OfferFailure(const ActiveRun& run) const;
  void Answer(const std::shared_ptr<ActiveRun>& run) const;
  void Measure(const ActiveRun& run, std::chrono::nanoseconds took) const;
  void SubmitAfterNote(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const;
  std::shared_ptr<evidence::Counters> CountersOf(const Request& request) const;

  const RouterDeps deps_;
  const metrics::Family<metrics::Counter> nonfinite_;
  const SecondOpinion second_opinion_;
  const Pairing pairing_;
  mutable FirstRuns first_runs_;  // Declared last, so destroyed first: its tasks use the other members.
};

}  // namespace longshore::routing
