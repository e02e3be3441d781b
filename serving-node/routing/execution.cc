#include "serving-node/routing/execution.h"

#include <future>

#include "common/log.h"
#include "serving-node/batching/batching.h"
#include "serving-node/evidence/drift.h"
#include "serving-node/models/model_store.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/inputs.h"
#include "serving-node/tensor/proto.h"
#include "serving-node/trial/journal.h"

namespace longshore::routing {
namespace {

metrics::Labels LabelsOf(const std::string& model, int64_t version) {
  return {{"model", model}, {"version", std::to_string(version)}};
}

trial::Try TryOf(const GuardKey& key) { return {key.model, key.version, key.salt}; }

// Unreadable answers are not known to be finite.
bool IsFinite(const std::string& serialized_response) {
  tensorflow::serving::PredictResponse response;
  if (!response.ParseFromString(serialized_response)) return false;
  engine::TensorMap outputs;
  for (const auto& [name, proto] : response.outputs()) {
    auto values = tensor::FromProto(proto);
    if (!values) return false;
    outputs.emplace(name, std::move(*values));
  }
  return !evidence::HasNonFinite(outputs);
}

Result<engine::TensorMap> RunOnStable(const models::ModelStore& store, const batching::Admission& admission,
                                      const std::string& model, int64_t version, engine::RunRequest run) {
  const batching::Load load = admission.load();
  if (load.queued > load.concurrent_runs_max) return ResourceExhausted("users come first");
  ASSIGN_OR_RETURN(const models::Handle ready, store.Find(model, version));
  std::promise<Result<batching::RunOutcome>> promise;
  ready->queue->Submit(std::move(run), std::chrono::steady_clock::time_point::max(),
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
  engine::RunRequest inputs;  // Kept for candidates, which may have to be compared with stable.
  bool noted = false;         // In the journal, as the first run.
  Result<batching::RunOutcome> outcome;

  const Entry* candidate() const {
    const Entry* entry = request->choice.entry;
    return entry != nullptr && entry->role == control::CANDIDATE ? entry : nullptr;
  }
};

Execution::Execution(const RouterDeps& deps)
    : deps_(deps),
      queue_seconds_(deps.metrics.Histograms("longshore_queue_seconds", "How long runs waited for their turn.")),
      run_seconds_(deps.metrics.Histograms("longshore_run_seconds", "How long runs took, without waiting.")),
      nonfinite_(deps.metrics.Counters("longshore_nonfinite_total",
                                       "Answers of candidates with NaN or Inf where stable's is finite.")) {}

std::shared_ptr<evidence::Counters> Execution::CountersOf(const Request& request) const {
  if (request.choice.entry != nullptr) return request.choice.entry->arm->counters;
  return deps_.recorder.For(request.model_name(), request.choice.version);
}

void Execution::Run(const RequestPtr& request, const models::Handle& ready) const {
  auto inputs = ToRunRequest(request->call.request, ready->loaded->signatures());
  if (!inputs) return request->done(tl::make_unexpected(std::move(inputs.error())));
  auto run = std::make_shared<Finished>(Finished{request, ready, CountersOf(*request), {}, false, {}});
  if (run->candidate() != nullptr) run->inputs = *inputs;
  NoteFirstRun(*run);
  ready->queue->Submit(std::move(*inputs), request->call.deadline, [this, run](Result<batching::RunOutcome> outcome) {
    run->outcome = std::move(outcome);
    Finish(run);
  });
}

void Execution::NoteFirstRun(Finished& run) const {
  const Entry* entry = run.candidate();
  if (deps_.journal == nullptr || entry == nullptr || entry->arm->has_run.exchange(true)) return;
  const auto noted = deps_.journal->Begin(TryOf(entry->arm->guard->key()), trial::Deed::kFirstRun);
  if (!noted) spdlog::warn("first run not noted: {}", ToString(noted.error()));
  run.noted = noted.has_value();
}

void Execution::Finish(const std::shared_ptr<Finished>& run) const {
  if (run->noted) deps_.journal->End(TryOf(run->request->choice.entry->arm->guard->key()));
  // Evidence compares what chance gave to the versions; who names one is no random user.
  if (run->request->choice.entry == nullptr || !run->request->choice.pinned) {
    run->counters->CountRun(run->outcome ? run->outcome->run_time : std::chrono::microseconds(0),
                            run->outcome ? Code::kOk : run->outcome.error().code);
  }
  Measure(*run);
  const Entry* candidate = run->candidate();
  if (candidate == nullptr) return Answer(run);
  CheckErrors(*run);
  if (!run->outcome) return Answer(run);
  const Entry* stable = run->request->model->stable();
  if (stable == nullptr) return Answer(run);
  if (evidence::HasNonFinite(run->outcome->outputs)) return PairWithStable(run, *stable);
  OfferForDrift(*run);
  Answer(run);
}

void Execution::Measure(const Finished& run) const {
  if (!run.outcome) return;
  const metrics::Labels labels = LabelsOf(run.ready->model, run.ready->version);
  auto queue_seconds = queue_seconds_;
  auto run_seconds = run_seconds_;
  queue_seconds.With(labels).Observe(std::chrono::duration<double>(run.outcome->queue_time).count());
  run_seconds.With(labels).Observe(std::chrono::duration<double>(run.outcome->run_time).count());
}

void Execution::CheckErrors(const Finished& run) const {
  const Entry& candidate = *run.candidate();
  if (candidate.tripped() || run.outcome) return;
  const std::string why = ErrorsTrip(candidate.guard, run.counters->requests() - candidate.arm->requests_before,
                                     run.counters->errors() - candidate.arm->errors_before);
  if (!why.empty()) deps_.guards.TripNow(*candidate.arm->guard, "Errors", why, deps_.clock.Now());
}

void Execution::PairWithStable(const std::shared_ptr<Finished>& run, const Entry& stable) const {
  const auto ready = deps_.store.Find(run->request->model_name(), stable.version);
  if (!ready) return PairAtPeer(run, stable);
  (*ready)->queue->Submit(run->inputs, std::chrono::steady_clock::time_point::max(),
                          [this, run, held = *ready](Result<batching::RunOutcome> outcome) {
                            Judge(run, outcome && !evidence::HasNonFinite(outcome->outputs));
                          });
}

void Execution::PairAtPeer(const std::shared_ptr<Finished>& run, const Entry& stable) const {
  if (stable.peers.empty()) return Answer(run);
  deps_.forwarder.Forward(HopCall(*run->request, stable.version, stable.peers.front()), [this, run](Result<std::string> reply) {
    Judge(run, reply && IsFinite(*reply));
  });
}

void Execution::Judge(const std::shared_ptr<Finished>& run, bool stable_is_finite) const {
  if (stable_is_finite) {
    const Entry& candidate = *run->candidate();
    const TimePoint now = deps_.clock.Now();
    run->counters->CountNonFinite(now);
    auto nonfinite = nonfinite_;
    nonfinite.With(LabelsOf(run->ready->model, run->ready->version)).Add();
    if (candidate.guard.non_finite()) {
      deps_.guards.TripNow(*candidate.arm->guard, "NonFinite", "an output is NaN or Inf where stable's is finite", now);
    }
  }
  Answer(run);
}

void Execution::OfferForDrift(const Finished& run) const {
  const Entry& candidate = *run.candidate();
  if (!evidence::Sampled(candidate.arm->answered.fetch_add(1), run.request->model->drift_sample)) return;
  const int64_t stable = run.request->model->stable()->version;
  deps_.drift.Offer({run.outcome->outputs,
                     [this, model = run.request->model_name(), stable, inputs = run.inputs] {
                       return RunOnStable(deps_.store, deps_.admission, model, stable, inputs);
                     },
                     run.counters});
}

void Execution::Answer(const std::shared_ptr<Finished>& run) const {
  PredictDone done = std::move(run->request->done);
  if (!run->outcome) return done(tl::make_unexpected(std::move(run->outcome.error())));
  PredictAnswer answer;
  answer.model_spec.set_name(run->ready->model);
  answer.model_spec.mutable_version()->set_value(run->ready->version);
  answer.model_spec.set_signature_name(SignatureName(run->request->call.request.model_spec()));
  answer.outputs = std::move(run->outcome->outputs);
  done(std::move(answer));
}

ForwardCall HopCall(const Request& request, int64_t version, const std::string& target) {
  ForwardCall call;
  call.target = target;
  call.serialized = request.call.serialized.empty() ? request.call.request.SerializeAsString() : request.call.serialized;
  call.deadline = request.call.deadline;
  call.metadata = {{kHopHeader, "1"}, {kHopVersionHeader, std::to_string(version)}, {kHopFleetHeader, request.table->fleet()}};
  if (request.choice.pinned) call.metadata.emplace_back(kHopPinnedHeader, "1");
  return call;
}

}  // namespace longshore::routing
