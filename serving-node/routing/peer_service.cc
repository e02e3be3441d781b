#include "serving-node/routing/peer_service.h"

#include "common/net/grpc_server/messages.h"

namespace longshore::routing {

using peer::LoadReply;
using peer::LoadRequest;
using peer::StateReply;
using peer::StateRequest;

PeerService::PeerService(std::string fleet, std::function<PeerLoad()> load, GetStateFunction state)
    : fleet_(std::move(fleet)), load_(std::move(load)), state_(std::move(state)) {}

Status PeerService::CheckFleet(const std::string& fleet_of_caller) const {
  if (fleet_of_caller == fleet_) return {};
  return FailedPrecondition("this node belongs to the fleet {}, not to {}", fleet_, fleet_of_caller);
}

Result<LoadReply> PeerService::GetLoad(const LoadRequest& request) const {
  RETURN_IF_ERROR(CheckFleet(request.fleet()));
  const PeerLoad load = load_();
  LoadReply reply;
  reply.set_running(load.running);
  reply.set_queued(load.queued);
  reply.set_concurrent_runs_max(load.concurrent_runs_max);
  return reply;
}

Result<StateReply> PeerService::GetState(const StateRequest& request) const {
  RETURN_IF_ERROR(CheckFleet(request.fleet()));
  const auto state = state_ ? state_() : nullptr;
  if (state == nullptr) return NotFound("this node has not received its desired state yet");
  StateReply reply;
  *reply.mutable_state() = *state;
  return reply;
}

void PeerService::AddTo(grpc_server::Service& service) const {
  const std::string prefix = "/longshore.peer.Peer/";
  service.Add(prefix + "GetLoad", grpc_server::Unary<LoadRequest, LoadReply>(
                                      [this](const LoadRequest& request) { return GetLoad(request); }));
  service.Add(prefix + "GetState", grpc_server::Unary<StateRequest, StateReply>(
                                       [this](const StateRequest& request) { return GetState(request); }));
}

}  // namespace longshore::routing
