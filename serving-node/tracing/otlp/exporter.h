// Sends ended spans to an OpenTelemetry collector: OTLP over HTTP, in Protocol Buffers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/metrics/metrics.h"
#include "common/net/download/post.h"
#include "serving-node/tracing/otlp/resource.h"
#include "serving-node/tracing/otlp/retry.h"
#include "serving-node/tracing/otlp/span_queue.h"
#include "serving-node/tracing/trace.h"

namespace longshore::tracing::otlp {

// Sends a body and returns the answer. Blocks, but not for long after `is_cancelled` has returned true. Called on one
// thread at a time.
using Send =
    std::function<Result<download::Answer>(const std::string& body, const std::function<bool()>& is_cancelled)>;

struct ExporterOptions {
  Resource resource{};
  std::string version{};
  QueueLimits queue{};
  size_t batch_spans_max = 512;
  // A span waits at most this long until enough others for a batch have ended.
  std::chrono::milliseconds delay_max{5'000};
  RetryLimits retry{};
};

// Thread-safe. Take never blocks: if the queue is full, the span is dropped and counted.
class Exporter final : public SpanSink {
 public:
  // The registry must outlive the exporter.
  Exporter(ExporterOptions options, Send send, metrics::Registry& registry);
  // Drops the spans that still wait.
  ~Exporter() override;

  void Take(Span span) override;

  // Sends the spans that wait, and returns when they are sent or dropped; not later than after `time_max`. Later spans
  // are dropped. For the end of the process.
  void Flush(std::chrono::milliseconds time_max);

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  bool WaitForBatch();
  void SendBatch(std::vector<Span> spans);
  Result<download::Answer> SendWithRetries(const std::string& body);
  void Sleep(std::chrono::milliseconds wait);
  bool IsOver() const;
  void CountAnswer(const Result<download::Answer>& answer, size_t spans);
  void Drop(const char* reason, size_t spans);
  void Report(const std::string& problem);

  const ExporterOptions options_;
  const Send send_;
  metrics::Counter exported_;
  metrics::Family<metrics::Counter> dropped_;
  SpanQueue queue_;
  std::string last_problem_;  // Only for the thread.
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;                                              // Guarded by the mutex.
  std::atomic<Clock::time_point> until_ = Clock::time_point::max();  // The end of Flush's time.
  std::thread thread_;                                               // Last member, because it uses the others.
};

}  // namespace longshore::tracing::otlp
