// The gRPC service by which other nodes of the fleet ask this one about its load: GrpcOptions::extra_services of the
// peer listener. Predictions of peers take the frontend's way.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "longshore/peer.grpc.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::routing {

class PeerService final : public peer::Peer::CallbackService {
 public:
  // `load` is called on gRPC's threads and must not block.
  PeerService(std::string fleet, std::function<PeerLoad()> load);

  // FAILED_PRECONDITION when the caller is of another fleet.
  ::grpc::ServerUnaryReactor* GetLoad(::grpc::CallbackServerContext* context, const peer::LoadRequest* request,
                                      peer::LoadReply* reply) override;

 private:
  const std::string fleet_;
  const std::function<PeerLoad()> load_;
};

}  // namespace longshore::routing
