// Ends gRPC calls whose clients do not read their answers: HTTP/2 flow control lets a client delay an answer for as
// long as it wants, and gRPC does not limit that.
#pragma once

#include <grpc/grpc.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

#include "common/os/ticker.h"

namespace longshore::frontend {

// Writing an answer may take `grace` plus one second per bytes_per_second_min of its bytes.
struct AnswerTime {
  std::chrono::milliseconds grace{10000};
  size_t bytes_per_second_min = size_t{256} << 10;
};

// Thread-safe. Must outlive its answers.
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
  std::list<Written> answers_;  // The answers being written.
  Ticker clock_;                // Last member: its thread uses the others.
};

// The answer to one call. Not thread-safe.
class AnswerDeadlines::Answer {
 public:
  explicit Answer(AnswerDeadlines& deadlines) : deadlines_(deadlines), entry_(own_.begin()) {}
  ~Answer();
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // Starts the time for writing the answer; if it passes while this object exists, the call is cancelled. Call it once.
  // `call` must outlive this object.
  void Begin(grpc_call* call, size_t bytes) noexcept;

 private:
  AnswerDeadlines& deadlines_;
  std::list<Written> own_{1};  // Empty after Begin. Allocated in advance, so that Begin needs no memory.
  const std::list<Written>::iterator entry_;
};

}  // namespace longshore::frontend
