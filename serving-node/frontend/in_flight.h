// Limits the number of predictions in flight and the memory of their answers. An overloaded node refuses further
// requests before it parses them, so that it recovers soon. A prediction is in flight until its run has ended and its
// answer has been written or its connection is closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>

#include "common/base/error.h"
#include "common/net/http/held_bytes.h"

namespace longshore::frontend {

// Thread-safe. Must outlive all its slots.
class InFlight {
 public:
  struct Limits {
    size_t requests_max = std::numeric_limits<size_t>::max();
    // The maximum size of all answers together that are not written yet.
    size_t answer_bytes_max = std::numeric_limits<size_t>::max();
  };
  explicit InFlight(const Limits& limits);

  class Request;
  // A slot for one prediction. It is released with the last copy of the pointer.
  using Slot = std::shared_ptr<Request>;
  // ResourceExhausted if all slots are taken; the request may succeed later.
  Result<Slot> Enter();
  // Returns the error that Enter would return now.
  Status Check() const;

 private:
  const Limits limits_;
  const std::shared_ptr<http::BytePool> answers_;
  std::atomic<size_t> taken_ = 0;
};

// The slot and the answer memory that one request holds.
class InFlight::Request {
 public:
  explicit Request(InFlight& in_flight) : in_flight_(in_flight), answer_(in_flight.answers_) { ++in_flight_.taken_; }
  ~Request() { --in_flight_.taken_; }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Counts the bytes of the answer until the slot is released. Returns Unavailable if all answers that are not written
  // yet would exceed the limit; the answer must then be dropped. Not thread-safe.
  Status HoldAnswer(size_t bytes);

 private:
  InFlight& in_flight_;
  http::HeldBytes answer_;
};

// Returns whether the error code says that the same request may succeed a little later, on this node or another.
inline bool MayRetry(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace longshore::frontend
