// TensorFlow Serving's gRPC API (PredictionService, ModelService) and grpc.health.v1 on one listener.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/net/grpc/credentials.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

struct GrpcOptions {
  std::string listen = {};  // "host:port" (port 0: any free one) or "unix:/path". Not used with listen_fd.
  int listen_fd = -1;       // An existing listening socket to use instead; the server takes ownership.
  int socket_fd =
      -1;  // A second listening socket, such as a unix socket; the server takes ownership. May be the only one.
  routing::Protocol protocol = routing::Protocol::kGrpc;  // kPeer for the listener for other nodes.
  std::string node = {};            // Sent as metadata x-longshore-node, with x-longshore-version. "": neither is sent.
  bool check_method_names = false;  // Reject calls to a signature with another method name.
  std::vector<std::string> channel_arguments = {};             // "name=value"; a number if the value parses as one.
  tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // For the outputs of Predict.
  const RequestMeter* meter = nullptr;                         // Null: requests are not counted.
  InFlight* in_flight = nullptr;                               // Limits predictions; null: no limit.
  ReloadFunction reload = {};                                  // Empty: reload requests are rejected.
  HomeNode home = {};                                          // For the listener for other nodes.
  int64_t connection_age_max_ms = 0;  // Older connections are asked to reconnect (GOAWAY, jittered); 0: never.
  // How long the requests of such a connection may still take before it is closed. Drain waits for the age and then for
  // this time.
  std::chrono::milliseconds drain_timeout{600000};
  AnswerTime answer_time = {};        // A call ends if its client does not read the answer within this time.
  int receive_bytes_max = 256 << 20;  // Per request; larger ones are refused with RESOURCE_EXHAUSTED.
  int streams_max = 1000;             // Concurrent requests per connection; more wait at the client.
  size_t connections_max = 10000;     // More wait in the system's backlog.
  // For gRPC's buffers of all connections; near the limit, gRPC reads more slowly and closes idle connections. 0: no
  // limit.
  size_t memory_bytes_max = size_t{4} << 30;
  rpc::CredentialsOptions credentials = {};           // TLS and authentication, which also applies to health checks.
  bool reflection = false;                            // Enable gRPC server reflection.
  std::vector<::grpc::Service*> extra_services = {};  // Must outlive the server.
};

// Thread-safe. If GrpcOptions::node is set, answers of PredictionService have the initial metadata x-longshore-node
// and, if a version answered, x-longshore-version.
class GrpcServer {
 public:
  // Predictor and catalog must outlive the server. FailedPrecondition with the address if it is in use.
  static Result<std::unique_ptr<GrpcServer>> Start(GrpcOptions options, routing::Predictor& predictor,
                                                   const Catalog& catalog);
  virtual ~GrpcServer() = default;  // Shuts down immediately; call Drain first to finish requests.

  virtual int port() const = 0;       // 0 for a unix socket.
  virtual int listen_fd() const = 0;  // -1 once draining.
  virtual size_t connections() const = 0;

  // Sets the status that grpc.health.v1 reports, for "" and both services; initially not serving.
  virtual void SetServing(bool serving) = 0;

  // Stops accepting connections and returns when all have ended. Each connection ends gracefully when it reaches its
  // maximum age; those that are left after the age (with its jitter) plus drain_timeout are closed. Does not change the
  // health status.
  virtual void Drain() = 0;
};

}  // namespace longshore::frontend
