// The gRPC service through which other nodes of the fleet ask for the load and the desired state of this node. It is
// added to the peer listener (GrpcOptions::add_methods). Forwarded predictions use the PredictionService of the
// frontend.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/net/grpc_server/service.h"
#include "longshore/peer.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::routing {

class PeerService {
 public:
  using GetStateFunction = std::function<std::shared_ptr<const control::DesiredState>()>;

  // `load` and `state` are called on threads of the server and must not block. `state` may be empty, and may return
  // null if this node has no state yet.
  PeerService(std::string fleet, std::function<PeerLoad()> load, GetStateFunction state = {});

  // Adds the methods, which use this object. Both reply FAILED_PRECONDITION if the caller belongs to another fleet;
  // GetState replies NOT_FOUND if this node has no state yet.
  void AddTo(grpc_server::Service& service) const;

 private:
  Status CheckFleet(const std::string& fleet_of_caller) const;
  Result<peer::LoadReply> GetLoad(const peer::LoadRequest& request) const;
  Result<peer::StateReply> GetState(const peer::StateRequest& request) const;

  const std::string fleet_;
  const std::function<PeerLoad()> load_;
  const GetStateFunction state_;
};

}  // namespace longshore::routing
