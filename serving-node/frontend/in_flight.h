// Limits the number of predictions in flight and the memory of their answers. An overloaded node refuses further
// requests before it parses them, so that it recovers soon. A prediction is in flight until its run has ended and its
// answer has been written or its connection is closed.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/error.h"
#include "common/net/http/held_bytes.h"

namespace longshore::frontend {

// Thread-safe. Must outlive its slots.
class InFlight {
 public:
  struct Limits {
    size_t requests_max = 10000;
    // HTTP/2 stops counting a request when its client resets it, but gRPC may end its call much later. Without a limit
    // of its own, a connection that opens and resets requests would take all slots.
    size_t connection_requests_max = 2000;
    size_t answer_bytes_max = size_t{4} << 30;  // For all unwritten answers together.
  };
  explicit InFlight(const Limits& limits);

  class Request;
  // A slot for one prediction, released with the last copy of the pointer.
  using Slot = std::shared_ptr<Request>;
  // Null if all slots, or all slots of this connection, are taken. `connection` is the name of a gRPC connection; ""
  // for requests without a limit per connection, such as those by REST, which has one request per connection.
  Slot Enter(std::string_view connection = {});

 private:
  bool Take(const std::string& connection);
  void Release(const std::string& connection);

  const Limits limits_;
  const std::shared_ptr<http::BytePool> answers_;
  std::mutex mutex_;
  size_t taken_ = 0;
  std::unordered_map<std::string, size_t> taken_by_connection_;  // No value is 0.
};

// The slot and the answer memory that one request holds.
class InFlight::Request {
 public:
  Request(InFlight& in_flight, std::string connection)
      : in_flight_(in_flight), connection_(std::move(connection)), answer_(in_flight.answers_) {}
  ~Request() { in_flight_.Release(connection_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Counts the bytes of the answer until the slot is released. Unavailable if the unwritten answers would exceed the
  // limit; the answer must then be dropped. Not thread-safe.
  Status HoldAnswer(size_t bytes);

 private:
  InFlight& in_flight_;
  const std::string connection_;
  http::HeldBytes answer_;
};

// The error for a request that gets no slot; it may succeed later.
Error NoFreeSlot();

// Whether the error code says that the same request may succeed a little later, on this node or another.
inline bool MayRetry(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace longshore::frontend
