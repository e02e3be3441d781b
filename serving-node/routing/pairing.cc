#include "serving-node/routing/pairing.h"

#include <algorithm>
#include <future>
#include <utility>

#include "common/base/sampled.h"
#include "serving-node/batching/background.h"
#include "serving-node/batching/rows.h"
#include "serving-node/inference/inference.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/models/model_store.h"
#include "serving-node/routing/failure.h"
#include "serving-node/tracing/context.h"

namespace longshore::routing {
namespace {

using evidence::PairDrop;
using evidence::PairOutcome;
using evidence::Side;

const char* NameOf(PairOutcome::Kind kind) {
  switch (kind) {
    case PairOutcome::Kind::kBothAnswered: return "answered";
    case PairOutcome::Kind::kCandidateFailed: return "candidate_failed";
    case PairOutcome::Kind::kStableFailed: return "stable_failed";
    case PairOutcome::Kind::kBothFailed: break;
  }
  return "both_failed";
}

const char* NameOf(PairDrop why) {
  switch (why) {
    case PairDrop::kBusy: return "busy";
    case PairDrop::kBudget: return "budget";
    case PairDrop::kQueue: break;
  }
  return "queue";
}

const char* NameOf(const evidence::OutputOutcome& outcome) {
  if (outcome.noise) return outcome.differs ? "both" : "noise";
  return outcome.differs ? "differs" : "agrees";
}

// Returns why the candidate's outputs are not stable's; "" if they are.
std::string DifferenceOf(const PairOutcome& outcome) {
  std::string what = outcome.mismatch;
  for (const evidence::OutputOutcome& one : outcome.outputs) {
    if (!one.only_candidate_differs()) continue;
    what += fmt::format("{}output \"{}\" differs by the rule \"{}\"", what.empty() ? "" : "; ", one.output, one.rule);
  }
  return what;
}

double SeverityOf(const PairOutcome& outcome) {
  double severity = outcome.mismatch.empty() ? 0 : 1;
  for (const evidence::OutputOutcome& one : outcome.outputs) severity = std::max(severity, one.severity);
  return severity;
}

// Returns why this version failed although the other one did not; "" if it did not.
std::string ErrorOf(const evidence::RunOutcome& run, bool has_failed) {
  if (!has_failed) return "";
  return run.code == Code::kOk ? "NonFinite" : std::string(CodeName(run.code));
}

// Returns how the answers differ; nullopt if they do not, or if both versions failed.
std::optional<control::WorstPair> DifferentPair(const PairOutcome& outcome) {
  control::WorstPair pair;
  pair.set_candidate_error(ErrorOf(outcome.candidate, outcome.kind == PairOutcome::Kind::kCandidateFailed));
  pair.set_stable_error(ErrorOf(outcome.stable, outcome.kind == PairOutcome::Kind::kStableFailed));
  pair.set_candidate_us(outcome.candidate.time.count());
  pair.set_stable_us(outcome.stable.time.count());
  if (outcome.kind == PairOutcome::Kind::kBothFailed) return std::nullopt;
  if (outcome.kind != PairOutcome::Kind::kBothAnswered) return pair;
  if (!outcome.difference.largest) return std::nullopt;
  const evidence::OutputDifference& largest = *outcome.difference.largest;
  pair.set_output(largest.output);
  pair.set_candidate_type(largest.candidate_type);
  pair.set_stable_type(largest.stable_type);
  pair.set_relative_difference(largest.relative);
  if (largest.absolute) pair.set_absolute_difference(*largest.absolute);
  return pair;
}

// Returns the id that the client sent or, if it sent none, the id of the trace that this node records; "" if there is
// neither.
std::string TraceIdOf(const PredictCall& call) {
  std::vector<std::string_view> sent;
  for (const auto& [name, value] : call.headers) {
    if (name == tracing::kTraceparent) sent.push_back(value);
  }
  auto context = tracing::ParseContext({.traceparents = sent, .tracestates = {}});
  if (!context && call.trace && call.trace->context().sampled) context = call.trace->context();
  return context ? tracing::ToString(context->trace_id) : "";
}

// Returns the size of the first dimension that all inputs share; 0 if they have none in common.
int64_t RowsOf(const engine::TensorMap& inputs) {
  std::optional<int64_t> rows;
  for (const auto& [name, input] : inputs) {
    if (input.rank() == 0 || (rows && *rows != input.dim(0))) return 0;
    rows = input.dim(0);
  }
  return rows.value_or(0);
}

// While the candidate has no weight, the requests that a rule sends to it are those of people who try it out: one of
// them who repeats an input would prove the candidate.
bool IsEligible(const Request& request, const Entry& candidate, const Entry& stable) {
  const Choice& choice = request.choice;
  if (choice.pinned || !candidate.paired()) return false;
  const bool is_weightless = candidate.weight_bp == 0;
  if (choice.entry == &stable) return !request.model->pairs.only_candidates && !(is_weightless && choice.to_candidate);
  return choice.entry == &candidate && !is_weightless;
}

// Returns the signature that the request names; an empty one if there is none, so that all runs will fail.
tensorflow::SignatureDef SignatureOf(const models::ReadyVersion& ready, const inference::Request& request) {
  const auto& signatures = ready.loaded->signatures();
  const auto found = signatures.find(inference::SignatureName(request.model_spec()));
  return found == signatures.end() ? tensorflow::SignatureDef() : found->second;
}

// Returns the request with as many rows as the user's run had or, if that failed, as it would have alone. The request
// is unchanged if it cannot be batched.
Result<engine::RunRequest> Padded(engine::RunRequest run, const models::ReadyVersion& ready,
                                  std::optional<int> padded_rows) {
  const batching::Options& options = ready.queue->options();
  if (options.max_batch_size <= 1 || padded_rows == 0) return run;
  const auto batchable = batching::FindBatchable(ready.loaded->signatures(), run, options.pad_rows);
  if (!batchable) return run;
  const int64_t alone = batching::PaddedRows(batchable->rows, options.allowed_batch_sizes);
  return batching::WithRows(std::move(run),
                            padded_rows ? *padded_rows : std::min<int64_t>(alone, options.max_batch_size));
}

}  // namespace

// A copy of the input, without anything that would keep the request or a version from ending.
struct Pairing::Input {
  inference::Request request;
  std::optional<int> padded_rows;
  std::weak_ptr<const models::ReadyVersion> candidate;
  std::weak_ptr<const models::ReadyVersion> stable;
  int64_t elements_max = 0;
  std::string trace_id;  // "" if the request has none.

  Result<evidence::PairedRun> Run(Side side) const {
    const models::Handle ready = (side == Side::kCandidate ? candidate : stable).lock();
    if (!ready) return Unavailable("the version was unloaded");
    ASSIGN_OR_RETURN(auto run, inference::ToRunRequest(request, ready->loaded->signatures(), elements_max));
    ASSIGN_OR_RETURN(run, Padded(std::move(run), *ready, padded_rows));
    ASSIGN_OR_RETURN(batching::RunOutcome outcome, batching::RunInBackground(*ready->queue, std::move(run), kPatience));
    return evidence::PairedRun{std::move(outcome.outputs), outcome.run_time, outcome.planned};
  }
};

Pairing::Pairing(const RouterDeps& deps, FirstRuns& first_runs)
    : deps_(deps),
      first_runs_(first_runs),
      pairs_(
          deps.metrics.Counters("longshore_pairs_total",
                                "Sampled requests that ran on both versions, by the candidate's version and result.")),
      outputs_(deps.metrics.Counters(
          "longshore_pair_outputs_total",
          "Outputs that a rule compared in pairs, by the candidate's version and result: agrees, differs, noise (only "
          "stable differs from itself) or both.")),
      dropped_(deps.metrics.Counters(
          "longshore_pairs_dropped_total",
          "Sampled requests that did not run on both versions because the node was busy, the budget was spent or the "
          "queue was full.")) {}

void Pairing::Offer(const Request& request, const UsersRun& run) const {
  if (request.model == nullptr) return;
  const Entry* candidate = request.model->candidate();
  const Entry* stable = request.model->stable();
  if (candidate == nullptr || stable == nullptr || !IsEligible(request, *candidate, *stable)) return;
  if (!Sampled(candidate->arm->sampled.fetch_add(1), request.model->pairs.share)) return;
  const auto ready = deps_.store.Find(request.model_name(), candidate->version);
  const auto ready_stable = deps_.store.Find(request.model_name(), stable->version);
  if (!ready || !ready_stable) return;
  deps_.pairs.Offer(TermsOf(request, run, *candidate),
                    [&] { return MakePair(request, run, {.candidate = *ready, .stable = *ready_stable}); });
}

evidence::PairTerms Pairing::TermsOf(const Request& request, const UsersRun& run, const Entry& candidate) const {
  const auto slots = static_cast<double>(deps_.admission.load().concurrent_runs_max);
  return {.bytes = request.call.request.bytes(),
          .expected = 4 * run.took,
          .slots = request.model->pairs.budget * slots,
          .reject_non_finite = candidate.guard.non_finite(),
          .counters = candidate.arm->counters,
          .dropped = [dropped = dropped_](PairDrop why) mutable {
            dropped.With({{"reason", NameOf(why)}}).Add();
          }};
}

evidence::Pair Pairing::MakePair(const Request& request, const UsersRun& run, const BothVersions& both) const {
  const auto input =
      std::make_shared<const Input>(Input{request.call.request.Detached(), run.padded_rows, both.candidate, both.stable,
                                          deps_.budget.elements_max, TraceIdOf(request.call)});
  const std::shared_ptr<Arm> arm = request.model->candidate()->arm;
  const PairPolicy& policy = request.model->pairs;
  return {.run = [this, input,
                  arm](Side side) { return side == Side::kCandidate ? RunCandidate(*input, *arm) : input->Run(side); },
          .counted =
              [this, input, arm, policy](const PairOutcome& outcome) {
                Counted(outcome, *arm);
                NoteIfDifferent(outcome, *input, *arm);
                KeepIfDifferent(outcome, *input, policy);
              },
          .rules = policy.rules,
          .signature = SignatureOf(*both.stable, request.call.request)};
}

Result<evidence::PairedRun> Pairing::RunCandidate(const Input& input, Arm& arm) const {
  if (first_runs_.IsNoted(arm)) return input.Run(Side::kCandidate);
  std::promise<bool> noted;
  if (!first_runs_.Post(arm, [&noted](bool is_first) { noted.set_value(is_first); }))
    return Unavailable("too many requests wait for the candidate's first run");
  const bool is_first = noted.get_future().get();
  auto run = input.Run(Side::kCandidate);
  const bool ran = run || (run.error().code != Code::kUnavailable && run.error().code != Code::kDeadlineExceeded);
  if (is_first) first_runs_.End(arm, ran);
  return run;
}

void Pairing::NoteIfDifferent(const PairOutcome& outcome, const Input& input, const Arm& arm) const {
  std::optional<control::WorstPair> pair = DifferentPair(outcome);
  if (!pair) return;
  const std::string& salt = arm.guard->key().salt;
  pair->set_at_unix_ms(ToUnixMillis(deps_.clock.Now()));
  if (!arm.counters->WantsDifferent(salt, *pair)) return;  // To read the inputs takes time.
  pair->set_trace_id(input.trace_id);
  pair->set_signature(inference::SignatureName(input.request.model_spec()));
  const auto inputs = input.request.ReadInputs(input.elements_max, tensor::kFilledBytesMaxForRequests);
  if (inputs) pair->set_rows(RowsOf(*inputs));
  arm.counters->NoteDifferent(salt, std::move(*pair));
}

void Pairing::KeepIfDifferent(const PairOutcome& outcome, const Input& input, const PairPolicy& policy) const {
  if (deps_.failures == nullptr || policy.keep_worst == 0) return;
  const std::string what = DifferenceOf(outcome);
  const models::Handle candidate = input.candidate.lock(), stable = input.stable.lock();
  if (what.empty() || !candidate || !stable) return;
  deps_.failures->Offer(Difference{.request = input.request,
                                   .candidate = candidate,
                                   .stable_version = stable->version,
                                   .rules = *policy.rules,
                                   .what = what,
                                   .severity = SeverityOf(outcome),
                                   .differences_max = policy.keep_worst});
}

void Pairing::Counted(const PairOutcome& outcome, const Arm& arm) const {
  const GuardKey& key = arm.guard->key();
  auto pairs = pairs_;
  const std::string version = std::to_string(key.version);
  pairs.With({{"model", key.model}, {"version", version}, {"result", NameOf(outcome.kind)}}).Add();
  auto outputs = outputs_;
  for (const evidence::OutputOutcome& one : outcome.outputs) {
    if (!one.counted) continue;
    outputs.With({{"model", key.model}, {"version", version}, {"output", one.output}, {"result", NameOf(one)}}).Add();
  }
  if (!outcome.candidate_non_finite || outcome.kind != PairOutcome::Kind::kCandidateFailed) return;
  const TimePoint now = deps_.clock.Now();
  arm.counters->CountNonFinite(now);
  deps_.guards.TripNow(*arm.guard, "NonFinite",
                       "in a pair of runs, an output is NaN or Inf, but stable's for the same input is finite", now);
}

}  // namespace longshore::routing
