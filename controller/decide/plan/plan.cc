#include "controller/decide/plan/plan.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/node_contract/homes.h"
#include "common/node_contract/state_digest.h"
#include "controller/api/format.h"
#include "controller/api/units.h"
#include "controller/decide/analysis/analysis.h"

namespace longshore::plan {
namespace {

// The error rate at which a node stops a version without comparing it with stable: where stable has no requests on the
// node, where users are assigned, so that the requests of the versions cannot be compared, and on nodes of release 0.1.
constexpr double kGuardErrorRate = 0.5;
constexpr int64_t kGuardRequestsMin = 50;
constexpr double kDriftSample = 0.05;
constexpr int64_t kReportAgainSoonMs = 1000;
constexpr int64_t kReportAgainMs = 30'000;

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// The nodes share the guards' part of the probability of a false rollback.
control::Guard BuildGuard(const api::Model& model, size_t nodes) {
  const api::ModelSpec& spec = model.spec;
  control::Guard guard;
  if (!analysis::IsKeyed(spec.rollout)) {
    guard.set_alpha(analysis::kAlphaGuards / static_cast<double>(std::max<size_t>(nodes, 1)));
  }
  guard.set_paused(spec.rollout.paused || model.status.rollout.paused_by_command);
  guard.set_non_finite(spec.validation.non_finite_reject);
  guard.set_error_rate_max(kGuardErrorRate);
  guard.set_errors_min_requests(kGuardRequestsMin);
  guard.set_crashes(true);
  guard.set_controller_silence_max_ms(Milliseconds(spec.rollout.controller_silence_max));
  return guard;
}

// The settings of the phase without weight; nullptr in every other phase, and if pairs are made in none.
const api::Shadow* ShadowNow(const api::Model& model) {
  const auto& shadow = model.spec.rollout.shadow;
  return shadow && IsWithoutWeight(model.status.rollout.phase) ? &*shadow : nullptr;
}

// Whether the placed version is a candidate that is to be judged before it gets a share of the requests, and has none
// yet, or one that waits after such a rollout until nodes have the memory for it. Other versions need their memory
// more, also one that clients name by a label.
bool GivesWay(const api::Model& model, const rollout::VersionPlacement& placed) {
  using api::RolloutPhase, api::Strategy;
  const api::Rollout& policy = model.spec.rollout;
  const api::RolloutStatus& rollout = model.status.rollout;
  if (!placed.candidate || placed.weight_bp > 0 || rollout.stable == 0 || rollout.undo_generation != 0) return false;
  const auto names_it = [&](const auto& label) { return label.second == placed.version; };
  if (std::ranges::any_of(model.spec.version_labels, names_it)) return false;
  const bool is_judged_first = policy.strategy == Strategy::kCanary ? policy.shadow && !rollout.shadow_done
                                                                    : policy.strategy != Strategy::kImmediate;
  const RolloutPhase phase = rollout.phase;
  return is_judged_first && (phase == RolloutPhase::kValidating || phase == RolloutPhase::kLoading ||
                             phase == RolloutPhase::kRolledBack || IsWithoutWeight(phase));
}

void SetMemoryTerms(const api::Model& model, const rollout::VersionPlacement& placed, control::VersionState& version) {
  if (!GivesWay(model, placed)) return;
  version.set_gives_way(true);
  const auto& shadow = model.spec.rollout.shadow;
  if (shadow && !shadow->memory_max.empty()) version.set_memory_bytes_max(api::BytesOf(shadow->memory_max));
}

// `nodes`: the number of nodes that hold stable, and so may hold the candidate.
control::VersionState BuildVersion(const api::Model& model, const rollout::VersionPlacement& placed, size_t nodes) {
  control::VersionState version;
  version.set_version(placed.version);
  version.set_weight_bp(placed.weight_bp);
  for (const std::string& node : placed.ready) version.add_ready(node);
  const bool stable = placed.version == model.status.stable_version;
  version.set_role(placed.candidate ? control::CANDIDATE : stable ? control::STABLE : control::EXTRA);
  const auto& request = model.status.golden_set.request;
  if (stable && request && !request->ended) version.set_golden_request(request->id);
  if (placed.candidate) *version.mutable_guard() = BuildGuard(model, nodes);
  if (const api::Shadow* shadow = ShadowNow(model)) version.set_shadow(placed.candidate && shadow->share > 0);
  SetMemoryTerms(model, placed, version);
  const auto digest = model.status.digests.find(placed.version);
  if (digest != model.status.digests.end()) version.set_digest(digest->second);
  return version;
}

// Whether `source` counts as another source than that of the spec. Two folders never do, because all versions move to a
// changed folder. Otherwise the digests decide, because the versions of an archive keep their archive.
bool IsElsewhere(const api::Source& source, const api::ModelSpec& spec) {
  const bool folders = source.sha256.empty() && spec.source_sha256.empty();
  return !folders && source.sha256 != spec.source_sha256;
}

void AddOtherSources(const api::Model& model, control::ModelState& state) {
  for (const control::VersionState& version : state.versions()) {
    const auto source = model.status.sources.find(version.version());
    if (source == model.status.sources.end() || !IsElsewhere(source->second, model.spec)) continue;
    control::OtherSource& other = *state.add_other_sources();
    other.set_version(version.version());
    other.set_uri(source->second.uri);
    other.set_sha256(source->second.sha256);
  }
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

control::MatchCondition BuildCondition(const api::MatchCondition& spec) {
  using api::MatchOperator, api::MatchSource, control::MatchCondition;
  static const std::map<MatchSource, MatchCondition::Source> kSources = {
      {MatchSource::kHeader, MatchCondition::HEADER},
      {MatchSource::kCookie, MatchCondition::COOKIE},
      {MatchSource::kClaim, MatchCondition::CLAIM},
      {MatchSource::kClient, MatchCondition::CLIENT}};
  static const std::map<MatchOperator, MatchCondition::Operator> kOperators = {
      {MatchOperator::kExact, MatchCondition::EXACT},      {MatchOperator::kPrefix, MatchCondition::PREFIX},
      {MatchOperator::kSuffix, MatchCondition::SUFFIX},    {MatchOperator::kIn, MatchCondition::IN},
      {MatchOperator::kPresent, MatchCondition::PRESENT},  {MatchOperator::kRegex, MatchCondition::REGEX},
      {MatchOperator::kContains, MatchCondition::CONTAINS}};
  MatchCondition condition;
  condition.set_source(kSources.at(spec.source));
  condition.set_key(spec.key);
  condition.set_op(kOperators.at(spec.op));
  condition.mutable_values()->Add(spec.values.begin(), spec.values.end());
  return condition;
}

control::Route BuildRoute(const api::Route& spec) {
  control::Route route;
  route.set_name(spec.name);
  for (const api::MatchCondition& condition : spec.conditions) *route.add_conditions() = BuildCondition(condition);
  route.set_to(spec.to_candidate ? control::CANDIDATE : control::STABLE);
  return route;
}

control::Batching BuildBatching(const api::Batching& spec) {
  control::Batching batching;
  batching.set_max_batch_size(spec.max_batch_size);
  batching.set_max_delay_us(spec.max_delay.count());
  batching.set_max_queue(spec.max_queue);
  for (const int size : spec.allowed_batch_sizes) batching.add_allowed_batch_sizes(size);
  return batching;
}

control::Validation BuildValidation(const api::Model& model) {
  const api::ModelSpec& spec = model.spec;
  control::Validation validation;
  validation.set_golden_set(spec.validation.golden_set);
  validation.set_metric(spec.validation.metric);
  validation.set_minimum(spec.validation.minimum);
  validation.set_relative_tolerance(spec.validation.relative_tolerance);
  validation.set_golden_every_ms(Milliseconds(spec.validation.golden_every));
  validation.set_non_finite_reject(spec.validation.non_finite_reject);
  validation.set_deterministic(spec.validation.deterministic);
  validation.set_drift_max(spec.rollout.drift.max.value_or(0));
  validation.set_drift_sample(kDriftSample);
  // 0 means the node's default, and a negative number no pairs.
  const api::Shadow* shadow = ShadowNow(model);
  const double share = shadow != nullptr ? shadow->share : spec.rollout.pairs.share;
  const double budget = shadow != nullptr ? shadow->budget : spec.rollout.pairs.budget;
  validation.set_pair_share(share > 0 ? share : -1);
  validation.set_pair_budget(budget > 0 ? budget : -1);
  if (spec.rollout.shadow) {
    for (const api::OutputRule& rule : spec.rollout.shadow->compare)
      *validation.add_output_rules() = analysis::ToProto(rule);
    validation.set_keep_worst(spec.rollout.shadow->keep_worst);
  }
  return validation;
}

// Whether people can try the candidate by the label or the header: in the phase Preview, and with strategy BlueGreen
// also until all nodes have it and it gets all requests.
bool HasPreview(const api::Model& model) {
  const api::RolloutPhase phase = model.status.rollout.phase;
  const bool is_promoting =
      phase == api::RolloutPhase::kPromoting && model.spec.rollout.strategy == api::Strategy::kBlueGreen;
  return phase == api::RolloutPhase::kPreview || is_promoting;
}

// The rule comes after those of the user, so that it does not send requests to the candidate which the user keeps at
// stable.
void AddPreview(const api::Model& model, control::ModelState& state) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (!HasPreview(model)) return;
  (*state.mutable_labels())[api::kPreviewName] = rollout.candidate;
  control::Route& route = *state.add_routes();
  route.set_name(api::kPreviewName);
  route.set_to(control::CANDIDATE);
  control::MatchCondition& condition = *route.add_conditions();
  condition.set_source(control::MatchCondition::HEADER);
  condition.set_key(model.spec.rollout.preview.header);
  condition.set_op(control::MatchCondition::PRESENT);
}

}  // namespace

Blueprint MakeBlueprint(const api::Model& model, rollout::Placement placement) {
  control::ModelState state;
  state.set_served_name(model.spec.served_name);
  state.set_object(model.metadata.namespace_ + "/" + model.metadata.name);
  state.set_source_uri(model.spec.source_uri);
  state.set_source_sha256(model.spec.source_sha256);
  size_t nodes = 0;
  for (const rollout::VersionPlacement& placed : placement.versions) nodes = std::max(nodes, placed.nodes.size());
  for (const rollout::VersionPlacement& placed : placement.versions)
    *state.add_versions() = BuildVersion(model, placed, nodes);
  AddOtherSources(model, state);
  for (const auto& [label, version] : model.spec.version_labels) (*state.mutable_labels())[label] = version;
  *state.mutable_assignment() = BuildAssignment(model.spec.rollout, placement.salt);
  for (const api::Route& route : model.spec.rollout.routes) *state.add_routes() = BuildRoute(route);
  AddPreview(model, state);
  *state.mutable_batching() = BuildBatching(model.spec.batching);
  *state.mutable_validation() = BuildValidation(model);
  state.set_skip_warm_up(!model.spec.warm_up);
  if (model.spec.slo.latency_target)
    state.set_slo_latency_ms(std::max<int64_t>(1, Milliseconds(*model.spec.slo.latency_target)));
  return {state.SerializeAsString(), std::move(placement)};
}

control::ModelState StateFor(const Blueprint& blueprint, const std::string& node) {
  control::ModelState state;
  CHECK(state.ParseFromString(blueprint.state));
  for (int i = 0; i < state.versions_size(); ++i) {
    const rollout::VersionPlacement& placed = blueprint.placement.versions[static_cast<size_t>(i)];
    const bool load = std::ranges::binary_search(placed.nodes, node);
    state.mutable_versions(i)->set_load(load);
    state.mutable_versions(i)->set_rehearse(load && placed.rehearse);
  }
  return state;
}

std::set<std::string> RecipientNodes(const std::string& served_name, const rollout::Placement& placement,
                                     const rollout::NodeNames& peers) {
  std::set<std::string> nodes;
  for (const rollout::VersionPlacement& placed : placement.versions) {
    nodes.insert(placed.nodes.begin(), placed.nodes.end());
  }
  for (const size_t home :
       node_contract::Nearest(peers.hashes, node_contract::HashOfName(served_name), node_contract::kHomesMax))
    nodes.insert(peers.names[home]);
  return nodes;
}

control::FleetState BuildFleetState(const api::ServingFleet& fleet, std::vector<control::Peer> peers) {
  std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.node() < b.node(); });
  control::FleetState state;
  state.set_fleet(fleet.metadata.namespace_ + "/" + fleet.metadata.name);
  for (control::Peer& peer : peers) *state.add_peers() = std::move(peer);
  state.set_concurrent_runs_max(fleet.spec.concurrent_runs_max);
  state.set_connection_age_max_ms(Milliseconds(fleet.spec.connection_age_max));
  state.set_simulated_run_ms(Milliseconds(fleet.spec.simulated_run));
  // If reports decide the number of nodes, nodes report often: a missing report must not look like an idle node.
  const bool scales_by_reports = fleet.spec.autoscaling && fleet.spec.autoscaling->prometheus_url.empty();
  state.set_report_again_ms(scales_by_reports ? kReportAgainSoonMs : kReportAgainMs);
  return state;
}

control::FromController ChangeOf(const control::FleetState& before, const control::FleetState& now) {
  control::FromController message;
  control::FleetState rest = before;
  *rest.mutable_peers() = now.peers();
  if (!google::protobuf::util::MessageDifferencer::Equals(rest, now)) {
    *message.mutable_fleet() = now;
    return message;
  }
  std::map<std::string_view, std::string_view> left;
  for (const control::Peer& peer : before.peers()) left.emplace(peer.node(), peer.address());
  control::PeersChange& change = *message.mutable_peers();
  for (const control::Peer& peer : now.peers()) {
    const auto known = left.extract(peer.node());
    if (known.empty() || known.mapped() != peer.address()) *change.add_set() = peer;
  }
  for (const auto& [node, _] : left) change.add_left(std::string(node));
  if (change.ByteSizeLong() >= now.ByteSizeLong()) *message.mutable_fleet() = now;
  return message;
}

Plan MakePlan(const api::Model& model, const rollout::Decision& decision, const std::vector<NodeHolds>& holds) {
  api::Model next = model;
  next.status = decision.status;
  const Blueprint blueprint = MakeBlueprint(next, decision.placement);
  Plan sends;
  for (const NodeHolds& held : holds) {
    if (!held.recipient) {
      if (!held.digest.empty()) sends.push_back(SendModel{held.node, model.spec.served_name, std::nullopt});
      continue;
    }
    control::ModelState wanted = StateFor(blueprint, held.node);
    if (node_contract::DigestOfPart(node_contract::SerializePart(wanted)) == held.digest) continue;
    sends.push_back(SendModel{held.node, model.spec.served_name, std::move(wanted)});
  }
  Plan plan;
  const bool write = decision.status != model.status && api::ToJson(decision.status) != api::ToJson(model.status);
  if (write && !decision.safety) plan.push_back(WriteStatus{decision.status});
  plan.insert(plan.end(), std::make_move_iterator(sends.begin()), std::make_move_iterator(sends.end()));
  if (write && decision.safety) plan.push_back(WriteStatus{decision.status});
  return plan;
}

Plan MakeRemoval(const std::string& served_name, const std::vector<NodeHolds>& holds) {
  Plan plan;
  for (const NodeHolds& held : holds) {
    if (!held.digest.empty()) plan.push_back(SendModel{held.node, served_name, std::nullopt});
  }
  return plan;
}

}  // namespace longshore::plan
