// Ends gRPC calls whose clients do not read their answers: HTTP/2 flow control lets a client delay an answer for as
// long as it wants, and gRPC does not limit that.
#pragma once

#include <grpc/grpc.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

#include "common/os/ticker.h"

namespace longshore::rpc {

// The time to write an answer is at most `grace` plus one second for every bytes_per_second_min bytes of the answer.
struct AnswerTime {
  std::chrono::milliseconds grace{10000};
  size_t bytes_per_second_min = size_t{256} << 10;
};

// Thread-safe. Must outlive all its Answer objects.
class AnswerDeadlines {
 public:
  explicit AnswerDeadlines(AnswerTime time);

  class Answer;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Written {
    grpc_call* call = nullptr;
    TimePoint deadline{};
  };
  bool CancelSome();
  void CancelLate();

  const AnswerTime time_;
  std::mutex mutex_;
  std::list<Written> answers_;  // The answers that are being written.
  Ticker clock_;                // Last member, because its thread uses the others.
};

// The answer to one call, with the deadline for writing it. Not thread-safe.
class AnswerDeadlines::Answer {
 public:
  explicit Answer(AnswerDeadlines& deadlines) : deadlines_(deadlines), entry_(own_.begin()) {}
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // Starts the time to write the answer. If the time passes while this object exists, the call is cancelled. Call it
  // once. `call` must outlive this object.
  void Begin(grpc_call* call, size_t bytes) noexcept;

 private:
  AnswerDeadlines& deadlines_;
  // Holds the entry until Begin moves it to answers_. Allocated in advance, so that Begin need not allocate memory.
  std::list<Written> own_{1};
  const std::list<Written>::iterator entry_;
};

}  // namespace longshore::rpc
