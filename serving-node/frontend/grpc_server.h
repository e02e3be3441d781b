// TensorFlow Serving's gRPC API (PredictionService, ModelService) and grpc.health.v1 on one listener.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

struct GrpcOptions {
  std::string listen = {};       // "host:port" (port 0: any free one) or "unix:/path". Not used with listen_fd.
  int listen_fd = -1;            // A listening socket to take over instead; owned by the server from then on.
  routing::Protocol protocol = routing::Protocol::kGrpc;  // kPeer for the listener of other nodes.
  std::string node = {};         // Sent as metadata x-longshore-node.
  bool managed = false;          // Reload requests are refused.
  int64_t connection_age_max_ms = 0;  // Older connections are asked to reconnect (GOAWAY, jittered); 0: never.
  std::vector<::grpc::Service*> extra_services = {};  // Outlive the server.
};

// Thread-safe. Every answer of Predict carries the initial metadata x-longshore-version and x-longshore-node.
class GrpcServer {
 public:
  // Predictor and catalog outlive the server. FailedPrecondition naming the address when it is in use.
  static Result<std::unique_ptr<GrpcServer>> Start(GrpcOptions options, routing::Predictor& predictor,
                                                   const Catalog& catalog);
  virtual ~GrpcServer() = default;  // Shuts down at once; use Drain first where requests matter.

  virtual int port() const = 0;       // 0 for a unix socket.
  virtual int listen_fd() const = 0;  // -1 once draining.
  virtual size_t connections() const = 0;

  // What grpc.health.v1 answers, for "" and both services. False at the start.
  virtual void SetServing(bool serving) = 0;

  // Accepts no more and returns when no connection is left: each ends by its age, gracefully. No timer decides.
  // Requires: connection_age_max_ms > 0, or clients that leave by themselves.
  virtual void Drain() = 0;
};

}  // namespace longshore::frontend
