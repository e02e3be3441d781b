#include "serving-node/tracing/otlp/span_queue.h"

#include <utility>

namespace longshore::tracing::otlp {

bool SpanQueue::Push(Span span, size_t* spans) {
  const size_t bytes = span.SpaceUsedLong();
  const std::lock_guard lock(mutex_);
  *spans = waiting_.size();
  if (waiting_.size() >= limits_.spans_max || bytes > limits_.bytes_max - bytes_) return false;
  bytes_ += bytes;
  waiting_.push_back({std::move(span), bytes});
  *spans = waiting_.size();
  return true;
}

std::vector<Span> SpanQueue::Pop(size_t spans_max) {
  std::vector<Span> spans;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && spans.size() < spans_max) {
    bytes_ -= waiting_.front().bytes;
    spans.push_back(std::move(waiting_.front().span));
    waiting_.pop_front();
  }
  return spans;
}

size_t SpanQueue::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace longshore::tracing::otlp
