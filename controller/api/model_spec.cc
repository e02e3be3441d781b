#include "controller/api/fields.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kStepsMax = 50;
constexpr size_t kBatchSizesMax = 32;
constexpr size_t kLabelsMax = 64;
constexpr int kBatchSizeMax = 65536;
// The batch size and the delay for `mode: Auto`. Batches of this size use a processor fully, and the delay is short
// compared to a run.
constexpr int kAutoBatchSize = 16;
constexpr Duration kAutoDelay = milliseconds(1);

void ReadSource(Fields& source, ModelSpec& out) {
  source.Text("uri", out.source_uri, kSourceUri, Need::kRequired);
  source.Text("sha256", out.source_sha256, kSha256);
  const bool archive = out.source_uri.starts_with("https://");
  if (archive != source.Has("sha256"))
    source.Refuse("sha256", "is required for an https:// source, and not allowed for a file:// source");
}

void ReadVersion(Fields& spec, ModelSpec& out) {
  spec.Integer("version", out.version, 1, INT64_MAX);
  int latest = 0;
  spec.Choice<int>("versionPolicy", latest, {{"Latest", 1}});
  if (latest != 0 && out.version) spec.Refuse("versionPolicy", "version is set, too: set only one of them");
}

void ReadSlo(Fields& slo, Slo& out) {
  slo.Object("latency", [&](Fields& latency) {
    latency.Number("quantile", out.latency_quantile, 0.5, 0.9999);
    latency.Time("target", out.latency_target, std::chrono::microseconds(10), hours(1));
    latency.Require("target");
  });
  double rate = -1;
  slo.Share("errorRate", rate);
  if (rate >= 0) out.error_rate = rate;
}

void ReadBatchSizes(Fields& batching, Batching& out) {
  batching.List("allowedBatchSizes", kBatchSizesMax, [&](const Json& item, const std::string& path) {
    Reader& reader = batching.reader();
    if (!item.is_number_integer()) return reader.Refuse(path, fmt::format("{} is not a whole number", Shown(item)));
    const int64_t size = item.get<int64_t>();
    if (size < 1) return reader.Refuse(path, fmt::format("{} is below 1", size));
    if (!out.allowed_batch_sizes.empty() && size <= out.allowed_batch_sizes.back()) {
      return reader.Refuse(path,
                           fmt::format("{} is not above the previous size, {}", size, out.allowed_batch_sizes.back()));
    }
    if (size > out.max_batch_size && !reader.HasRefused(batching.PathOf("maxBatchSize"))) {
      return reader.Refuse(path, fmt::format("{} is above maxBatchSize, {}", size, out.max_batch_size));
    }
    out.allowed_batch_sizes.push_back(static_cast<int>(size));
  });
  if (batching.Has("allowedBatchSizes") && out.allowed_batch_sizes.empty()) {
    batching.Refuse("allowedBatchSizes", "is empty");
  }
  if (!out.allowed_batch_sizes.empty() && out.allowed_batch_sizes.back() != out.max_batch_size) {
    batching.Refuse("allowedBatchSizes", fmt::format("the last size must be maxBatchSize, {}", out.max_batch_size));
  }
}

void ReadBatching(Fields& batching, Batching& out) {
  enum class Mode { kSizes, kAuto, kOff } mode = Mode::kSizes;
  batching.Choice<Mode>("mode", mode, {{"Auto", Mode::kAuto}, {"Off", Mode::kOff}});
  if (mode == Mode::kAuto) {
    out.max_batch_size = kAutoBatchSize;
    out.max_delay = kAutoDelay;
  }
  for (const char* key : {"maxBatchSize", "maxDelay", "allowedBatchSizes"}) {
    if (mode != Mode::kSizes && batching.Has(key))
      batching.Refuse(key, "mode sets this field: leave out this field or mode");
  }
  batching.Integer("maxBatchSize", out.max_batch_size, 1, kBatchSizeMax);
  batching.Time("maxDelay", out.max_delay, Duration(0), seconds(10));
  batching.Integer("maxQueue", out.max_queue, 1, 1000000);
  ReadBatchSizes(batching, out);
}

void ReadGoldenSet(Fields& golden, Validation& out) {
  golden.Text("path", out.golden_set, kSourcePath, Need::kRequired);
  if (out.golden_set.starts_with("/") || out.golden_set.find("..") != std::string::npos) {
    golden.Refuse("path",
                  fmt::format("\"{}\" is not below the source: write it relative to source.uri", out.golden_set));
  }
  golden.Choice<std::string>("metric", out.metric, {{"top1", "top1"}, {"tolerance", "tolerance"}});
  golden.Number("minimum", out.minimum, 0, 1);
  golden.Object("tolerance", [&](Fields& tolerance) { tolerance.Number("relative", out.relative_tolerance, 0, 1); });
  golden.Time("every", out.golden_every, seconds(60), hours(24 * 30));
}

void ReadValidation(Fields& validation, Validation& out) {
  validation.Object("goldenSet", [&](Fields& golden) { ReadGoldenSet(golden, out); });
  validation.Choice<bool>("nonFinite", out.non_finite_reject, {{"Reject", true}, {"Allow", false}});
  validation.Flag("deterministic", out.deterministic);
}

void ReadAssignment(Fields& assignment, Rollout& out) {
  assignment.Choice<AssignmentBy>(
      "by", out.assignment_by,
      {{"Request", AssignmentBy::kRequest}, {"Header", AssignmentBy::kHeader}, {"Cookie", AssignmentBy::kCookie}});
  const bool keyed = out.assignment_by != AssignmentBy::kRequest;
  assignment.Text("key", out.assignment_key, kHeaderName, keyed ? Need::kRequired : Need::kOptional);
  if (!keyed && assignment.Has("key")) assignment.Refuse("key", "has no effect without `by: Header` or `by: Cookie`");
}

Step ReadStep(Fields& step) {
  Step out;
  // 0.01 % is the smallest weight that can be assigned.
  step.Number("weight", out.weight_percent, 0.01, 100, Need::kRequired);
  step.Time("hold", out.hold, Duration(0), hours(24 * 30));
  step.Choice<bool>("pause", out.manual_pause, {{"Manual", true}});
  ReadProof(step, out.proof);
  return out;
}

void ReadSteps(Fields& rollout, Rollout& out) {
  if (!rollout.Has("steps")) {
    rollout.Take("steps");
    if (out.strategy != Strategy::kCanary) out.steps.clear();
    return;
  }
  out.steps.clear();
  rollout.Objects("steps", kStepsMax, [&](Fields& item) {
    const Step step = ReadStep(item);
    const double before = out.steps.empty() ? 0 : out.steps.back().weight_percent;
    if (step.weight_percent <= before) {
      item.reader().Refuse(item.PathOf("weight"),
                           fmt::format("{} is not above the previous weight {}", step.weight_percent, before));
    }
    out.steps.push_back(step);
  });
  if (out.steps.empty()) rollout.Refuse("steps", "is empty; `strategy: Immediate` is a rollout without steps");
  if (out.strategy != Strategy::kCanary)
    rollout.Refuse("steps", fmt::format("has no effect with `strategy: {}`", StrategyName(out.strategy)));
}

void ReadAnalysis(Fields& analysis, Rollout& out) {
  analysis.Object("errorRate", [&](Fields& rate) {
    rate.Flag("enabled", out.error_rate.enabled);
    rate.Number("tolerance", out.error_rate.tolerance, 0, 1);
    rate.Number("relativeTolerance", out.error_rate.relative_tolerance, 0, 100);
  });
  analysis.Object("latency", [&](Fields& latency) {
    latency.Flag("enabled", out.latency.enabled);
    latency.Number("tolerance", out.latency.tolerance, 0, 10);
  });
  analysis.Object("drift", [&](Fields& drift) {
    double max = -1;
    drift.Number("max", max, 0, 1e9);
    if (max >= 0) out.drift.max = max;
  });
  analysis.Object("pairs", [&](Fields& pairs) {
    pairs.Number("share", out.pairs.share, 0, 1);
    pairs.Number("budget", out.pairs.budget, 0, 1);
  });
  analysis.Time("patience", out.patience, seconds(1), hours(24 * 30));
  analysis.NotYet("queries", "judge by errorRate, latency and drift");
}

// A step with `proof: Required` and a tolerance of 0 would never end.
void CheckProofs(Fields& rollout, const Rollout& out) {
  if (IsProvable(out)) return;
  for (size_t i = 0; i < out.steps.size(); ++i) {
    if (out.steps[i].proof != Proof::kRequired) continue;
    rollout.Refuse(fmt::format("steps[{}].proof", i), kProofImpossible);
  }
}

void ReadMaxUnavailable(Fields& rollout, MaxUnavailable& out) {
  const Json* value = rollout.Value("maxUnavailable");
  if (value == nullptr) return;
  if (value->is_number_integer()) {
    const int64_t nodes = value->get<int64_t>();
    if (nodes < 0 || nodes > kMaxUnavailableNodesMax) {
      return rollout.Refuse("maxUnavailable",
                            fmt::format("{} is not between 0 and {}", nodes, kMaxUnavailableNodesMax));
    }
    out = {.value = static_cast<int>(nodes), .is_percent = false};
    return;
  }
  if (!value->is_string() || !Matches(value->get<std::string>(), kPercentOfNodes))
    return rollout.Refuse("maxUnavailable", fmt::format("{} is not {}", Shown(*value), kPercentOfNodes.what));
  out = {.value = std::stoi(value->get<std::string>()), .is_percent = true};
}

void ReadRollout(Fields& rollout, Rollout& out) {
  rollout.Choice<Strategy>("strategy", out.strategy,
                           {{"Canary", Strategy::kCanary},
                            {"Immediate", Strategy::kImmediate},
                            {"Shadow", Strategy::kShadow},
                            {"BlueGreen", Strategy::kBlueGreen}});
  rollout.Object("assignment", [&](Fields& assignment) { ReadAssignment(assignment, out); });
  ReadRoutes(rollout, out.routes);
  ReadSteps(rollout, out);
  rollout.Time("hold", out.hold, Duration(0), hours(24 * 30));
  rollout.Integer("requestsMin", out.requests_min, 0, 1000000000);
  rollout.Object("analysis", [&](Fields& analysis) { ReadAnalysis(analysis, out); });
  rollout.Choice<OnFailure>("onFailure", out.on_failure,
                            {{"Rollback", OnFailure::kRollback}, {"Pause", OnFailure::kPause}});
  rollout.Choice<OnInconclusive>("onInconclusive", out.on_inconclusive,
                                 {{"Pause", OnInconclusive::kPause},
                                  {"Promote", OnInconclusive::kPromote},
                                  {"Rollback", OnInconclusive::kRollback}});
  rollout.Time("progressDeadline", out.progress_deadline, milliseconds(100), hours(24 * 7));
  ReadMaxUnavailable(rollout, out.max_unavailable);
  rollout.Time("controllerSilenceMax", out.controller_silence_max, Duration(0), hours(24 * 7));
  rollout.Flag("paused", out.paused);
  rollout.Time("keepWarm", out.keep_warm, Duration(0), hours(24 * 30));
  ReadShadow(rollout, out);
  CheckProofs(rollout, out);
}

void ReadReplicas(Fields& spec, ModelSpec& out) {
  if (const Json* value = spec.Value("replicas"); value != nullptr && *value == 0) {
    return spec.Refuse("replicas",
                       "0, a model that is loaded on its first request, is planned but not supported by this release");
  }
  spec.Integer("replicas", out.replicas, 1, 100000);
}

}  // namespace

void ReadProof(Fields& fields, std::optional<Proof>& out) {
  Proof proof = Proof::kNone;
  fields.Choice<Proof>("proof", proof,
                       {{"Required", Proof::kRequired}, {"Sampled", Proof::kSampled}, {"None", Proof::kNone}});
  if (fields.Has("proof")) out = proof;
}

ModelSpec ReadModelSpec(Fields& spec, const std::string& name) {
  ModelSpec out;
  out.served_name = name;
  spec.Text("fleet", out.fleet, kFleetName, Need::kRequired);
  spec.Text("servedName", out.served_name, kServedName);
  spec.Object(
      "source", [&](Fields& source) { ReadSource(source, out); }, Need::kRequired);
  ReadVersion(spec, out);
  spec.VersionMap("labels", kLabelsMax, out.version_labels);
  spec.Object("slo", [&](Fields& slo) { ReadSlo(slo, out.slo); });
  spec.Object("batching", [&](Fields& batching) { ReadBatching(batching, out.batching); });
  spec.Object("warmup", [&](Fields& warmup) {
    warmup.Choice<bool>("source", out.warm_up, {{"Assets", true}, {"None", false}});
  });
  spec.Object("validation", [&](Fields& validation) { ReadValidation(validation, out.validation); });
  spec.Object("rollout", [&](Fields& rollout) { ReadRollout(rollout, out.rollout); });
  if (out.rollout.strategy == Strategy::kBlueGreen && out.version_labels.contains(kPreviewName))
    spec.Refuse("labels", "with `strategy: BlueGreen` the label preview names the candidate: use another label");
  ReadReplicas(spec, out);
  spec.Done();
  return out;
}

}  // namespace longshore::api
