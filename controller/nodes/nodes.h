// The controller's end of the nodes' streams (proto/longshore/control.proto).
//
// On one host nodes dial a unix socket in the state directory; who may open that directory may be a node. In a cluster
// they dial by TLS, and show a token that says which node of which fleet they are. A node's stream may end at any
// moment: what was sent on it may or may not have arrived, and its next hello tells what it really holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/tls/identity.h"
#include "controller/nodes/sent.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

// What is known of one node. Kept after its stream ended, until Forget.
struct NodeView {
  control::Hello hello;                           // Of the newest stream.
  std::shared_ptr<const control::Report> report;  // The newest; never of an earlier incarnation.
  MonotonicPoint report_at;
  bool connected = false;
  bool reported = false;    // On this stream: `report` is what it has, not what it had.
  int64_t acked_epoch = 0;  // The newest state that it said it holds: by hello or acknowledgement.
  int64_t acked_revision = 0;
  // Why the newest message was refused, or that the node then held something else than it should; "" when it was taken.
  std::string ack_error;
  MonotonicPoint refused_at;  // When it was; `sent` is empty then, and a snapshot puts things right.
  // What it should hold after all that was sent to it. Null until a snapshot is sent on this stream, unless its hello
  // showed that it holds exactly what was sent on the last one; null too after a message was refused.
  std::shared_ptr<const Sent> sent;
};
// A view never changes: what changes is another one. So whoever kept the pointer sees whether there is news.
using ViewPtr = std::shared_ptr<const NodeView>;

// What is shared, to be changed: a copy of its own, in place of the shared one; empty where there was none.
template <typename Value>
Value& Unshared(std::shared_ptr<const Value>& shared) {
  auto own = shared ? std::make_shared<Value>(*shared) : std::make_shared<Value>();
  Value& value = *own;
  shared = std::move(own);
  return value;
}

// Who is on a stream.
struct Identity {
  std::string fleet;
  std::string fleet_uid;
  std::string node;

  friend bool operator==(const Identity&, const Identity&) = default;
};
// By the header Authorization of a stream that begins, "" without one. An error refuses it. Any thread; must not block.
using Identify = std::function<Result<Identity>(std::string_view authorization)>;
// Makes the certificate of a node, of its request. Any thread; must not block.
using Certify = std::function<Result<control::Certificate>(const Identity& node, const std::string& request)>;

struct Options {
  std::string address{};                   // Where nodes dial: "unix:/path" or "host:port".
  std::shared_ptr<tls::Identities> tls{};  // Null: plaintext.
  Identify identify{};                     // Empty: whoever can connect is the node that its hello names.
  Certify certify{};                       // Empty: requests for certificates are refused. Requires identify.
  std::chrono::milliseconds certify_interval{10'000};  // At least, between two requests on a stream.
  int64_t epoch = 1;                                   // The term of this controller.
  // A node holds this epoch, which is not below ours: gives one above it, written down where the next controller finds
  // it. An error refuses the node.
  std::function<Result<int64_t>(int64_t above)> raise_epoch{};
  std::function<bool()> may_send{};  // Asked before each message but heartbeats; empty: it may. Thread-safe.
  size_t queued_max = 1000;          // Messages waiting for a node; beyond, its stream is cut and it dials again.
  size_t nodes_max = 10'000;         // Views that are kept; beyond, an unknown node is refused.
  std::chrono::milliseconds heartbeat_interval{15'000};
  int message_bytes_max = 64 << 20;
};

// A node said hello, reported something else than before, acknowledged or left. Called on a thread of the streams: must
// not block.
using OnChange = std::function<void(const std::string& fleet, const std::string& node)>;

// Thread-safe.
class Registry {
 public:
  // Listens.
  static Result<std::unique_ptr<Registry>> Start(Options options, const MonotonicClock& clock, OnChange on_change);
  virtual ~Registry() = default;  // Ends all streams.

  // The one that it listens on; 0 on a unix socket.
  virtual int port() const = 0;

  // The term of this controller; raised when a node is heard that holds a higher one.
  virtual int64_t epoch() const = 0;

  // Ends all streams, and listens no more.
  virtual void Close() = 0;

  // Nodes of one fleet, ordered by name.
  virtual std::vector<ViewPtr> Nodes(const std::string& fleet) const = 0;
  // Null when it is not known.
  virtual ViewPtr Node(const std::string& fleet, const std::string& node) const = 0;

  // Queues a message and does not wait; epoch and revision are filled in. `part`: what the node holds of its fleet
  // after a snapshot or a change of the fleet or its peers. FailedPrecondition for a change when the node has no
  // snapshot yet; NotFound when it has no stream; ResourceExhausted when its queue is full; FailedPrecondition when it
  // may not send.
  virtual Status Send(const std::string& fleet, const std::string& node, control::FromController message,
                      std::shared_ptr<const FleetPart> part = nullptr) = 0;

  // Drops what is known of a node without a stream.
  virtual void Forget(const std::string& fleet, const std::string& node) = 0;
};

}  // namespace longshore::nodes
