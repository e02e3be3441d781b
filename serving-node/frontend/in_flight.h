// Limits the number of predictions in flight and the memory of their answers. An overloaded node refuses further
// requests before it parses them, so that it recovers soon. A prediction is in flight until its run has ended and its
// answer has been written or its connection is closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "common/base/error.h"
#include "common/net/http/held_bytes.h"

namespace longshore::frontend {

// Thread-safe. Must outlive its slots.
class InFlight {
 public:
  static constexpr size_t kAnswerBytesMax = size_t{4} << 30;

  // `answer_bytes_max`: limit for all unwritten answers together.
  explicit InFlight(size_t requests_max, size_t answer_bytes_max = kAnswerBytesMax);

  class Request;
  // A slot for one prediction, released with the last copy of the pointer. Enter returns null if all are taken.
  using Slot = std::shared_ptr<Request>;
  Slot Enter();

 private:
  const size_t requests_max_;
  const size_t answer_bytes_max_;
  std::atomic<size_t> taken_ = 0;
  const std::shared_ptr<http::BytePool> answers_;
};

// The slot and the answer memory that one request holds.
class InFlight::Request {
 public:
  explicit Request(InFlight& in_flight) : in_flight_(in_flight), answer_(in_flight.answers_) {}
  ~Request() { --in_flight_.taken_; }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Counts the bytes of the answer until the slot is released. Unavailable if the unwritten answers would exceed the
  // limit; the answer must then be dropped. Not thread-safe.
  Status HoldAnswer(size_t bytes);

 private:
  InFlight& in_flight_;
  http::HeldBytes answer_;
};

// The error for a request that gets no slot; it may succeed later.
Error NoFreeSlot();

// Whether the error code says that the same request may succeed a little later, on this node or another.
inline bool MayRetry(const Error& error) { return error.code == Code::kUnavailable; }

}  // namespace longshore::frontend
