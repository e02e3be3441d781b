#include "controller/plan/plan.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "controller/api/format.h"

namespace longshore::plan {
namespace {

// Refused at once by the node itself, without anybody's help: half of the requests failing is no matter of statistics.
constexpr double kGuardErrorRate = 0.5;
constexpr double kGuardErrorRateLeast = 0.05;
constexpr int64_t kGuardRequestsMin = 50;
constexpr int64_t kControllerSilenceMaxMs = 10 * 60 * 1000;
constexpr double kDriftSample = 0.05;

// With an objective, ten times the budget is enough for the guard.
double GuardErrorRate(const api::Slo& slo) {
  return slo.error_rate ? std::clamp(10 * *slo.error_rate, kGuardErrorRateLeast, kGuardErrorRate) : kGuardErrorRate;
}

control::Guard BuildGuard(const api::ModelSpec& spec) {
  control::Guard guard;
  guard.set_non_finite(spec.validation.non_finite_reject);
  guard.set_error_rate_max(GuardErrorRate(spec.slo));
  guard.set_errors_min_requests(kGuardRequestsMin);
  guard.set_crashes(true);
  guard.set_controller_silence_max_ms(kControllerSilenceMaxMs);
  return guard;
}

control::VersionState BuildVersion(const api::Model& model, const rollout::VersionPlacement& placed,
                                   const std::string& node) {
  control::VersionState version;
  version.set_version(placed.version);
  version.set_weight_bp(placed.weight_bp);
  version.set_load(std::find(placed.nodes.begin(), placed.nodes.end(), node) != placed.nodes.end());
  version.set_trial(placed.trial && version.load());
  const bool stable = placed.version == model.status.stable_version;
  version.set_role(placed.candidate ? control::CANDIDATE : stable ? control::STABLE : control::EXTRA);
  if (placed.candidate) *version.mutable_guard() = BuildGuard(model.spec);
  const auto digest = model.status.digests.find(placed.version);
  if (digest != model.status.digests.end()) version.set_digest(digest->second);
  return version;
}

control::Assignment BuildAssignment(const api::Rollout& rollout, const std::string& salt) {
  control::Assignment assignment;
  switch (rollout.assignment_by) {
    case api::AssignmentBy::kRequest: assignment.set_by(control::Assignment::REQUEST); break;
    case api::AssignmentBy::kHeader: assignment.set_by(control::Assignment::HEADER); break;
    case api::AssignmentBy::kCookie: assignment.set_by(control::Assignment::COOKIE); break;
  }
  assignment.set_key(rollout.assignment_key);
  assignment.set_salt(salt);
  return assignment;
}

control::Batching BuildBatching(const api::Batching& spec) {
  control::Batching batching;
  batching.set_max_batch_size(spec.max_batch_size);
  batching.set_max_delay_us(spec.max_delay.count());
  batching.set_max_queue(spec.max_queue);
  for (const int size : spec.allowed_batch_sizes) batching.add_allowed_batch_sizes(size);
  return batching;
}

control::Validation BuildValidation(const api::ModelSpec& spec) {
  control::Validation validation;
  validation.set_golden_set(spec.validation.golden_set);
  validation.set_metric(spec.validation.metric);
  validation.set_minimum(spec.validation.minimum);
  validation.set_relative_tolerance(spec.validation.relative_tolerance);
  validation.set_non_finite_reject(spec.validation.non_finite_reject);
  validation.set_deterministic(spec.validation.deterministic);
  validation.set_drift_max(spec.rollout.drift.max.value_or(0));
  validation.set_drift_sample(kDriftSample);
  return validation;
}

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

control::ModelState BuildModelState(const api::Model& model, const rollout::Placement& placement,
                                    const std::string& node) {
  control::ModelState state;
  state.set_served_name(model.spec.served_name);
  state.set_object(model.metadata.namespace_ + "/" + model.metadata.name);
  state.set_source_uri(model.spec.source_uri);
  for (const rollout::VersionPlacement& placed : placement.versions)
    *state.add_versions() = BuildVersion(model, placed, node);
  for (const auto& [label, version] : model.spec.version_labels) (*state.mutable_labels())[label] = version;
  *state.mutable_assignment() = BuildAssignment(model.spec.rollout, placement.salt);
  *state.mutable_batching() = BuildBatching(model.spec.batching);
  *state.mutable_validation() = BuildValidation(model.spec);
  state.set_skip_warm_up(!model.spec.warm_up);
  if (model.spec.slo.latency_target)
    state.set_slo_latency_ms(std::max<int64_t>(1, Milliseconds(*model.spec.slo.latency_target)));
  return state;
}

control::FleetState BuildFleetState(const api::ServingFleet& fleet, std::vector<control::Peer> peers) {
  std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.node() < b.node(); });
  control::FleetState state;
  state.set_fleet(fleet.metadata.namespace_ + "/" + fleet.metadata.name);
  for (control::Peer& peer : peers) *state.add_peers() = std::move(peer);
  state.set_concurrent_runs_max(fleet.spec.concurrent_runs_max);
  state.set_connection_age_max_ms(Milliseconds(fleet.spec.connection_age_max));
  state.set_simulated_run_ms(Milliseconds(fleet.spec.simulated_run));
  return state;
}

bool Same(const control::ModelState& a, const control::ModelState& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

Plan MakePlan(const api::Model& model, const rollout::Decision& decision, const std::vector<NodeHolds>& holds) {
  api::Model next = model;
  next.status = decision.status;
  Plan sends;
  for (const NodeHolds& held : holds) {
    control::ModelState wanted = BuildModelState(next, decision.placement, held.node);
    if (held.state && Same(*held.state, wanted)) continue;
    sends.push_back(SendModel{held.node, model.spec.served_name, std::move(wanted)});
  }
  Plan plan;
  const bool write = api::ToJson(decision.status) != api::ToJson(model.status);
  if (write && !decision.safety) plan.push_back(WriteStatus{decision.status});
  plan.insert(plan.end(), sends.begin(), sends.end());
  if (write && decision.safety) plan.push_back(WriteStatus{decision.status});
  return plan;
}

Plan MakeRemoval(const std::string& served_name, const std::vector<NodeHolds>& holds) {
  Plan plan;
  for (const NodeHolds& held : holds) {
    if (held.state) plan.push_back(SendModel{held.node, served_name, std::nullopt});
  }
  return plan;
}

}  // namespace longshore::plan
