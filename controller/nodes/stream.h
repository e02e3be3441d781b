// The stream of one node, as a gRPC reactor. Internal to nodes/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "controller/nodes/nodes.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

using NodeKey = std::pair<std::string, std::string>;  // Fleet and node.

class Stream;

// Owns the streams. Its mutex guards their queues.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  virtual std::mutex& mutex() = 0;
  // Called by a stream without holding the mutex. Ended is the last call; the stream deletes itself after it.
  virtual void Received(Stream& stream, const control::FromNode& message) = 0;
  virtual void Ended(Stream& stream) = 0;
};

// Must be allocated with new: it deletes itself in OnDone, as gRPC reactors do. The owner must outlive it.
class Stream final : public grpc::ServerBidiReactor<control::FromNode, control::FromController> {
 public:
  explicit Stream(StreamOwner& owner) : owner_(owner) { StartRead(&incoming_); }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // Use the members below only while you hold the owner's mutex.
  size_t queued() const { return queue_.size(); }
  bool finished() const { return finished_; }  // Messages that are read after this are ignored.
  void Push(control::FromController message);
  void End(grpc::Status status);

  NodeKey key;                                   // Set by the hello; empty before.
  std::optional<Identity> identity{};            // The identity that the node's token proves. Does not change.
  std::optional<MonotonicPoint> certified_at{};  // Time of the last answer to a certificate request.

 private:
  void WriteNext();

  StreamOwner& owner_;
  control::FromNode incoming_;
  std::deque<control::FromController> queue_;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace longshore::nodes
