#include "serving-node/routing/execution.h"

#include <future>
#include <utility>

#include "common/log.h"
#include "serving-node/batching/batching.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/models/model_store.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/run_meter.h"
#include "serving-node/trial/journal.h"

namespace longshore::routing {
namespace {

metrics::Labels LabelsOf(const std::string& model, int64_t version) {
  return {{"model", model}, {"version", std::to_string(version)}};
}

constexpr const char* kNotFinite = "an output is NaN or Inf, and stable's on the same input is not";

trial::Try TryOf(const GuardKey& key) { return {key.model, key.version, key.salt}; }

// Codes by which a version says that the request is wrong. A full queue, pool or memory is none of them: overload of a
// node is no evidence about a version.
bool BlamesTheRequest(Code code) {
  return code == Code::kInvalidArgument || code == Code::kFailedPrecondition || code == Code::kNotFound ||
         code == Code::kOutOfRange || code == Code::kUnimplemented;
}

Result<engine::TensorMap> RunOnStable(const models::ModelStore& store, const batching::Admission& admission,
                                      const Request& request, int64_t elements_max) {
  if (UsersComeFirst(admission)) return Unavailable("users come first");
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

// A run of a request, from its start to its answer.
struct Execution::Finished {
  RequestPtr request;
  models::Handle ready;
  std::shared_ptr<evidence::Counters> counters;
  bool noted = false;  // In the journal, as the first run.
  Result<batching::RunOutcome> outcome;

  const Entry* candidate() const {
    const Entry* entry = request->choice.entry;
    return entry != nullptr && entry->role == control::CANDIDATE ? entry : nullptr;
  }
  // Evidence compares what chance gave to the versions; who names one is no random user.
  bool is_evidence() const { return request->choice.entry == nullptr || !request->choice.pinned; }

  // Whether stable has to say who is at fault.
  bool is_suspicious() const {
    if (candidate() == nullptr || request->model->stable() == nullptr) return false;
    if (!outcome) return is_evidence() && BlamesTheRequest(outcome.error().code);
    return candidate()->guard.non_finite() && evidence::HasNonFinite(outcome->outputs);
  }
};

Execution::Execution(const RouterDeps& deps)
    : deps_(deps),
      nonfinite_(deps.metrics.Counters("longshore_nonfinite_total",
                                       "Answers of candidates with NaN or Inf where stable's is finite.")),
      second_opinion_(deps) {}

std::shared_ptr<evidence::Counters> Execution::CountersOf(const Request& request) const {
  if (request.choice.entry != nullptr) return request.choice.entry->arm->counters;
  return deps_.recorder.For(request.model_name(), request.choice.version);
}

void Execution::Run(const RequestPtr& request, const models::Handle& ready) const {
  auto run = std::make_shared<Finished>(Finished{request, ready, CountersOf(*request), false, {}});
  auto inputs = inference::ToRunRequest(request->call.request, ready->loaded->signatures(), deps_.budget.elements_max);
  if (!inputs) {
    run->outcome = tl::make_unexpected(std::move(inputs.error()));
    return Finish(run);
  }
  const bool noted = deps_.journal == nullptr || run->candidate() == nullptr ||
                     run->candidate()->arm->first_run.load(std::memory_order_acquire) == FirstRun::kNoted;
  noted ? Submit(run, std::move(*inputs)) : SubmitNoted(run, std::move(*inputs));
}

// The note is on the disk before any run begins. Who names the candidate, or came together with the first, waits for
// it, on none of the frontend's threads; others are given to stable meanwhile (Router).
void Execution::SubmitNoted(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const {
  if (PostBehindNote(run, std::move(inputs))) return;
  run->outcome = Unavailable("too many requests wait for the first run of \"{}\" version {}", run->ready->model,
                             run->ready->version);
  Finish(run);
}

bool Execution::PostBehindNote(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const {
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

void Execution::NoteFirstRun(Finished& run) const {
  Arm& arm = *run.candidate()->arm;
  const auto noted = deps_.journal->Begin(TryOf(arm.guard->key()), trial::Deed::kFirstRun);
  if (!noted) spdlog::warn("first run not noted: {}", ToString(noted.error()));
  run.noted = noted.has_value();
  arm.first_run = FirstRun::kNoted;
}

void Execution::WriteJournal(std::function<void()> write) const {
  if (!journal_writer_.Post(write)) write();
}

void Execution::Submit(const std::shared_ptr<Finished>& run, engine::RunRequest inputs) const {
  run->ready->queue->Submit(std::move(inputs),
                            {run->request->call.deadline, run->request->priority, run->request->call.cancelled},
                            [this, run](Result<batching::RunOutcome> outcome) {
                              run->outcome = std::move(outcome);
                              Finish(run);
                            });
}

void Execution::Finish(const std::shared_ptr<Finished>& run) const {
  if (run->noted) {
    WriteJournal([this, key = run->candidate()->arm->guard->key()] { deps_.journal->End(TryOf(key)); });
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

// Of wrong requests most are wrong: without stable's word none is held against the candidate. Of answers that are not
// finite none is good for users: without stable's word each is held against it.
void Execution::Judge(const std::shared_ptr<Finished>& run, Result<PredictAnswer> stable) const {
  const bool unasked = !stable && SecondOpinion::IsNone(stable.error().code);
  const bool stable_is_good = stable && IsFinite(*stable);
  if (!run->outcome) {
    Count(*run, stable_is_good ? Code::kInternal : run->outcome.error().code);
  } else {
    Count(*run, Code::kOk);
    if (stable_is_good || unasked) CountNonFinite(run);
  }
  if (stable_is_good && !run->request->choice.pinned)
    return std::exchange(run->request->done, nullptr)(std::move(stable));
  Answer(run);
}

void Execution::Count(const Finished& run, Code code) const {
  if (!run.is_evidence()) return;
  run.counters->CountRequest(code);
  // One batch is one observation, however many requests it holds.
  if (run.outcome && run.outcome->first_of_batch) run.counters->CountRunTime(run.outcome->run_time);
  const Entry* candidate = run.candidate();
  if (candidate == nullptr || !evidence::IsEvidence(code)) return;
  const ErrorWindow::Seen seen = candidate->arm->errors.Count(code != Code::kOk);
  if (candidate->tripped() || code == Code::kOk) return;
  const std::string why = ErrorsTrip(candidate->guard, seen);
  if (!why.empty()) deps_.guards.TripNow(*candidate->arm->guard, "Errors", why, deps_.clock.Now());
}

// The guard holds, and is told, before the answer leaves; which op is to blame takes a further run.
void Execution::CountNonFinite(const std::shared_ptr<Finished>& run) const {
  const TimePoint now = deps_.clock.Now();
  run->counters->CountNonFinite(now);
  auto nonfinite = nonfinite_;
  nonfinite.With(LabelsOf(run->ready->model, run->ready->version)).Add();
  GuardState& guard = *run->candidate()->arm->guard;
  if (!deps_.guards.TripNow(guard, "NonFinite", kNotFinite, now)) return;
  deps_.origins.Find(run->ready, {run, &run->request->call.request},
                     [&guards = deps_.guards, key = guard.key()](const std::string& origin) {
                       if (!origin.empty()) guards.Explain(key, origin);
                     });
}

// A fault of ours is seen by default, what clients do wrong only when somebody looks for it.
void Execution::LogError(const Finished& run) const {
  if (run.outcome) return;
  const Error& error = run.outcome.error();
  const auto level = evidence::IsEvidence(error.code) ? spdlog::level::warn : spdlog::level::debug;
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "model \"{}\" version {}: {}", run.ready->model, run.ready->version, ForLog(ToString(error)));
}

// Faults of the server, and answers that are not finite: what a run again can show.
void Execution::OfferFailure(const Finished& run) const {
  if (deps_.failures == nullptr) return;
  const Error error = run.outcome ? Error{Code::kOk, ""} : run.outcome.error();
  const bool failed = run.outcome ? evidence::HasNonFinite(run.outcome->outputs) : evidence::IsEvidence(error.code);
  if (failed) deps_.failures->Offer({run.request->call, run.ready, error});
}

void Execution::Measure(const Finished& run) const {
  if (!run.outcome) return;
  const PredictCall& call = run.request->call;
  deps_.runs.Record(
      {run.ready->model, run.ready->version, inference::SignatureName(call.request.model_spec()), call.api},
      *run.outcome);
}

void Execution::OfferForDrift(const Finished& run) const {
  const Entry* candidate = run.candidate();
  if (candidate == nullptr || run.request->model->stable() == nullptr) return;
  if (!evidence::Sampled(candidate->arm->answered.fetch_add(1), run.request->model->drift_sample)) return;
  deps_.drift.Offer({run.outcome->outputs,
                     [this, request = run.request] {
                       return RunOnStable(deps_.store, deps_.admission, *request, deps_.budget.elements_max);
                     },
                     run.counters});
}

void Execution::Answer(const std::shared_ptr<Finished>& run) const {
  const PredictDone done = std::exchange(run->request->done, nullptr);
  if (!run->outcome) return done(tl::make_unexpected(std::move(run->outcome.error())));
  done(AnswerOf(run->request->call.request.model_spec(), run->ready->version, std::move(run->outcome->outputs)));
}

}  // namespace longshore::routing
