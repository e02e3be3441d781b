#include "serving-node/routing/peer_service.h"

#include "common/net/grpc/unary_reactor.h"

namespace longshore::routing {

PeerService::PeerService(std::string fleet, std::function<PeerLoad()> load, GetStateFunction state,
                         rpc::AnswerTime answer_time)
    : fleet_(std::move(fleet)), load_(std::move(load)), state_(std::move(state)), deadlines_(answer_time) {}

::grpc::Status PeerService::CheckFleet(const std::string& fleet_of_caller) const {
  if (fleet_of_caller == fleet_) return ::grpc::Status::OK;
  return {::grpc::StatusCode::FAILED_PRECONDITION,
          fmt::format("this node belongs to the fleet {}, not to {}", fleet_, fleet_of_caller)};
}

::grpc::ServerUnaryReactor* PeerService::GetLoad(::grpc::CallbackServerContext* context,
                                                 const peer::LoadRequest* request, peer::LoadReply* reply) {
  const ::grpc::Status same_fleet = CheckFleet(request->fleet());
  if (same_fleet.ok()) {
    const PeerLoad load = load_();
    reply->set_running(load.running);
    reply->set_queued(load.queued);
    reply->set_concurrent_runs_max(load.concurrent_runs_max);
  }
  return rpc::FinishCall(context, deadlines_, same_fleet, reply->ByteSizeLong());
}

::grpc::ServerUnaryReactor* PeerService::GetState(::grpc::CallbackServerContext* context,
                                                  const peer::StateRequest* request, peer::StateReply* reply) {
  ::grpc::Status status = CheckFleet(request->fleet());
  const auto state = status.ok() && state_ ? state_() : nullptr;
  if (state != nullptr) {
    *reply->mutable_state() = *state;
  } else if (status.ok()) {
    status = {::grpc::StatusCode::NOT_FOUND, "this node has not received its desired state yet"};
  }
  return rpc::FinishCall(context, deadlines_, status, reply->ByteSizeLong());
}

}  // namespace longshore::routing
