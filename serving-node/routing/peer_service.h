// The gRPC service by which other nodes of the fleet ask this one about its load and its state:
// GrpcOptions::extra_services of the peer listener. Predictions of peers take the frontend's way.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "longshore/peer.grpc.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::routing {

class PeerService final : public peer::Peer::CallbackService {
 public:
  using GetStateFunction = std::function<std::shared_ptr<const control::DesiredState>()>;

  // Both are called on gRPC's threads and must not block. `state` may be empty, or give null, when there is none.
  PeerService(std::string fleet, std::function<PeerLoad()> load, GetStateFunction state = {});

  // FAILED_PRECONDITION when the caller is of another fleet.
  ::grpc::ServerUnaryReactor* GetLoad(::grpc::CallbackServerContext* context, const peer::LoadRequest* request,
                                      peer::LoadReply* reply) override;
  ::grpc::ServerUnaryReactor* GetState(::grpc::CallbackServerContext* context, const peer::StateRequest* request,
                                       peer::StateReply* reply) override;

 private:
  ::grpc::Status CheckFleet(const std::string& fleet_of_caller) const;

  const std::string fleet_;
  const std::function<PeerLoad()> load_;
  const GetStateFunction state_;
};

}  // namespace longshore::routing
