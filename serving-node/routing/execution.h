// Runs a request on this node, and learns from it: evidence, the candidate's guard, the sample for drift.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "common/worker.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/request.h"
#include "serving-node/routing/router.h"
#include "serving-node/routing/second_opinion.h"

namespace longshore::routing {

class Execution {
 public:
  explicit Execution(const RouterDeps& deps);

  // Runs the request's choice, which `ready` holds, and answers it. When a candidate's answer is not finite, or says
  // that the request is wrong, stable is asked too: where its answer is good, the candidate is blamed, and the user
  // gets stable's.
  void Run(const RequestPtr& request, const models::Handle& ready) const;

 private:
  struct Finished;
  void Submit(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const;
  void Finish(const std::shared_ptr<Finished>& run) const;
  void Judge(const std::shared_ptr<Finished>& run, Result<PredictAnswer> stable) const;
  void Count(const Finished& run, Code code) const;
  void CountNonFinite(const std::shared_ptr<Finished>& run) const;
  void LogError(const Finished& run) const;
  void OfferFailure(const Finished& run) const;
  void Answer(const std::shared_ptr<Finished>& run) const;
  void Measure(const Finished& run) const;
  void OfferForDrift(const Finished& run) const;
  void SubmitNoted(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const;
  bool PostBehindNote(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const;
  void NoteFirstRun(Finished& run) const;
  void WriteJournal(std::function<void()> write) const;
  std::shared_ptr<evidence::Counters> CountersOf(const Request& request) const;

  const RouterDeps deps_;
  const metrics::Family<metrics::Counter> nonfinite_;
  const SecondOpinion second_opinion_;
  mutable std::mutex first_runs_mutex_;  // What waits for a note is posted behind it.
  mutable Worker journal_writer_;        // The last member: what it still does needs the others.
};

}  // namespace longshore::routing
