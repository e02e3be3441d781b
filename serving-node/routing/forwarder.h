// The seam to the other nodes of the fleet: predictions as raw bytes, and what load they have.
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

#include "common/error.h"
#include "serving-node/identity/node_identity.h"

namespace longshore::routing {

struct ForwardCall {
  std::string target;                                                    // gRPC target of the peer.
  std::string method = "/tensorflow.serving.PredictionService/Predict";  // Unary, of the peer's listener.
  std::string serialized;                                                // The request: a PredictRequest.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token cancelled{};  // Ends the call: Cancelled.
};

// The bytes of the response. Unavailable: the connection died, and the peer may have run the request or not.
using ForwardDone = std::function<void(Result<std::string>)>;

struct PeerLoad {
  int64_t running = 0;
  int64_t queued = 0;
  int64_t concurrent_runs_max = 1;
  // Requests that wait or run per slot: what a new one has before it.
  double PerSlot() const;
};

// Thread-safe; calls back exactly once, on any thread, possibly before it returns.
class Forwarder {
 public:
  virtual ~Forwarder() = default;
  virtual void Forward(ForwardCall call, ForwardDone done) = 0;

  // Peers of which the load is worth knowing from now on. Starts a poll where the last one is older than the interval.
  virtual void Watch(const std::vector<std::string>& targets) = 0;
  // With what this node sent there since the peer was asked; nullopt when that is too long ago, or never was.
  virtual std::optional<PeerLoad> LoadOf(const std::string& target) const = 0;
};

struct GrpcForwarderOptions {
  std::string fleet;
  std::function<std::string()> authorization = {};  // What every call shows as this header; empty: nothing. Any thread.
  // What both ends of a connection show and ask for; null: there is none yet, and calls fail with Unavailable. Any
  // thread. Empty: hops are in plain text.
  std::function<std::shared_ptr<const identity::PeerIdentity>()> identity = {};
  size_t channels_max = 256;  // Beyond, the one used least recently is closed, after its calls.
  std::chrono::milliseconds load_interval{200};
  std::chrono::milliseconds load_age_max{1000};
};
// Its destructor cancels the calls in flight and waits for their callbacks.
std::unique_ptr<Forwarder> MakeGrpcForwarder(GrpcForwarderOptions options);

}  // namespace longshore::routing
