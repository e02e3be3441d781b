// TensorFlow Serving's gRPC API (PredictionService, ModelService, ProfilerService), grpc.health.v1, and services of
// other protocols on one listener.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/net/grpc_server/service.h"
#include "common/net/http/open_connection.h"
#include "common/net/http2/options.h"
#include "common/net/tls/identity.h"
#include "serving-node/frontend/catalog.h"
#include "serving-node/frontend/grpc_services.h"
#include "serving-node/observe/profiling/recorder.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

struct GrpcOptions {
  std::string listen = {};     // "host:port" (port 0: any free one) or "unix:/path". Not used with listen_fd.
  int listen_fd = -1;          // An existing listening socket to use instead; the server takes ownership.
  bool shares_socket = false;  // Other processes may accept from listen_fd (common/os/process/accept_turn.h).
  // A second listening socket, such as a unix socket; the server takes ownership. May be the only socket.
  int socket_fd = -1;
  int threads = 2;
  routing::Protocol protocol = routing::Protocol::kGrpc;  // kPeer for the listener that other nodes use.
  // The node's name, sent as metadata x-longshore-node. "": neither it nor x-longshore-version is sent.
  std::string node = {};
  // Whether to reject a call if the method_name of the signature belongs to another RPC.
  bool check_method_names = false;
  std::vector<std::string> channel_arguments = {};             // Each "name=value" (frontend/channel_arguments.h).
  tensor::Encoding encoding = tensor::Encoding::kTypedFields;  // How the outputs of Predict are encoded.
  const RequestMeter* meter = nullptr;                         // Null: requests are not counted.
  InFlight* in_flight = nullptr;                               // Limits the predictions in flight. Null: no limit.
  ReloadFunction reload = {};                                  // Empty: reload requests are rejected.
  profiling::Recorder* profiles = nullptr;                     // Null: there is no ProfilerService.
  // How this node answers as a home node; only for the listener that other nodes use.
  HomeNode home = {};
  // Older connections are asked to reconnect (by GOAWAY, with jitter). 0: never.
  int64_t connection_age_max_ms = 0;
  // When a connection was asked to end, the time that its requests may still take before it is closed.
  std::chrono::milliseconds drain_timeout{600000};
  http2::AnswerTime answer_time = {};  // A call ends if its client does not read the answer within this time.
  // The maximum size of a request. Larger ones are refused with RESOURCE_EXHAUSTED.
  int receive_bytes_max = 256 << 20;
  int streams_max = 1000;          // Concurrent requests per connection. Others wait at the client.
  size_t connections_max = 10000;  // Others wait in the operating system's backlog.
  // The memory for the requests of all connections. Requests that exceed it are refused. 0: no limit.
  size_t memory_bytes_max = size_t{4} << 30;
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext.
  grpc_server::Gate gate = {};                // Also for health checks. Empty: every call is admitted.
  bool reflection = false;                    // Enable gRPC server reflection.
  // Adds the methods of further services. What they use must outlive the server, or belong to the function.
  std::function<void(grpc_server::Service& service)> add_methods = {};
  std::function<void()> end_streams = {};  // Ends the streams of these services when Drain is called. May be null.
};

// Thread-safe. If GrpcOptions::node is set, answers of PredictionService have the initial metadata x-longshore-node
// and, if a version answered, x-longshore-version.
class GrpcServer {
 public:
  // `predictor` and `catalog` must outlive the server. Returns FailedPrecondition, which names the address, if the
  // address is in use.
  static Result<std::unique_ptr<GrpcServer>> Start(GrpcOptions options, routing::Predictor& predictor,
                                                   const Catalog& catalog);
  virtual ~GrpcServer() = default;  // Ends all calls immediately; call Drain first to finish them.

  virtual int port() const = 0;       // 0 if the server listens on a unix socket.
  virtual int listen_fd() const = 0;  // -1 after Drain was called.
  virtual size_t connections() const = 0;
  virtual std::vector<http::OpenConnection> OpenConnections() const = 0;

  // Sets the status that grpc.health.v1 reports for "" and for all services. Before the first call, it is NOT_SERVING.
  virtual void SetServing(bool serving) = 0;

  // Stops accepting connections, asks all clients to reconnect, and returns when all connections have ended; those that
  // are left after drain_timeout are closed. Does not change the health status.
  virtual void Drain() = 0;
  // Makes a Drain that is running or begins later ask each client at a random moment within this time to connect
  // elsewhere, also if its connection has not reached its maximum age. 0: at once.
  virtual void EndConnectionsWithin(std::chrono::milliseconds spread) = 0;
};

}  // namespace longshore::frontend
