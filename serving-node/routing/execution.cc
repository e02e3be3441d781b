#include "serving-node/routing/execution.h"

#include <future>
#include <utility>

#include "common/os/log.h"
#include "serving-node/batching/batching.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/models/model_store.h"
#include "serving-node/rehearsal/journal.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/run_meter.h"

namespace longshore::routing {
namespace {

metrics::Labels LabelsOf(const std::string& model, int64_t version) {
  return {{"model", model}, {"version", std::to_string(version)}};
}

constexpr const char* kNonFiniteMessage = "an output is NaN or Inf, but stable's for the same input is finite";
constexpr const char* kNotComparedMessage = "an output is NaN or Inf, and no node could run stable for comparison";

rehearsal::Attempt AttemptOf(const GuardKey& key) { return {key.model, key.version, key.salt}; }

// Returns true if a version uses this error code to say that the request is wrong. Codes for a full queue, thread pool
// or memory do not count, because the overload of a node says nothing about the version.
bool BlamesTheRequest(Code code) {
  return code == Code::kInvalidArgument || code == Code::kFailedPrecondition || code == Code::kNotFound ||
         code == Code::kOutOfRange || code == Code::kUnimplemented;
}

Result<engine::TensorMap> RunOnStable(const models::ModelStore& store, const batching::Admission& admission,
                                      const Request& request, int64_t elements_max) {
  if (HasBacklog(admission)) return Unavailable("the node has a backlog of requests");
  ASSIGN_OR_RETURN(const models::Handle ready, store.Find(request.model_name(), request.model->stable()->version));
  ASSIGN_OR_RETURN(engine::RunRequest run,
                   inference::ToRunRequest(request.call.request, ready->loaded->signatures(), elements_max));
  std::promise<Result<batching::RunOutcome>> promise;
  ready->queue->Submit(std::move(run), {},
                       [&promise](Result<batching::RunOutcome> outcome) { promise.set_value(std::move(outcome)); });
  ASSIGN_OR_RETURN(batching::RunOutcome outcome, promise.get_future().get());
  return std::move(outcome.outputs);
}

}  // namespace

// The state of a request from the start of its run until it is answered.
struct Execution::ActiveRun {
  RequestPtr request;
  models::Handle ready;
  std::shared_ptr<evidence::Counters> counters;
  bool noted = false;  // The journal has an open entry for this run, which is the candidate's first.
  Result<batching::RunOutcome> outcome;

  const Entry* candidate() const {
    const Entry* entry = request->choice.entry;
    return entry != nullptr && entry->role == control::CANDIDATE ? entry : nullptr;
  }
  // Evidence compares versions on randomly assigned requests, so a request that names its version does not count.
  bool is_evidence() const { return request->choice.entry == nullptr || !request->choice.pinned; }

  // True if the same request must run on stable to find out whether the candidate or the request is at fault.
  bool is_suspicious() const {
    if (candidate() == nullptr || request->model->stable() == nullptr) return false;
    if (!outcome) return is_evidence() && BlamesTheRequest(outcome.error().code);
    return candidate()->guard.non_finite() && evidence::HasNonFinite(outcome->outputs);
  }
};

Execution::Execution(const RouterDeps& deps)
    : deps_(deps),
      nonfinite_(deps.metrics.Counters(
          "longshore_nonfinite_total",
          "Answers of candidates with NaN or Inf where stable's answer is finite or no node could run stable.")),
      second_opinion_(deps) {}

std::shared_ptr<evidence::Counters> Execution::CountersOf(const Request& request) const {
  if (request.choice.entry != nullptr) return request.choice.entry->arm->counters;
  return deps_.recorder.For(request.model_name(), request.choice.version);
}

void Execution::Run(const RequestPtr& request, const models::Handle& ready) const {
  auto run = std::make_shared<ActiveRun>(ActiveRun{request, ready, CountersOf(*request), false, {}});
  auto inputs = inference::ToRunRequest(request->call.request, ready->loaded->signatures(), deps_.budget.elements_max);
  if (!inputs) {
    run->outcome = tl::make_unexpected(std::move(inputs.error()));
    return Finish(run);
  }
  const bool noted = deps_.journal == nullptr || run->candidate() == nullptr ||
                     run->candidate()->arm->first_run.load(std::memory_order_acquire) == FirstRun::kNoted;
  noted ? Submit(run, std::move(*inputs)) : SubmitAfterNote(run, std::move(*inputs));
}

// The journal entry must be on disk before any run of the candidate begins. The first request, and those that name the
// candidate or arrive at the same time, wait for the entry in the queue of journal_writer_, so that no frontend thread
// blocks. Meanwhile the router sends other requests to stable.
void Execution::SubmitAfterNote(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const {
  if (PostAfterNote(run, std::move(inputs))) return;
  run->outcome = Unavailable("model \"{}\" version {}: too many requests wait for its first run", run->ready->model,
                             run->ready->version);
  Finish(run);
}

bool Execution::PostAfterNote(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const {
  std::atomic<FirstRun>& state = run->candidate()->arm->first_run;
  const std::lock_guard lock(first_runs_mutex_);
  FirstRun unnoted = FirstRun::kUnnoted;
  const bool first = state.compare_exchange_strong(unnoted, FirstRun::kBeingNoted);
  const bool posted = journal_writer_.Post([this, run, first, inputs = std::move(inputs)] {
    if (first) NoteFirstRun(*run);
    Submit(run, inputs);
  });
  if (first && !posted) state = FirstRun::kUnnoted;
  return posted;
}

void Execution::NoteFirstRun(ActiveRun& run) const {
  Arm& arm = *run.candidate()->arm;
  const auto noted = deps_.journal->Begin(AttemptOf(arm.guard->key()), rehearsal::Activity::kFirstRun);
  if (!noted) {
    spdlog::warn("model \"{}\" version {}: cannot record the first run in the journal: {}", run.ready->model,
                 run.ready->version, ToString(noted.error()));
  }
  run.noted = noted.has_value();
  arm.first_run = FirstRun::kNoted;
}

void Execution::WriteJournal(std::function<void()> write) const {
  if (!journal_writer_.Post(write)) write();
}

void Execution::Submit(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const {
  run->ready->queue->Submit(std::move(inputs),
                            {run->request->call.deadline, run->request->priority, run->request->call.cancelled},
                            [this, run](Result<batching::RunOutcome> outcome) {
                              run->outcome = std::move(outcome);
                              Finish(run);
                            });
}

void Execution::Finish(const std::shared_ptr<ActiveRun>& run) const {
  if (run->noted) {
    WriteJournal([this, key = run->candidate()->arm->guard->key()] { deps_.journal->End(AttemptOf(key)); });
  }
  Measure(*run);
  LogError(*run);
  OfferFailure(*run);
  if (run->is_suspicious()) {
    const Code said = run->outcome ? Code::kOk : run->outcome.error().code;
    return second_opinion_.Ask(run->request, said,
                               [this, run](Result<PredictAnswer> stable) { Judge(run, std::move(stable)); });
  }
  Count(*run, run->outcome ? Code::kOk : run->outcome.error().code);
  if (run->outcome) OfferForDrift(*run);
  Answer(run);
}

// If the request could not run on stable, a candidate's error that blames the request does not count against the
// candidate, because most such requests are really wrong. A candidate's answer with NaN or Inf does count, because it
// is useless to the user in any case.
void Execution::Judge(const std::shared_ptr<ActiveRun>& run, Result<PredictAnswer> stable) const {
  const bool unasked = !stable && SecondOpinion::CouldNotAsk(stable.error().code);
  const bool stable_is_good = stable && IsFinite(*stable);
  if (!run->outcome) {
    Count(*run, stable_is_good ? Code::kInternal : run->outcome.error().code);
  } else {
    Count(*run, Code::kOk);
    if (stable_is_good || unasked) CountNonFinite(run, stable_is_good ? kNonFiniteMessage : kNotComparedMessage);
  }
  if (stable_is_good && !run->request->choice.pinned)
    return std::exchange(run->request->done, nullptr)(std::move(stable));
  Answer(run);
}

void Execution::Count(const ActiveRun& run, Code code) const {
  if (!run.is_evidence()) return;
  run.counters->CountRequest(code);
  // The run time of a batch counts once, regardless of the number of its requests.
  if (run.outcome && run.outcome->first_of_batch)
    run.counters->CountRunTime(std::chrono::duration_cast<Duration>(run.outcome->run_time));
  const Entry* candidate = run.candidate();
  if (candidate == nullptr || !evidence::IsEvidence(code)) return;
  const ErrorWindow::Seen seen = candidate->arm->errors.Count(code != Code::kOk);
  if (candidate->tripped() || code == Code::kOk) return;
  const std::string why = ErrorsTrip(candidate->guard, seen);
  if (!why.empty()) deps_.guards.TripNow(*candidate->arm->guard, "Errors", why, deps_.clock.Now());
}

// Trips the guard and reports the trip before the answer is sent. The search for the op that produced the NaN or Inf
// needs another run, so it happens later.
void Execution::CountNonFinite(const std::shared_ptr<ActiveRun>& run, const char* why) const {
  const TimePoint now = deps_.clock.Now();
  run->counters->CountNonFinite(now);
  auto nonfinite = nonfinite_;
  nonfinite.With(LabelsOf(run->ready->model, run->ready->version)).Add();
  GuardState& guard = *run->candidate()->arm->guard;
  if (!deps_.guards.TripNow(guard, "NonFinite", why, now)) return;
  deps_.origins.Find(run->ready, {run, &run->request->call.request},
                     [&guards = deps_.guards, key = guard.key()](const std::string& origin) {
                       if (!origin.empty()) guards.Explain(key, origin);
                     });
}

// Server errors are logged as warnings; errors that clients cause are logged at the debug level only.
void Execution::LogError(const ActiveRun& run) const {
  if (run.outcome) return;
  const Error& error = run.outcome.error();
  const auto level = evidence::IsEvidence(error.code) ? spdlog::level::warn : spdlog::level::debug;
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "model \"{}\" version {}: {}", run.ready->model, run.ready->version, ForLog(ToString(error)));
}

// Offers the request for capture if its run failed with a server error or its answer has NaN or Inf, because a replay
// can reproduce such failures.
void Execution::OfferFailure(const ActiveRun& run) const {
  if (deps_.failures == nullptr) return;
  const Error error = run.outcome ? Error{Code::kOk, ""} : run.outcome.error();
  const bool failed = run.outcome ? evidence::HasNonFinite(run.outcome->outputs) : evidence::IsEvidence(error.code);
  if (failed) deps_.failures->Offer({run.request->call, run.ready, error});
}

void Execution::Measure(const ActiveRun& run) const {
  if (!run.outcome) return;
  const PredictCall& call = run.request->call;
  deps_.runs.Record(
      {run.ready->model, run.ready->version, inference::SignatureName(call.request.model_spec()), call.api},
      *run.outcome);
}

void Execution::OfferForDrift(const ActiveRun& run) const {
  const Entry* candidate = run.candidate();
  if (candidate == nullptr || run.request->model->stable() == nullptr) return;
  if (!evidence::Sampled(candidate->arm->answered.fetch_add(1), run.request->model->drift_sample)) return;
  deps_.drift.Offer({run.outcome->outputs,
                     [this, request = run.request] {
                       return RunOnStable(deps_.store, deps_.admission, *request, deps_.budget.elements_max);
                     },
                     run.counters});
}

void Execution::Answer(const std::shared_ptr<ActiveRun>& run) const {
  const PredictDone done = std::exchange(run->request->done, nullptr);
  if (!run->outcome) return done(tl::make_unexpected(std::move(run->outcome.error())));
  done(AnswerOf(run->request->call.request.model_spec(), run->ready->version, std::move(run->outcome->outputs)));
}

}  // namespace longshore::routing
