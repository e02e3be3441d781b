// The interface to the other nodes of the fleet: forwards serialized requests and asks for the load of peers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "serving-node/identity/node_identity.h"
#include "serving-node/tracing/trace.h"

namespace longshore::routing {

struct ForwardCall {
  std::string target;                                                    // gRPC target of the peer.
  std::string method = "/tensorflow.serving.PredictionService/Predict";  // A unary method of the peer's listener.
  Pieces serialized;                                                     // The serialized message of the request.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token cancelled{};  // A stop request cancels the call.
  tracing::TracePtr trace{};    // The trace that gets a span of this call. Null: there is none.
};

// Receives the serialized response or an error. Unavailable means that the connection broke; the peer may or may not
// have run the request.
using ForwardDone = std::function<void(Result<Pieces>)>;

struct PeerLoad {
  int64_t running = 0;
  int64_t queued = 0;
  int64_t concurrent_runs_max = 1;
  // The number of waiting and running requests, divided by the number of runs that the peer allows at the same time.
  double PerSlot() const;
};

// Thread-safe. Forward calls `done` exactly once, on any thread, possibly before it returns.
class Forwarder {
 public:
  virtual ~Forwarder() = default;
  virtual void Forward(ForwardCall call, ForwardDone done) = 0;

  // Asks these peers for their load, except those that were asked within the last load_interval. Does not block; LoadOf
  // returns the result.
  virtual void Watch(const std::vector<std::string>& targets) = 0;
  // The last known load of the peer plus the requests that this node sent to it since then. nullopt if the load is
  // unknown or older than load_age_max.
  virtual std::optional<PeerLoad> LoadOf(const std::string& target) const = 0;
};

// While calls are in flight on a connection from which nothing has arrived for this time, a node sends a ping. The
// listener for peers must permit pings at this interval, also that of release 0.1, which permits one every 10 s.
inline constexpr std::chrono::milliseconds kKeepaliveTime{15000};

struct GrpcForwarderOptions {
  std::string fleet;
  // Returns the authorization header of a call. Called on any thread. If the function is empty, calls have no such
  // header.
  std::function<std::string()> authorization = {};
  // Returns the certificate of this node and the authorities of its peers. Called on any thread. While it returns null,
  // calls fail with Unavailable. If the function is empty, connections are in plain text.
  std::function<std::shared_ptr<const identity::PeerIdentity>()> identity = {};
  size_t channels_max = 256;  // Above this number, the least recently used channel is closed after its last call.
  // If a ping is not answered within keepalive_timeout, the peer's machine is gone: all calls on the connection fail
  // with Unavailable.
  std::chrono::milliseconds keepalive_time = kKeepaliveTime;
  std::chrono::milliseconds keepalive_timeout{10000};
  std::chrono::milliseconds load_interval{200};
  std::chrono::milliseconds load_age_max{1000};
};
// The destructor of the forwarder cancels the calls in flight and waits for their callbacks.
std::unique_ptr<Forwarder> MakeGrpcForwarder(GrpcForwarderOptions options);

}  // namespace longshore::routing
