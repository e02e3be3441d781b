// The controller's end of the streams of nodes (proto/longshore/control.proto).
//
// On one host, nodes connect to a unix socket in the state directory, so any process that may open that directory may
// be a node. In a cluster they connect with TLS and a token that identifies the fleet and node. A stream may end at any
// moment: messages sent on it may or may not have arrived, and the next hello of the node reports which state it really
// holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/tls/identity.h"
#include "controller/nodes/sent.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

// The known state of one node. Kept after its stream ends, until Forget.
struct NodeView {
  control::Hello hello;  // From the newest stream.
  std::shared_ptr<const control::Report>
      report;  // The newest report of the current incarnation; null before the first.
  MonotonicPoint report_at;
  bool connected = false;
  MonotonicPoint lost_at{};  // When the last stream ended, if not `connected`.
  bool reported = false;     // Whether `report` came on the current stream, so that it is up to date.
  int64_t acked_epoch = 0;   // The newest state that the node confirmed, by hello or acknowledgement.
  int64_t acked_revision = 0;
  // Why the node refused the newest message, or that its state differs from the one sent; "" if it accepted the
  // message.
  std::string ack_error;
  MonotonicPoint refused_at;  // The time of the last refusal, which set `sent` to null: the node needs a snapshot.
  // The state that the node should hold after all sent messages. Null before the first snapshot on this stream and
  // after the node refused a message. A new stream keeps the value of the previous one if the hello shows that the node
  // holds exactly that state.
  std::shared_ptr<const Sent> sent;
};
// A view is immutable: each change creates a new one, so comparing pointers shows whether anything changed.
using ViewPtr = std::shared_ptr<const NodeView>;

// Replaces the shared value by a copy that the caller may change, or by an empty value if the pointer was null.
template <typename Value>
Value& Unshared(std::shared_ptr<const Value>& shared) {
  auto own = shared ? std::make_shared<Value>(*shared) : std::make_shared<Value>();
  Value& value = *own;
  shared = std::move(own);
  return value;
}

// The node at the other end of a stream.
struct Identity {
  std::string fleet;
  std::string fleet_uid;
  std::string node;

  friend bool operator==(const Identity&, const Identity&) = default;
};
// Identifies the node from the header Authorization of a new stream ("" if absent). If it returns an error, the stream
// is refused. Called on any thread; must not block.
using Identify = std::function<Result<Identity>(std::string_view authorization)>;
// Issues a certificate for a node from its request. Called on any thread; must not block.
using Certify = std::function<Result<control::Certificate>(const Identity& node, const std::string& request)>;

// The largest plausible difference between the epoch of a node and the term of the controller. A node whose epoch is
// further ahead is refused: its stream ends with INVALID_ARGUMENT, and nothing else changes.
inline constexpr int64_t kEpochAheadMax = 1000;

struct Options {
  std::string address{};                   // The address to listen on: "unix:/path" or "host:port".
  std::shared_ptr<tls::Identities> tls{};  // Null: plaintext.
  Identify identify{};                     // Empty: every client is accepted as the node that its hello names.
  Certify certify{};                       // Empty: requests for certificates are refused. Requires identify.
  std::chrono::milliseconds certify_interval{10'000};  // Minimum time between certificate requests.
  int64_t epoch = 1;                                   // The term of this controller.
  // Called if a node holds an epoch that is not below this controller's and at most kEpochAheadMax above it. Returns an
  // epoch above `above`, which the callback must store where the next controller finds it. If the callback returns an
  // error, only the stream of this node ends. Called under the lock of the registry.
  std::function<Result<int64_t>(int64_t above)> raise_epoch{};
  // Called before each message except heartbeats; empty: always allowed. Thread-safe.
  std::function<bool()> may_send{};
  // Limit of queued messages per node; above it the stream is closed and the node connects again.
  size_t queued_max = 1000;
  size_t nodes_max = 10'000;  // Limit of views; above it unknown nodes are refused.
  std::chrono::milliseconds heartbeat_interval{15'000};
  // A stream without a hello ends with DEADLINE_EXCEEDED after this time, when the next heartbeats are sent.
  std::chrono::milliseconds hello_timeout{10'000};
  // If nothing was received from a node for ping_after, the controller sends a ping, which the node's gRPC answers. If
  // nothing is received for ping_timeout after it, the stream ends.
  std::chrono::milliseconds ping_after{15'000};
  std::chrono::milliseconds ping_timeout{20'000};
  int message_bytes_max = 64 << 20;
};

// Called when a node connects, sends a changed report, acknowledges a message or disconnects. Runs on a stream thread
// and must not block.
using OnChange = std::function<void(const std::string& fleet, const std::string& node)>;

// What is known about the nodes of a term, for readers. Thread-safe.
class Views {
 public:
  virtual ~Views() = default;

  // The epoch of this controller's term; raised when a node reports a higher epoch.
  virtual int64_t epoch() const = 0;

  // Returns the nodes of one fleet, ordered by name.
  virtual std::vector<ViewPtr> Nodes(const std::string& fleet) const = 0;
};

// Thread-safe. Its destruction ends all streams.
class Registry : public Views {
 public:
  // Starts to listen for nodes.
  static Result<std::unique_ptr<Registry>> Start(Options options, const MonotonicClock& clock, OnChange on_change);

  // The port that it listens on; 0 for a unix socket.
  virtual int port() const = 0;

  // Ends all streams with UNAVAILABLE and stops listening. Waits up to a second until the nodes have read the end.
  virtual void Close() = 0;

  // Returns nullptr if the node is unknown.
  virtual ViewPtr Node(const std::string& fleet, const std::string& node) const = 0;

  // Queues a message without blocking and sets its epoch and revision. `part` is required for a snapshot and for a
  // change of the fleet or its peers: the fleet part that the node holds after the message. Errors: FailedPrecondition
  // for a change if the node has no snapshot yet, or if this controller may not send; NotFound if the node has no
  // stream; ResourceExhausted if its queue is full.
  virtual Status Send(const std::string& fleet, const std::string& node, control::FromController message,
                      std::shared_ptr<const FleetPart> part = nullptr) = 0;

  // Removes the view of a node without a stream.
  virtual void Forget(const std::string& fleet, const std::string& node) = 0;
};

}  // namespace longshore::nodes
