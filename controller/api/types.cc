#include "controller/api/types.h"

#include <algorithm>
#include <iterator>

#include "common/base/error.h"
#include "common/base/text.h"

namespace longshore::api {
namespace {

constexpr std::pair<RolloutPhase, std::string_view> kPhases[] = {
    {RolloutPhase::kNone, "None"},           {RolloutPhase::kValidating, "Validating"},
    {RolloutPhase::kLoading, "Loading"},     {RolloutPhase::kShadow, "Shadow"},
    {RolloutPhase::kPreview, "Preview"},     {RolloutPhase::kStep, "Step"},
    {RolloutPhase::kPaused, "Paused"},       {RolloutPhase::kPromoting, "Promoting"},
    {RolloutPhase::kCompleted, "Completed"}, {RolloutPhase::kRolledBack, "RolledBack"}};

constexpr std::string_view kProofs[] = {"Required", "Sampled", "None"};
constexpr std::string_view kStrategies[] = {"Canary", "Immediate", "Shadow", "BlueGreen"};

// For CommandResultName and sentences.
constexpr std::string_view kResults[] = {"Done", "Refused", "Superseded"};
constexpr std::string_view kResultWords[] = {"done", "refused", "superseded"};

}  // namespace

std::string_view RolloutPhaseName(RolloutPhase phase) { return kPhases[static_cast<size_t>(phase)].second; }

bool IsUnderWay(RolloutPhase phase) {
  return phase != RolloutPhase::kNone && phase != RolloutPhase::kCompleted && phase != RolloutPhase::kRolledBack;
}

bool IsWithoutWeight(RolloutPhase phase) { return phase == RolloutPhase::kShadow || phase == RolloutPhase::kPreview; }

std::string_view ProofName(Proof proof) { return kProofs[static_cast<size_t>(proof)]; }

std::string_view StrategyName(Strategy strategy) { return kStrategies[static_cast<size_t>(strategy)]; }

RolloutPhase RolloutPhaseOf(std::string_view name) {
  const auto found = std::ranges::find(kPhases, name, &std::pair<RolloutPhase, std::string_view>::second);
  return found == std::end(kPhases) ? RolloutPhase::kNone : found->first;
}

std::string_view CommandResultName(CommandResult result) { return kResults[static_cast<size_t>(result)]; }

std::string ToString(const CommandAnswer& answer) {
  return fmt::format("{}: {}{}{}", answer.verb, kResultWords[static_cast<size_t>(answer.result)],
                     answer.message.empty() ? "" : ": ", answer.message);
}

Command CommandFor(std::string verb, int64_t generation, const ModelStatus& status) {
  const RolloutStatus& rollout = status.rollout;
  Command command{
      .verb = std::move(verb), .generation = generation, .step = rollout.step_index, .attempt = rollout.attempt};
  if (command.verb == "undo") command.from = IsUnderWay(rollout.phase) ? rollout.candidate : status.stable_version;
  return command;
}

void SetCondition(std::vector<Condition>& conditions, Condition next) {
  next.message = CutText(next.message, kConditionMessageBytesMax);
  const auto found = std::ranges::find(conditions, next.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(next));
    return;
  }
  if (found->status == next.status) next.last_transition = found->last_transition;
  *found = std::move(next);
}

bool IsProvable(const Rollout& rollout) {
  const bool errors = rollout.error_rate.tolerance > 0 || rollout.error_rate.relative_tolerance > 0;
  const bool outputs = !rollout.shadow || std::ranges::all_of(rollout.shadow->compare,
                                                              [](const OutputRule& rule) { return rule.rows < 1; });
  return (errors || !rollout.error_rate.enabled) && (rollout.latency.tolerance > 0 || !rollout.latency.enabled) &&
         outputs;
}

Proof ProofOfShadow(const Rollout& rollout) {
  if (!rollout.shadow) return Proof::kNone;
  const bool has_steps = rollout.strategy == Strategy::kCanary;
  return rollout.shadow->proof.value_or(!has_steps && IsProvable(rollout) ? Proof::kRequired : Proof::kSampled);
}

Proof ProofOf(const Rollout& rollout, size_t step_index) {
  const bool last = step_index + 1 == rollout.steps.size();
  return rollout.steps[step_index].proof.value_or(last && IsProvable(rollout) ? Proof::kRequired : Proof::kSampled);
}

std::string FleetOf(const Metadata& model, const ModelSpec& spec) {
  return spec.fleet.find('/') == std::string::npos ? model.namespace_ + "/" + spec.fleet : spec.fleet;
}

Key FleetKey(const std::string& fleet) {
  const size_t slash = fleet.find('/');
  return {kServingFleetKind, fleet.substr(0, slash), slash == std::string::npos ? "" : fleet.substr(slash + 1)};
}

ObservedFleet ToObserve(const ServingFleet& fleet) {
  const bool is_scaled = fleet.spec.autoscaling.has_value();
  return {fleet.metadata.uid, fleet.metadata.generation,
          is_scaled ? fleet.status.autoscale.desired : fleet.spec.replicas_min};
}

bool Allows(const ServingFleet& fleet, const std::string& namespace_) {
  const AllowedNamespaces& allowed = fleet.spec.allowed_namespaces;
  return allowed.all || namespace_ == fleet.metadata.namespace_ ||
         std::ranges::find(allowed.names, namespace_) != allowed.names.end();
}

std::string ToString(const Key& key) { return fmt::format("{} {}/{}", key.kind, key.namespace_, key.name); }

}  // namespace longshore::api
