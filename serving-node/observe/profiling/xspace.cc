#include "serving-node/observe/profiling/xspace.h"

#include <algorithm>
#include <map>
#include <utility>

#include "serving-node/observe/profiling/timeline.h"

namespace longshore::profiling {
namespace {

using std::chrono::nanoseconds;
using tensorflow::profiler::XEvent;
using tensorflow::profiler::XEventMetadata;
using tensorflow::profiler::XLine;
using tensorflow::profiler::XPlane;
using tensorflow::profiler::XSpace;
using tensorflow::profiler::XStat;

// Texts in messages must be UTF-8; names of models and nodes could be anything.
std::string Utf8(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

uint64_t UnixNanoseconds(TimePoint at) {
  return static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(at.time_since_epoch()).count());
}

// Adds lines, events and stats to a plane. Names and texts are stored once per plane.
class PlaneWriter {
 public:
  PlaneWriter(const std::string& name, XSpace* space) : plane_(*space->add_planes()) { plane_.set_name(name); }

  XPlane& plane() { return plane_; }

  XLine& AddLine(const std::string& name) {
    XLine& line = *plane_.add_lines();
    line.set_id(plane_.lines_size());
    line.set_name(Utf8(name));
    return line;
  }

  XEvent& AddEvent(const Span& span, const std::string& name, const std::string& display_name, XLine* line) {
    XEvent& event = *line->add_events();
    event.set_metadata_id(EventIdOf(name, display_name));
    event.set_offset_ps(span.began.count() * 1000);
    event.set_duration_ps((span.ended - span.began).count() * 1000);
    return event;
  }

  // `owner` is an event or a plane.
  template <typename Owner>
  void AddNumber(const char* name, int64_t value, Owner* owner) {
    AddStat(name, owner).set_int64_value(value);
  }
  template <typename Owner>
  void AddText(const char* name, const std::string& text, Owner* owner) {
    if (!text.empty()) AddStat(name, owner).set_ref_value(static_cast<uint64_t>(StatIdOf(text)));
  }
  template <typename Owner>
  XStat& AddStat(const char* name, Owner* owner) {
    XStat& stat = *owner->add_stats();
    stat.set_metadata_id(StatIdOf(name));
    return stat;
  }

 private:
  int64_t StatIdOf(const std::string& name) {
    const auto [at, is_new] = stats_.try_emplace(name, static_cast<int64_t>(stats_.size()) + 1);
    if (is_new) {
      auto& metadata = (*plane_.mutable_stat_metadata())[at->second];
      metadata.set_id(at->second);
      metadata.set_name(Utf8(name));
    }
    return at->second;
  }

  int64_t EventIdOf(const std::string& name, const std::string& display_name) {
    const auto [at, is_new] = events_.try_emplace(name, static_cast<int64_t>(events_.size()) + 1);
    if (is_new) {
      XEventMetadata& metadata = (*plane_.mutable_event_metadata())[at->second];
      metadata.set_id(at->second);
      metadata.set_name(Utf8(name));
      metadata.set_display_name(Utf8(display_name));
    }
    return at->second;
  }

  XPlane& plane_;
  std::map<std::string, int64_t> stats_;
  std::map<std::string, int64_t> events_;
};

void AddNode(const engine::NodeRun& node, const TimedRun& run, PlaneWriter& plane, XLine* line) {
  XEvent& event = plane.AddEvent(SpanOf(node, run), fmt::format("{}:{}", node.node, node.op), node.op, line);
  plane.AddText("runs_as", node.how, &event);
  plane.AddText("then", node.then, &event);
  plane.AddText("output", node.output, &event);
  plane.AddNumber("output_bytes", static_cast<int64_t>(node.bytes), &event);
  if (node.flops > 0) plane.AddNumber("flops", node.flops, &event);
}

void AddRun(const TimedRun& timed, int64_t number, PlaneWriter& plane, XLine* line) {
  const batching::WatchedRun& run = timed.recorded->run;
  XEvent& event = plane.AddEvent(timed.span, "SessionRun", "", line);
  plane.AddNumber("_r", 1, &event);  // TensorFlow's mark of an event that begins a step.
  plane.AddNumber("id", number, &event);
  plane.AddText("model_name", timed.recorded->model, &event);
  plane.AddText("model_version", std::to_string(timed.recorded->version), &event);
  plane.AddText("signature", run.signature, &event);
  plane.AddText("inputs", run.inputs, &event);
  plane.AddText("error", run.error, &event);
  plane.AddNumber("requests", run.requests, &event);
  plane.AddNumber("rows", run.rows, &event);
  plane.AddNumber("rows_padded", run.rows_padded, &event);
  plane.AddNumber("memory_bytes", static_cast<int64_t>(run.profile.bytes_peak), &event);
  plane.AddNumber("nodes_left_out", run.profile.left_out, &event);
  if (run.profile.plan > nanoseconds(0)) {
    plane.AddEvent({timed.span.began, timed.span.began + run.profile.plan}, "plan", "", line);
  }
  for (const engine::NodeRun* node : NodesByStart(*timed.recorded)) AddNode(*node, timed, plane, line);
}

void AddMemory(const VersionTimeline& version, PlaneWriter& plane) {
  XLine& line = plane.AddLine(version.name + ", memory");
  MemoryPoint before{};
  int64_t peak = 0;
  for (const MemoryPoint& point : version.memory) {
    const bool grows = point.bytes > before.bytes;
    const int64_t change = grows ? point.bytes - before.bytes : before.bytes - point.bytes;
    peak = std::max(peak, point.bytes);
    XEvent& event = plane.AddEvent({point.at, point.at}, grows ? "MemoryAllocation" : "MemoryDeallocation", "", &line);
    plane.AddText("allocator_name", version.name, &event);
    plane.AddNumber("bytes_allocated", point.bytes, &event);
    plane.AddNumber("peak_bytes_in_use", peak, &event);
    plane.AddNumber("requested_bytes", change, &event);
    plane.AddNumber("allocation_bytes", change, &event);
    before = point;
  }
}

// Returns the numbers of the runs of all versions, by start.
std::map<const RecordedRun*, int64_t> NumbersOf(const std::vector<VersionTimeline>& versions) {
  std::vector<const TimedRun*> runs;
  for (const VersionTimeline& version : versions) {
    for (const TimedRun& run : version.runs) runs.push_back(&run);
  }
  std::ranges::stable_sort(runs, {}, [](const TimedRun* run) { return run->span.began; });
  std::map<const RecordedRun*, int64_t> numbers;
  for (const TimedRun* run : runs) numbers.emplace(run->recorded, static_cast<int64_t>(numbers.size()) + 1);
  return numbers;
}

void AddVersion(const VersionTimeline& version, const std::map<const RecordedRun*, int64_t>& numbers,
                PlaneWriter& plane) {
  std::vector<XLine*> lines;
  for (size_t row = 1; row <= version.rows; ++row)
    lines.push_back(&plane.AddLine(fmt::format("{}, runs {}", version.name, row)));
  for (const TimedRun& run : version.runs) AddRun(run, numbers.at(run.recorded), plane, lines[run.row]);
  if (!version.memory.empty()) AddMemory(version, plane);
}

// Adds an event for the whole recording.
void AddRecording(const Recording& recording, PlaneWriter& plane) {
  XEvent& event =
      plane.AddEvent({nanoseconds(0), recording.until - recording.began}, "recording", "", &plane.AddLine("recording"));
  plane.AddNumber("runs", static_cast<int64_t>(recording.runs.size()), &event);
  plane.AddNumber("runs_left_out", recording.runs_left_out, &event);
}

}  // namespace

XSpace ToXSpace(const Recording& recording, const std::string& host) {
  XSpace space;
  if (!host.empty()) space.add_hostnames(Utf8(host));
  PlaneWriter plane("/host:CPU", &space);
  AddRecording(recording, plane);
  const std::vector<VersionTimeline> versions = TimelinesOf(recording);
  const std::map<const RecordedRun*, int64_t> numbers = NumbersOf(versions);
  for (const VersionTimeline& version : versions) AddVersion(version, numbers, plane);
  PlaneWriter environment("Task Environment", &space);
  const uint64_t began = UnixNanoseconds(recording.at);
  const auto took = static_cast<uint64_t>(nanoseconds(recording.until - recording.began).count());
  environment.AddStat("profile_start_time", &environment.plane()).set_uint64_value(began);
  environment.AddStat("profile_stop_time", &environment.plane()).set_uint64_value(began + took);
  return space;
}

}  // namespace longshore::profiling
