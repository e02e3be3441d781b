#include "controller/kube/event_writer.h"

#include <utility>

#include "common/base/text.h"
#include "common/os/log.h"
#include "controller/api/format.h"

namespace longshore::kube {
namespace {

constexpr size_t kWaitingMax = 1000;
constexpr double kRoutinePerSecond = 10;
constexpr double kRoutineBurst = 200;
constexpr size_t kMessageBytesMax = 1024;

}  // namespace

Json ToJson(const EventNote& note, TimePoint at, uint64_t number, const std::string& reporter) {
  const std::string time = api::FormatTime(at);
  const InvolvedObject& involved = note.involved;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata",
           {{"namespace", involved.namespace_},
            {"name", fmt::format("{}.{:x}{:04x}", involved.name, at.time_since_epoch().count(), number & 0xffff)}}},
          {"involvedObject",
           {{"apiVersion", involved.api_version},
            {"kind", involved.kind},
            {"namespace", involved.namespace_},
            {"name", involved.name},
            {"uid", involved.uid}}},
          {"type", note.warning ? "Warning" : "Normal"},
          {"reason", note.reason},
          {"message", CutText(note.message, kMessageBytesMax)},
          {"source", {{"component", reporter}}},
          {"reportingComponent", reporter},
          {"reportingInstance", reporter},
          {"firstTimestamp", time},
          {"lastTimestamp", time},
          {"count", 1}};
}

EventWriter::EventWriter(std::unique_ptr<Api> api, std::string reporter, const Clock& clock,
                         const MonotonicClock& timer)
    : api_(std::move(api)),
      reporter_(std::move(reporter)),
      clock_(clock),
      timer_(timer),
      routine_(kRoutinePerSecond, kRoutineBurst),
      worker_(kWaitingMax) {}

EventWriter::~EventWriter() { api_->Cancel(); }

bool EventWriter::IsDropped(const EventNote& note) {
  if (note.warning) return false;
  const std::lock_guard lock(mutex_);
  if (!routine_.TryTake(timer_.Now())) {
    ++dropped_;
    return true;
  }
  if (dropped_ > 0) spdlog::info("dropped {} routine events above the rate limit", std::exchange(dropped_, 0));
  return false;
}

void EventWriter::Write(const EventNote& note) {
  if (IsDropped(note)) return;
  const bool is_queued = worker_.Post([this, note, at = clock_.Now()] {
    const auto answer = api_->Send({.method = "POST",
                                    .target = fmt::format("/api/v1/namespaces/{}/events", note.involved.namespace_),
                                    .body = DumpJson(ToJson(note, at, written_++, reporter_))});
    if (!answer && answer.error().code != Code::kCancelled)
      spdlog::warn("lost an event of {} {}: {}", note.involved.kind, note.involved.name, answer.error().message);
  });
  if (!is_queued) spdlog::warn("lost an event of {} {}: the queue is full", note.involved.kind, note.involved.name);
}

}  // namespace longshore::kube
