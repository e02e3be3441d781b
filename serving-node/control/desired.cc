#include "serving-node/control/desired.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/node_contract/peers_change.h"

namespace longshore::control {
namespace {

std::pair<int64_t, int64_t> Number(const DesiredState& state) { return {state.epoch(), state.revision()}; }

Status CheckModel(const ModelState& model) {
  if (model.served_name().empty()) return InvalidArgument("a model has no served name");
  std::set<int64_t> seen;
  int64_t weights = 0;
  for (const VersionState& version : model.versions()) {
    if (!seen.insert(version.version()).second) {
      return InvalidArgument("model \"{}\" has version {} twice", model.served_name(), version.version());
    }
    if (version.weight_bp() < 0) {
      return InvalidArgument("model \"{}\" version {} has the negative weight {}", model.served_name(),
                             version.version(), version.weight_bp());
    }
    weights += version.weight_bp();
  }
  if (weights == 0 || weights == 10000) return {};
  return InvalidArgument("the weights of model \"{}\" add up to {}, not to 10000", model.served_name(), weights);
}

Status CheckState(const DesiredState& state, const std::string& fleet) {
  if (state.fleet().fleet() != fleet) {
    return FailedPrecondition("this node belongs to fleet {}, not to fleet {}", fleet, state.fleet().fleet());
  }
  std::set<std::string> names;
  for (const ModelState& model : state.models()) {
    RETURN_IF_ERROR(CheckModel(model));
    if (!names.insert(model.served_name()).second)
      return InvalidArgument("model \"{}\" occurs twice in the state", model.served_name());
  }
  return {};
}

Status CheckOrder(const std::optional<DesiredState>& held, const FromController& message) {
  if (!held) return {};
  const std::pair number(message.epoch(), message.revision());
  if (number > Number(*held) || (message.has_snapshot() && number == Number(*held))) return {};
  return Aborted("epoch {} revision {} is not newer than epoch {} revision {}, which this node holds", message.epoch(),
                 message.revision(), held->epoch(), held->revision());
}

Status Replace(DesiredState* state, const ModelChange& change) {
  if (change.has_model() && change.model().served_name() != change.served_name()) {
    return InvalidArgument("a change of model \"{}\" contains model \"{}\"", change.served_name(),
                           change.model().served_name());
  }
  auto* models = state->mutable_models();
  const auto same = [&change](const ModelState& model) { return model.served_name() == change.served_name(); };
  models->erase(std::remove_if(models->begin(), models->end(), same), models->end());
  if (change.has_model()) *models->Add() = change.model();
  std::ranges::sort(*models, {}, &ModelState::served_name);
  return {};
}

Result<DesiredState> Changed(const std::optional<DesiredState>& held, const FromController& message) {
  if (message.has_snapshot()) return message.snapshot().state();
  if (!held) return FailedPrecondition("a change arrived before the first snapshot");
  DesiredState state = *held;
  if (message.has_fleet()) {
    *state.mutable_fleet() = message.fleet();
  } else if (message.has_peers()) {
    RETURN_IF_ERROR(node_contract::ApplyPeers(message.peers(), state.mutable_fleet()));
  } else if (message.has_change()) {
    RETURN_IF_ERROR(Replace(&state, message.change()));
  } else {
    return InvalidArgument("the controller sent a message without content");
  }
  return state;
}

}  // namespace

Result<DesiredState> ApplyMessage(const std::optional<DesiredState>& held, const FromController& message,
                                  const std::string& fleet) {
  RETURN_IF_ERROR(CheckOrder(held, message));
  ASSIGN_OR_RETURN(DesiredState state, Changed(held, message));
  state.set_epoch(message.epoch());
  state.set_revision(message.revision());
  RETURN_IF_ERROR(CheckState(state, fleet));
  return state;
}

Result<DesiredState> FromPeer(DesiredState of_peer, const std::string& fleet) {
  RETURN_IF_ERROR(CheckState(of_peer, fleet));
  of_peer.set_revision(0);
  for (ModelState& model : *of_peer.mutable_models()) {
    for (VersionState& version : *model.mutable_versions()) {
      if (version.role() != STABLE) version.set_load(false);
    }
  }
  return of_peer;
}

}  // namespace longshore::control
