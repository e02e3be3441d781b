// The gRPC service of the Open Inference Protocol.
#pragma once

#include <string>

#include "common/net/grpc_server/service.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/oip/grpc_stream.h"
#include "serving-node/frontend/oip/methods.h"

namespace longshore::frontend::oip {

// An overloaded node rejects an inference before it is parsed.
class GrpcService final {
 public:
  // `methods` must outlive the service. The protocol of the options is not used.
  GrpcService(const Methods& methods, CallOptions options);

  // Adds the methods, which use this object.
  void AddTo(grpc_server::Service& service);

  // Ends each stream after its current answer, at once if it has none, and all later ones: the server is draining.
  void EndStreams() { streams_.End(); }

 private:
  void ModelInfer(const std::shared_ptr<Prediction>& prediction) const;
  void AddModels(grpc_server::Service& service) const;
  void AddRepository(grpc_server::Service& service) const;
  void AddServer(grpc_server::Service& service) const;

  const Methods& methods_;
  const CallOptions options_;
  Streams streams_;
};

}  // namespace longshore::frontend::oip
