#include "serving-node/routing/peer_service.h"

namespace longshore::routing {

PeerService::PeerService(std::string fleet, std::function<PeerLoad()> load)
    : fleet_(std::move(fleet)), load_(std::move(load)) {}

::grpc::ServerUnaryReactor* PeerService::GetLoad(::grpc::CallbackServerContext* context, const peer::LoadRequest* request,
                                                 peer::LoadReply* reply) {
  auto* reactor = context->DefaultReactor();
  if (request->fleet() != fleet_) {
    reactor->Finish({::grpc::StatusCode::FAILED_PRECONDITION,
                     fmt::format("this node is of the fleet {}, not of {}", fleet_, request->fleet())});
    return reactor;
  }
  const PeerLoad load = load_();
  reply->set_running(load.running);
  reply->set_queued(load.queued);
  reply->set_concurrent_runs_max(load.concurrent_runs_max);
  reactor->Finish(::grpc::Status::OK);
  return reactor;
}

}  // namespace longshore::routing
