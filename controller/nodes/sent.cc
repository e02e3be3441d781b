#include "controller/nodes/sent.h"

#include <utility>

#include "common/base/error.h"
#include "common/node_contract/state_digest.h"

namespace longshore::nodes {
namespace {

std::pair<int64_t, int64_t> PositionOf(const control::Report& report) { return {report.epoch(), report.revision()}; }

}  // namespace

std::shared_ptr<const FleetPart> MakeFleetPart(control::FleetState state) {
  std::string digest = node_contract::DigestOfPart(node_contract::SerializePart(state));
  return std::make_shared<const FleetPart>(FleetPart{std::move(state), std::move(digest)});
}

std::shared_ptr<const SentModel> MakeSentModel(const control::ModelState& model) {
  SentModel sent{node_contract::DigestOfPart(node_contract::SerializePart(model)), {}, {}};
  for (const control::VersionState& version : model.versions()) {
    if (!version.load() || version.weight_bp() == 0) continue;
    sent.answering.push_back(version.version());
    if (version.ready_size() > 0) sent.elsewhere.push_back(version.version());
  }
  return std::make_shared<const SentModel>(std::move(sent));
}

std::string Sent::DigestOfModel(const std::string& served_name) const {
  const auto found = models.find(served_name);
  return found == models.end() ? "" : found->second->digest;
}

void ApplyMessage(const control::FromController& message, const std::shared_ptr<const FleetPart>& fleet, Sent& sent) {
  switch (message.message_case()) {
    case control::FromController::kSnapshot:
      for (const auto& [served_name, _] : sent.models)
        sent.removed[served_name] = {message.epoch(), message.revision()};
      sent.models.clear();
      for (const control::ModelState& model : message.snapshot().state().models()) {
        sent.models[model.served_name()] = MakeSentModel(model);
        sent.removed.erase(model.served_name());
        sent.changed[model.served_name()] = {message.epoch(), message.revision()};
      }
      sent.fleet = fleet;
      break;
    case control::FromController::kChange:
      sent.changed[message.change().served_name()] = {message.epoch(), message.revision()};
      if (message.change().has_model()) {
        sent.models[message.change().served_name()] = MakeSentModel(message.change().model());
      } else {
        sent.models.erase(message.change().served_name());
        sent.removed[message.change().served_name()] = {message.epoch(), message.revision()};
      }
      break;
    case control::FromController::kFleet:
    case control::FromController::kPeers: sent.fleet = fleet; break;
    case control::FromController::kDrain:
    case control::FromController::kHeartbeat:
    case control::FromController::kCertificate:
    case control::FromController::kMoveConnections:
    case control::FromController::MESSAGE_NOT_SET: return;
  }
  CHECK(sent.fleet != nullptr);
  sent.epoch = message.epoch();
  sent.revision = message.revision();
}

bool IsBeforeRemoval(const control::Report& report, const std::string& served_name, const Sent& sent) {
  const auto removed = sent.removed.find(served_name);
  return removed != sent.removed.end() && PositionOf(report) < removed->second;
}

bool IsAfterChange(const control::Report& report, const std::string& served_name, const Sent& sent) {
  const auto changed = sent.changed.find(served_name);
  return changed == sent.changed.end() || PositionOf(report) >= changed->second;
}

void ForgetDone(const control::Report& report, Sent& sent) {
  const auto is_done = [&](const auto& entry) { return entry.second <= PositionOf(report); };
  std::erase_if(sent.removed, is_done);
  std::erase_if(sent.changed, is_done);
}

std::string DigestOf(const Sent& sent) {
  node_contract::StateDigest digest(sent.epoch, sent.revision, sent.fleet->digest);
  for (const auto& [_, model] : sent.models) digest.Add(model->digest);
  return digest.Hex();
}

}  // namespace longshore::nodes
