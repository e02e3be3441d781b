// The gRPC service through which other nodes of the fleet ask for the load and the desired state of this node. It is
// added to the peer listener (GrpcOptions::extra_services). Forwarded predictions use the PredictionService of the
// frontend.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/net/grpc/answer_deadlines.h"
#include "longshore/peer.grpc.pb.h"
#include "serving-node/routing/forwarder.h"

namespace longshore::routing {

class PeerService final : public peer::Peer::CallbackService {
 public:
  using GetStateFunction = std::function<std::shared_ptr<const control::DesiredState>()>;

  // `load` and `state` are called on gRPC's threads and must not block. `state` may be empty, and may return null if
  // this node has no state yet. A call ends if its caller does not read the answer within the answer time.
  PeerService(std::string fleet, std::function<PeerLoad()> load, GetStateFunction state = {},
              rpc::AnswerTime answer_time = {});

  // Both reply FAILED_PRECONDITION if the caller belongs to another fleet; GetState replies NOT_FOUND if this node has
  // no state yet.
  ::grpc::ServerUnaryReactor* GetLoad(::grpc::CallbackServerContext* context, const peer::LoadRequest* request,
                                      peer::LoadReply* reply) override;
  ::grpc::ServerUnaryReactor* GetState(::grpc::CallbackServerContext* context, const peer::StateRequest* request,
                                       peer::StateReply* reply) override;

 private:
  ::grpc::Status CheckFleet(const std::string& fleet_of_caller) const;

  const std::string fleet_;
  const std::function<PeerLoad()> load_;
  const GetStateFunction state_;
  rpc::AnswerDeadlines deadlines_;
};

}  // namespace longshore::routing
