#include "serving-node/batching/usage.h"

#include <algorithm>

namespace longshore::batching {
namespace {

double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Usage::AdvanceTo(TimePoint now) {
  if (now <= counted_to_) return;
  if (running_ > 0) busy_ += running_ * (now - counted_to_);
  counted_to_ = now;
}

void Usage::Began(const Batch& batch, TimePoint now) {
  AdvanceTo(now);
  running_ += 1;
  started_ += static_cast<int64_t>(batch.size());
  for (const Task& task : batch) queued_ += std::max(Duration(0), now - task.submitted);
}

void Usage::Ended(TimePoint now) {
  AdvanceTo(now);
  running_ -= 1;
}

void Usage::Add(Usage& other, TimePoint now) {
  other.AdvanceTo(now);
  busy_ += other.busy_;
  queued_ += other.queued_;
  started_ += other.started_;
  refused_ += other.refused_;
}

void Usage::WriteTo(Load* load) const {
  load->busy_seconds = SecondsOf(busy_);
  load->queue_seconds = SecondsOf(queued_);
  load->started = started_;
  load->refused = refused_;
}

}  // namespace longshore::batching
