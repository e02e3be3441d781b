// TensorFlow Serving's gRPC API (PredictionService, ModelService) and grpc.health.v1 on one listener.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/grpc/credentials.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

struct GrpcOptions {
  std::string listen = {};  // "host:port" (port 0: any free one) or "unix:/path". Not used with listen_fd.
  int listen_fd = -1;       // A listening socket to take over instead; owned by the server from then on.
  int socket_fd = -1;  // Another, that answers alike: a unix socket beside a port. As listen_fd; may be the only one.
  routing::Protocol protocol = routing::Protocol::kGrpc;  // kPeer for the listener of other nodes.
  std::string node = {};            // Sent as metadata x-longshore-node, with x-longshore-version; "": neither is.
  bool check_method_names = false;  // A signature answers only to the method that it names.
  std::vector<std::string> channel_arguments = {};             // "name=value", a number where it reads as one.
  tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // Of the outputs of Predict.
  const RequestMeter* meter = nullptr;                         // Counts what comes in; null: nothing does.
  InFlight* in_flight = nullptr;                               // Where predictions need a place; null: nowhere.
  ReloadFunction reload = {};                                  // Empty: reload requests are refused.
  HomeDoor home = {};                                          // Of the listener of other nodes.
  int64_t connection_age_max_ms = 0;  // Older connections are asked to reconnect (GOAWAY, jittered); 0: never.
  int receive_bytes_max = 256 << 20;  // Of one request; a larger one is refused with RESOURCE_EXHAUSTED.
  int streams_max = 1000;             // Requests at once on one connection; more wait at the client.
  size_t connections_max = 10000;     // More wait in the system's backlog.
  // Of gRPC's buffers for all connections; near it, gRPC reads from them more slowly and closes idle ones. 0: no limit.
  size_t memory_bytes_max = size_t{4} << 30;
  rpc::CredentialsOptions credentials = {};           // TLS, and who may call. Health is left to the gate too.
  bool reflection = false;                            // Services and messages are told to whoever asks.
  std::vector<::grpc::Service*> extra_services = {};  // Outlive the server.
};

// Thread-safe. In a fleet the answers of PredictionService carry the initial metadata x-longshore-node and, where a
// version answered, x-longshore-version.
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

  // Accepts no more and returns when no connection is left: each ends by its age, gracefully. No timer decides. What
  // health says is up to the caller.
  // Requires: connection_age_max_ms > 0, or clients that leave by themselves.
  virtual void Drain() = 0;
};

}  // namespace longshore::frontend
