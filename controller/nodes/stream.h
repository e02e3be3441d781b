// One node's stream, as gRPC's callbacks see it. Internal to nodes/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/clock.h"
#include "controller/nodes/nodes.h"
#include "longshore/control.pb.h"

namespace longshore::nodes {

using NodeKey = std::pair<std::string, std::string>;  // Fleet and node.

class Stream;

// Who keeps the streams. Its mutex guards their queues.
class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  virtual std::mutex& mutex() = 0;
  // Called by a stream without the mutex; Ended last, after which it is gone.
  virtual void Received(Stream& stream, const control::FromNode& message) = 0;
  virtual void Ended(Stream& stream) = 0;
};

// Made on the heap for gRPC, and deletes itself after OnDone, as gRPC's reactors do. The owner outlives it.
class Stream final : public grpc::ServerBidiReactor<control::FromNode, control::FromController> {
 public:
  explicit Stream(StreamOwner& owner) : owner_(owner) { StartRead(&incoming_); }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // With the owner's mutex held:
  size_t queued() const { return queue_.size(); }
  bool finished() const { return finished_; }  // What is read of it now counts no more.
  void Push(control::FromController message);
  void End(grpc::Status status);

  NodeKey key;                                   // Set by the hello; empty before.
  std::optional<Identity> may_be{};              // The only one that its token lets it be. Does not change.
  std::optional<MonotonicPoint> certified_at{};  // When it was last answered a request for a certificate.

 private:
  void WriteNext();

  StreamOwner& owner_;
  control::FromNode incoming_;
  std::deque<control::FromController> queue_;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace longshore::nodes
