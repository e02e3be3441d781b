#include "serving-node/tracing/otlp/exporter.h"

#include <algorithm>
#include <utility>

#include "common/os/log.h"
#include "opentelemetry/trace_service.pb.h"

namespace longshore::tracing::otlp {
namespace {

using download::Answer;
using opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;
using std::chrono::milliseconds;

constexpr const char* kQueueFull = "queue_full";
constexpr const char* kUnreachable = "unreachable";
constexpr const char* kRejected = "rejected";
constexpr const char* kShutdown = "shutdown";

std::string BodyOf(std::vector<Span> spans, const ExporterOptions& options) {
  ExportTraceServiceRequest request;
  auto& ours = *request.add_resource_spans();
  *ours.mutable_resource() = options.resource;
  auto& scope = *ours.add_scope_spans();
  scope.mutable_scope()->set_name("longshore");
  scope.mutable_scope()->set_version(options.version);
  for (Span& span : spans) *scope.add_spans() = std::move(span);
  return request.SerializeAsString();
}

bool IsSuccess(const Answer& answer) { return answer.status >= 200 && answer.status < 300; }

// Returns the partial success of an answer; an empty one if all spans were accepted.
opentelemetry::proto::collector::trace::v1::ExportTracePartialSuccess PartialOf(const Answer& answer) {
  ExportTraceServiceResponse response;
  if (!response.ParseFromString(answer.body)) response.Clear();
  return response.partial_success();
}

}  // namespace

Exporter::Exporter(ExporterOptions options, Send send, metrics::Registry& registry)
    : options_(std::move(options)),
      send_(std::move(send)),
      exported_(registry.Counters("longshore_spans_exported_total", "Spans that the collector has accepted.").With({})),
      dropped_(
          registry.Counters("longshore_spans_dropped_total", "Spans that did not reach the collector, by reason.")),
      queue_(options_.queue),
      thread_([this] { Run(); }) {
  for (const char* reason : {kQueueFull, kUnreachable, kRejected, kShutdown}) Drop(reason, 0);
}

Exporter::~Exporter() { Flush(milliseconds(0)); }

void Exporter::Drop(const char* reason, size_t spans) {
  dropped_.With({{"reason", reason}}).Add(static_cast<double>(spans));
}

void Exporter::Take(Span span) {
  if (until_.load() != Clock::time_point::max()) return Drop(kShutdown, 1);
  size_t waiting = 0;
  if (!queue_.Push(std::move(span), &waiting)) return Drop(kQueueFull, 1);
  if (waiting != options_.batch_spans_max) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_all();
}

void Exporter::Flush(milliseconds time_max) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = true;
    until_ = Clock::now() + time_max;
    wake_.notify_all();
  }
  thread_.join();
  for (;;) {
    const size_t left = queue_.Pop(options_.batch_spans_max).size();
    if (left == 0) return;
    Drop(kShutdown, left);
  }
}

bool Exporter::IsOver() const { return Clock::now() >= until_.load(); }

void Exporter::Run() {
  while (WaitForBatch()) SendBatch(queue_.Pop(options_.batch_spans_max));
}

// Returns false at the end of the exporter.
bool Exporter::WaitForBatch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, options_.delay_max, [this] { return ending_ || queue_.size() >= options_.batch_spans_max; });
    if (queue_.size() > 0 && !IsOver()) return true;
    if (ending_) return false;
  }
}

void Exporter::SendBatch(std::vector<Span> spans) {
  const size_t count = spans.size();
  CountAnswer(SendWithRetries(BodyOf(std::move(spans), options_)), count);
}

// Makes one more attempt at the end of the exporter, without the wait.
Result<Answer> Exporter::SendWithRetries(const std::string& body) {
  const auto began = Clock::now();
  for (Attempt attempt;; ++attempt.number) {
    const bool is_last = until_.load() != Clock::time_point::max();
    auto answer = send_(body, [this] { return IsOver(); });
    attempt.since_first = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
    attempt.random = static_cast<double>(RandomId() >> 11) * 0x1p-53;
    const auto wait = WaitAfter(answer, attempt, options_.retry);
    if (!wait || is_last || IsOver()) return answer;
    Report(answer ? fmt::format("the collector answers {}", answer->status) : answer.error().message);
    Sleep(*wait);
  }
}

void Exporter::Sleep(milliseconds wait) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, wait, [this] { return ending_; });
}

void Exporter::CountAnswer(const Result<Answer>& answer, size_t spans) {
  if (!answer) {
    Report(answer.error().message);
    return Drop(IsOver() ? kShutdown : kUnreachable, spans);
  }
  if (!IsSuccess(*answer)) {
    Report(fmt::format("the collector answers {}", answer->status));
    return Drop(IsTemporary(answer->status) ? kUnreachable : kRejected, spans);
  }
  const auto partial = PartialOf(*answer);
  const size_t rejected = std::min(spans, static_cast<size_t>(std::max<int64_t>(0, partial.rejected_spans())));
  exported_.Add(static_cast<double>(spans - rejected));
  if (rejected > 0) Drop(kRejected, rejected);
  Report(partial.error_message());
}

// Logs a problem once, until there is another one or none.
void Exporter::Report(const std::string& problem) {
  if (std::exchange(last_problem_, problem) == problem || problem.empty()) return;
  spdlog::warn("spans cannot be exported: {}", ForLog(problem));
}

}  // namespace longshore::tracing::otlp
