#include "serving-node/routing/execution.h"

#include <utility>

#include "common/os/log.h"
#include "serving-node/batching/batching.h"
#include "serving-node/batching/traced_run.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/run_meter.h"
#include "serving-node/routing/run_statistics.h"
#include "serving-node/tensor/info.h"

namespace longshore::routing {
namespace {

metrics::Labels LabelsOf(const std::string& model, int64_t version) {
  return {{"model", model}, {"version", std::to_string(version)}};
}

constexpr const char* kNonFiniteMessage = "an output is NaN or Inf, but stable's for the same input is finite";
constexpr const char* kNotComparedMessage = "an output is NaN or Inf, and no node could run stable for comparison";

// Returns true if a version uses this error code to say that the request is wrong. Codes for a full queue, thread pool
// or memory do not count, because the overload of a node says nothing about the version.
bool BlamesTheRequest(Code code) {
  return code == Code::kInvalidArgument || code == Code::kFailedPrecondition || code == Code::kNotFound ||
         code == Code::kOutOfRange || code == Code::kUnimplemented;
}

// Returns the rows of the inputs: the size of the first dimension if the signature leaves it open, otherwise 1.
int64_t RowsOf(const engine::RunRequest& run, const inference::Signatures& signatures) {
  const auto& infos = signatures.at(run.signature).inputs();
  for (const auto& [name, values] : run.inputs) {
    if (values.rank() > 0 && tensor::HasOpenRows(infos.at(name))) return values.dim(0);
  }
  return 1;
}

// Whether the version did not answer the user because of load: its queue was full, memory did not suffice, or the
// deadline passed while the request waited or ran.
//
// Requests of equal versions are overloaded equally often, because the queues of a model's versions share their limit
// and their turns (serving-node/batching/turns.h). For deadlines this does not hold if the queue forms batches: a
// version with less traffic has smaller batches, in which requests wait less. Then deadlines do not count, and a
// version whose slowness makes requests miss them is found by its run times. One difference is left: the forecast that
// refuses a request whose deadline is too near knows fewer runs of a version with fewer than eight runs per second.
bool IsOverloaded(Code code, bool missed_deadline, const batching::Options& options) {
  if (code == Code::kUnavailable || code == Code::kResourceExhausted) return true;
  if (options.max_batch_size > 1) return false;
  return code == Code::kDeadlineExceeded || ((code == Code::kOk || code == Code::kCancelled) && missed_deadline);
}

// Counts a request of a candidate. Returns why its errors trip the guard; "" if they do not. The errors are compared
// with error_rate_max if there are no requests of stable to compare with, or if a match rule chose the version: then
// the requests of the two versions come from different clients. Requests that a match rule sent to the candidate are
// counted apart from the others, because the errors of one group say nothing about the other group.
std::string WhyErrorsTrip(const Entry& candidate, bool error, bool matched) {
  const control::Guard& guard = candidate.guard;
  const ErrorWindow::Seen seen = (matched ? candidate.arm->matched_errors : candidate.arm->errors).Count(error);
  if (guard.alpha() <= 0 || matched) return error ? ErrorsTrip(guard, seen) : "";
  const RelativeErrors::Verdict verdict = candidate.arm->relative_errors.CountCandidate(error, guard.alpha());
  return verdict.alone ? ErrorsTrip(guard, seen) : verdict.why;
}

}  // namespace

// The state of a request from the start of its run until it is answered.
struct Execution::ActiveRun {
  RequestPtr request;
  models::Handle ready;
  std::shared_ptr<evidence::Counters> counters;
  bool noted = false;  // The journal has an open entry for this run, which is the candidate's first.
  Result<batching::RunOutcome> outcome;
  Pairing::UsersRun users_run{};
  bool submitted = false;  // The request fits the signature, and its queue got it.
  bool missed_deadline = false;
  int64_t rows = 1;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  const Entry* candidate() const {
    const Entry* entry = request->choice.entry;
    return entry != nullptr && entry->role == control::CANDIDATE ? entry : nullptr;
  }
  // The client named the version. Such a request counts neither as evidence nor for the guard's errors.
  bool pinned() const { return request->choice.entry != nullptr && request->choice.pinned; }
  // Evidence compares versions on randomly assigned requests.
  bool is_evidence() const { return !pinned() && !request->choice.matched; }

  // True if the same request must run on stable to find out whether the candidate or the request is at fault.
  bool is_suspicious() const {
    if (candidate() == nullptr || request->model->stable() == nullptr) return false;
    if (!outcome) return !pinned() && BlamesTheRequest(outcome.error().code);
    return candidate()->guard.non_finite() && evidence::HasNonFinite(outcome->outputs);
  }
};

Execution::Execution(const RouterDeps& deps)
    : deps_(deps),
      nonfinite_(deps.metrics.Counters(
          "longshore_nonfinite_total",
          "Answers of candidates with NaN or Inf where stable's answer is finite or no node could run stable.")),
      second_opinion_(deps),
      pairing_(deps, first_runs_),
      first_runs_(deps.journal) {}

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
  run->rows = RowsOf(*inputs, ready->loaded->signatures());
  const bool noted = run->candidate() == nullptr || first_runs_.IsNoted(*run->candidate()->arm);
  noted ? Submit(run, std::move(*inputs)) : SubmitAfterNote(run, std::move(*inputs));
}

// The first request, and those that name the candidate or arrive at the same time, wait for the journal entry on
// another thread, so that no frontend thread blocks. Meanwhile the router sends other requests to stable.
void Execution::SubmitAfterNote(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const {
  const bool posted = first_runs_.Post(*run->candidate()->arm, [this, run, inputs = std::move(inputs)](bool is_first) {
    run->noted = is_first;
    Submit(run, inputs);
  });
  if (posted) return;
  run->outcome = Unavailable("model \"{}\" version {}: too many requests wait for its first run", run->ready->model,
                             run->ready->version);
  Finish(run);
}

void Execution::Submit(const std::shared_ptr<ActiveRun>& run, engine::RunRequest inputs) const {
  run->submitted = true;
  const PredictCall& call = run->request->call;
  run->ready->queue->Submit(
      std::move(inputs),
      {.deadline = call.deadline, .priority = run->request->priority, .cancelled = call.cancelled, .trace = call.trace},
      [this, run](Result<batching::RunOutcome> outcome) {
        run->outcome = std::move(outcome);
        Finish(run);
      });
}

void Execution::Finish(const std::shared_ptr<ActiveRun>& run) const {
  if (run->noted) first_runs_.End(*run->candidate()->arm, true);
  const auto now = std::chrono::steady_clock::now();
  run->missed_deadline = run->request->call.deadline <= now;
  if (run->outcome) run->users_run = {run->outcome->padded_rows, run->outcome->run_time};
  Measure(*run, now - run->began);
  LogError(*run);
  OfferFailure(*run);
  if (run->is_suspicious()) {
    const Code said = run->outcome ? Code::kOk : run->outcome.error().code;
    return second_opinion_.Ask(run->request, said,
                               [this, run](Result<PredictAnswer> stable) { Judge(run, std::move(stable)); });
  }
  Count(*run, run->outcome ? Code::kOk : run->outcome.error().code);
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
  if (!stable_is_good || run->request->choice.pinned) return Answer(run);
  std::exchange(run->request->done, nullptr)(std::move(stable));
  pairing_.Offer(*run->request, run->users_run);
}

void Execution::Count(const ActiveRun& run, Code code) const {
  if (run.pinned()) return;
  const bool overloaded = run.submitted && IsOverloaded(code, run.missed_deadline, run.ready->queue->options());
  if (run.is_evidence()) CountEvidence(run, code, overloaded);
  if (!overloaded && evidence::IsEvidence(code)) CountForGuard(run, code != Code::kOk);
}

void Execution::CountEvidence(const ActiveRun& run, Code code, bool overloaded) const {
  // The run time of a batch counts once, regardless of the number of its requests.
  if (run.outcome && run.outcome->first_of_batch && !run.outcome->planned) {
    run.counters->CountRunTime(std::chrono::duration_cast<Duration>(run.outcome->run_time), run.outcome->padded_rows);
  }
  if (overloaded) {
    run.counters->CountOverloaded();
    return CountForBin(run, true);
  }
  run.counters->CountRequest(code);
  if (evidence::IsEvidence(code)) CountForBin(run, code != Code::kOk);
}

void Execution::CountForBin(const ActiveRun& run, bool bad) const {
  const Choice& choice = run.request->choice;
  if (choice.entry != nullptr && choice.entry->bins && choice.bin >= 0) choice.entry->bins->Count(choice.bin, bad);
}

void Execution::CountForGuard(const ActiveRun& run, bool error) const {
  if (run.request->model == nullptr) return;
  const Entry* counted = run.request->choice.entry;
  const Entry* candidate = run.request->model->candidate();
  if (candidate == nullptr) return;
  const bool matched = run.request->choice.matched;
  if (counted == run.request->model->stable()) {
    if (!matched) candidate->arm->relative_errors.CountStable(error);
    return;
  }
  if (run.candidate() == nullptr) return;
  const std::string why = WhyErrorsTrip(*counted, error, matched);
  if (why.empty() || counted->tripped()) return;
  deps_.guards.TripNow(*counted->arm->guard, "Errors", why, deps_.clock.Now());
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
  if (failed) deps_.failures->Offer(Failure{run.request->call, run.ready, error});
}

void Execution::Measure(const ActiveRun& run, std::chrono::nanoseconds took) const {
  deps_.statistics.Record({.model = run.ready->model,
                           .version = run.ready->version,
                           .rows = run.rows,
                           .took = took,
                           .outcome = run.outcome ? &*run.outcome : nullptr,
                           .now = deps_.clock.Now()});
  const PredictCall& call = run.request->call;
  if (call.trace && run.submitted) batching::TraceRun(*call.trace, run.began, run.outcome);
  if (!run.outcome) return;
  deps_.runs.Record(
      {run.ready->model, run.ready->version, inference::SignatureName(call.request.model_spec()), call.api},
      *run.outcome);
}

void Execution::Answer(const std::shared_ptr<ActiveRun>& run) const {
  const PredictDone done = std::exchange(run->request->done, nullptr);
  if (run->outcome) {
    done(AnswerOf(run->request->call.request.model_spec(), run->ready->version, std::move(run->outcome->outputs)));
  } else {
    done(tl::make_unexpected(std::move(run->outcome.error())));
  }
  pairing_.Offer(*run->request, run->users_run);
}

}  // namespace longshore::routing
