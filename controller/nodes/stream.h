// The stream of one node, as a call of the gRPC server. Internal to nodes/.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/grpc_server/call.h"
#include "controller/nodes/nodes.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

using NodeKey = std::pair<std::string, std::string>;  // Fleet and node.

class Stream;

// Owns the streams. Its mutex guards their queues.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  // Called by a stream on the thread of its connection, without the mutex. Ended is the last call.
  virtual void Received(Stream& stream, const control::FromNode& message) = 0;
  virtual void Ended(Stream& stream) = 0;

 protected:
  mutable std::mutex mutex_;

 private:
  friend class Lock;
  friend class Stream;
  std::vector<std::shared_ptr<Stream>> changed_;  // Streams with something to send. Guarded by the mutex.
};

// Holds the mutex of an owner. At its end it releases the mutex first, and then lets the changed streams send: a call
// may run handlers of its connection, and these take the mutex.
class Lock {
 public:
  explicit Lock(StreamOwner& owner) : owner_(owner), lock_(owner.mutex_) {}
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  StreamOwner& owner_;
  std::unique_lock<std::mutex> lock_;
};

// The owner must outlive the call.
class Stream final : public std::enable_shared_from_this<Stream> {
 public:
  // `proven`: the identity that the node's token proves; nullopt if nodes have no tokens.
  Stream(StreamOwner& owner, std::shared_ptr<grpc_server::Call> call, std::optional<Identity> proven,
         MonotonicPoint now)
      : identity(std::move(proven)), began_at(now), owner_(owner), call_(std::move(call)) {}

  // Begins to read. Must be called in the handler of the call, once.
  void Start();
  // Gives the next message, or the end, to the call. If memory does not suffice, the stream ends. Must be called
  // without the mutex; Lock does it.
  void SendOrEnd() noexcept;

  // Use the members below only in the scope of a Lock of the owner.
  size_t queued() const { return queue_.size() + (writing_ ? 1 : 0); }
  bool finished() const { return end_.has_value(); }  // Messages that are read after this are ignored.
  void Push(control::FromController message);
  void End(Status status);  // Only the first call has an effect. Queued messages are not sent.

  NodeKey key;  // Set by the hello; empty before.

  const std::optional<Identity> identity;
  const MonotonicPoint began_at;
  // Time of the last answer to a certificate request. Used only on the thread of the connection.
  std::optional<MonotonicPoint> certified_at{};

 private:
  void Send();
  void EndAfter(const std::exception& error) noexcept;
  void Read();
  void OnRead(const std::optional<Pieces>& bytes);
  void OnWritten(bool ok);
  void EndNow(Status status);

  StreamOwner& owner_;
  const std::shared_ptr<grpc_server::Call> call_;
  control::FromNode incoming_;  // Used only on the thread of the connection.
  std::deque<control::FromController> queue_;
  bool writing_ = false;
  std::optional<Status> end_;
};

}  // namespace longshore::nodes
