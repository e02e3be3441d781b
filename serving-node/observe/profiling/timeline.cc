#include "serving-node/observe/profiling/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

namespace longshore::profiling {
namespace {

using std::chrono::nanoseconds;

// Returns the times of the run since the start of the recording. Times that the engine does not report are taken from
// its caller: start and end if the engine does not profile runs, only the end if the run threw an exception.
Span SpanOf(const RecordedRun& recorded, const Recording& recording) {
  const batching::WatchedRun& run = recorded.run;
  const engine::RunProfile& profile = run.profile;
  const bool knows_began = profile.began != std::chrono::steady_clock::time_point();
  const nanoseconds began = (knows_began ? profile.began : run.began) - recording.began;
  return {began, profile.took > nanoseconds(0) ? began + profile.took : run.ended - recording.began};
}

// Gives each run the first row that is free at its start. Requires: the runs are sorted by start.
void AssignRows(VersionTimeline* timeline) {
  std::vector<nanoseconds> rows;  // For each row, the end of its last run.
  for (TimedRun& run : timeline->runs) {
    const auto free = std::ranges::find_if(rows, [&run](nanoseconds ended) { return ended <= run.span.began; });
    run.row = static_cast<size_t>(free - rows.begin());
    if (free == rows.end()) rows.emplace_back();
    rows[run.row] = run.span.ended;
  }
  timeline->rows = rows.size();
}

std::vector<MemoryPoint> MemoryOf(const std::vector<TimedRun>& runs) {
  std::multimap<nanoseconds, int64_t> changes;
  for (const TimedRun& run : runs) {
    int64_t held = 0;
    for (const engine::NodeRun& node : run.recorded->run.profile.nodes) {
      const auto now = static_cast<int64_t>(node.held_bytes);
      if (now != held) changes.emplace(run.span.began + node.ended, now - std::exchange(held, now));
    }
    if (held != 0) changes.emplace(run.span.ended, -held);
  }
  std::vector<MemoryPoint> memory;
  int64_t bytes = 0;
  for (auto at = changes.begin(); at != changes.end();) {
    const nanoseconds time = at->first;
    for (; at != changes.end() && at->first == time; ++at) bytes += at->second;
    memory.push_back({time, bytes});
  }
  return memory;
}

}  // namespace

std::vector<VersionTimeline> TimelinesOf(const Recording& recording) {
  std::map<std::pair<std::string, int64_t>, VersionTimeline> versions;
  for (const auto& run : recording.runs) {
    VersionTimeline& timeline = versions[{run->model, run->version}];
    timeline.name = fmt::format("{} version {}", run->model, run->version);
    timeline.runs.push_back({run.get(), SpanOf(*run, recording), 0});
  }
  std::vector<VersionTimeline> timelines;
  for (auto& [_, timeline] : versions) {
    std::ranges::sort(timeline.runs, {}, [](const TimedRun& run) { return run.span.began; });
    AssignRows(&timeline);
    timeline.memory = MemoryOf(timeline.runs);
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

Span SpanOf(const engine::NodeRun& node, const TimedRun& run) {
  return {run.span.began + node.began, run.span.began + node.ended};
}

std::vector<const engine::NodeRun*> NodesByStart(const RecordedRun& recorded) {
  std::vector<const engine::NodeRun*> nodes;
  for (const engine::NodeRun& node : recorded.run.profile.nodes) nodes.push_back(&node);
  std::ranges::stable_sort(nodes, {}, [](const engine::NodeRun* node) { return std::pair(node->began, -node->ended); });
  return nodes;
}

}  // namespace longshore::profiling
