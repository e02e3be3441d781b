// The spans that wait for export. A limit of spans and one of bytes bound the memory, whatever clients send and whether
// or not the collector can be reached.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "serving-node/tracing/span.h"

namespace longshore::tracing::otlp {

struct QueueLimits {
  size_t spans_max = 2048;
  size_t bytes_max = size_t{8} << 20;  // As the spans are in memory.
};

// Thread-safe.
class SpanQueue {
 public:
  explicit SpanQueue(QueueLimits limits) : limits_(limits) {}

  // Returns false if the span is dropped because the queue is full. `spans` is set to the number of waiting spans.
  bool Push(Span span, size_t* spans);
  // Removes the oldest spans, at most `spans_max`.
  std::vector<Span> Pop(size_t spans_max);
  size_t size() const;

 private:
  struct Waiting {
    Span span;
    size_t bytes;
  };

  const QueueLimits limits_;
  mutable std::mutex mutex_;
  std::deque<Waiting> waiting_;
  size_t bytes_ = 0;
};

}  // namespace longshore::tracing::otlp
