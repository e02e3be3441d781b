// Limits the number of predictions in flight and the memory of their answers. An overloaded node refuses further
// requests before it parses them, so that it recovers soon. A prediction is in flight until its run has ended and its
// answer has been written or its connection is closed.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "common/base/error.h"
#include "common/net/http/held_bytes.h"

namespace longshore::frontend {

// Thread-safe. Must outlive all its slots.
class InFlight {
 public:
  struct Limits {
    size_t requests_max = std::numeric_limits<size_t>::max();
    // HTTP/2 no longer counts a request that its client has reset, but its run may end much later.
    // Without this limit, one connection that opens and resets requests could take all slots.
    size_t connection_requests_max = std::numeric_limits<size_t>::max();
    // The maximum size of all answers together that are not written yet.
    size_t answer_bytes_max = std::numeric_limits<size_t>::max();
  };
  explicit InFlight(const Limits& limits);

  class Request;
  // A slot for one prediction. It is released with the last copy of the pointer.
  using Slot = std::shared_ptr<Request>;
  // ResourceExhausted if all slots, or all slots of this connection, are taken; the request may succeed later.
  // `connection` is the name of a gRPC connection; "" for requests without a limit per connection, such as those by
  // REST, which has one request per connection.
  Result<Slot> Enter(const std::string& connection = {});
  // Returns the error that Enter would return now.
  Status Check(const std::string& connection = {}) const;

 private:
  // How many slots each connection has taken.
  using Taken = std::unordered_map<std::string, size_t>;
  Status CheckLocked(size_t taken_by_connection) const;
  Result<Taken::value_type*> Take(const std::string& connection);
  void Release(Taken::value_type* connection);

  const Limits limits_;
  const std::shared_ptr<http::BytePool> answers_;
  mutable std::mutex mutex_;
  size_t taken_ = 0;
  Taken taken_by_connection_;  // Only connections that have slots.
};

// The slot and the answer memory that one request holds.
class InFlight::Request {
 public:
  // `connection` is null without a limit per connection.
  Request(InFlight& in_flight, Taken::value_type* connection)
      : in_flight_(in_flight), connection_(connection), answer_(in_flight.answers_) {}
  ~Request() { in_flight_.Release(connection_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Counts the bytes of the answer until the slot is released. Returns Unavailable if all answers that are not written
  // yet would exceed the limit; the answer must then be dropped. Not thread-safe.
  Status HoldAnswer(size_t bytes);

 private:
  InFlight& in_flight_;
  Taken::value_type* const connection_;
  http::HeldBytes answer_;
};

// Returns whether the error code says that the same request may succeed a little later, on this node or another.
inline bool MayRetry(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace longshore::frontend
