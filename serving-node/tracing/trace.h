// The trace of one request: makes the spans of what this node does for it.
//
//   const TracePtr trace = tracer.Begin(parent, call, arrived);   // when the request arrives
//   Hop hop = trace->BeginHop("10.0.0.2:8503", method);           // a client span; hop.context() goes to the peer
//   hop.End(Code::kOk);
//   trace->Ran(run);                                              // spans queue, batch and run
//   trace->End({.code = Code::kOk, .model = "digits"});           // the server span
//
// If the trace is not sampled, all functions are cheap and make no spans. If memory does not suffice for a span, it is
// left out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "serving-node/tracing/context.h"
#include "serving-node/tracing/span.h"

namespace longshore::tracing {

// Takes spans that have ended. Thread-safe; must not block.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Take(Span span) = 0;
};

// The call of the client. The texts must outlive the trace: they are constants.
struct ServerCall {
  std::string_view service;  // Of gRPC: "tensorflow.serving.PredictionService"; "" for HTTP.
  std::string_view method;   // Of gRPC: "Predict". Of HTTP: "POST".
  std::string_view route{};  // Of HTTP: "/v1/models/{model}:predict".
};

// What is known when the request is answered.
struct Answered {
  Code code = Code::kOk;
  int http_status = 0;     // 0: the call was not HTTP.
  std::string_view model;  // As the client sent it.
  std::string_view signature{};
  std::optional<int64_t> version{};
};

// A span of another request.
struct Link {
  TraceId trace_id;
  uint64_t span_id = 0;
};

// One run of the request on this node. Times are those of the scheduler.
struct Run {
  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint submitted;
  TimePoint filled;                  // When the batch stopped waiting for more requests.
  TimePoint started;                 // When the batch began.
  TimePoint ended;                   // When the answer was ready.
  std::chrono::nanoseconds took{0};  // The time of the engine.
  int64_t batch_rows = 0;            // 0: the request ran alone, and there is no span `batch`.
  int64_t padded_rows = 0;
  std::vector<Link> shared_with{};  // Other sampled requests of the batch.
  size_t shared_with_more = 0;      // Such requests that are not in shared_with.
};

// A run that failed, or did not begin.
struct FailedRun {
  Run::TimePoint submitted;
  Run::TimePoint ended;
  Code code = Code::kUnknown;
};

class Hop;

// Immutable, so thread-safe. Belongs to its request, and to the hops of the request.
class Trace final : public std::enable_shared_from_this<Trace> {
 public:
  // A time of both clocks, by which the times of a request become times since 1970.
  struct Clocks {
    std::chrono::steady_clock::time_point steady;
    std::chrono::system_clock::time_point system;
  };

  // `own` is the server span of this node, `parent_id` the span of the caller; 0 if the trace begins here. The sink
  // must outlive the trace.
  Trace(Context own, uint64_t parent_id, const ServerCall& call, Clocks arrived, SpanSink& sink)
      : own_(std::move(own)), parent_id_(parent_id), call_(call), arrived_(arrived), sink_(sink) {}

  bool sampled() const { return own_.sampled; }
  const Context& context() const { return own_; }

  void End(const Answered& answered) const;
  void Ran(const Run& run) const;
  void Failed(const FailedRun& run) const;

  // A call of this node to another one. `method` is gRPC's: "/package.Service/Method".
  Hop BeginHop(std::string_view peer, std::string_view method) const;

 private:
  friend class Hop;
  struct Ids {
    uint64_t span_id;
    uint64_t parent_id;
  };
  // Makes a span of this trace without attributes.
  Span Make(Ids ids, std::string name, Run::TimePoint from, Run::TimePoint to) const;
  uint64_t UnixNs(Run::TimePoint at) const;
  uint64_t TakeBatch(const Run& run) const;

  const Context own_;
  const uint64_t parent_id_;
  const ServerCall call_;
  const Clocks arrived_;
  SpanSink& sink_;
};
using TracePtr = std::shared_ptr<const Trace>;

// One call to a peer, from its beginning to its end.
class Hop {
 public:
  Hop(TracePtr trace, std::string_view peer, std::string_view method);

  // The span of this hop, as the parent of the peer's span.
  const Context& context() const { return context_; }
  // Call it once.
  void End(Code code) const;

 private:
  TracePtr trace_;
  Context context_;
  std::string peer_;
  std::string method_;
  Run::TimePoint began_;
};

// Returns a random number that is not 0, for ids of spans and traces. Each thread has its own generator.
uint64_t RandomId();

}  // namespace longshore::tracing
