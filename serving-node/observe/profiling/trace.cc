#include "serving-node/observe/profiling/trace.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace longshore::profiling {
namespace {

using std::chrono::nanoseconds;
using Runs = std::vector<const RecordedRun*>;

struct Span {
  nanoseconds began;
  nanoseconds ended;
};

struct Slice {
  Span span;
  std::string text;  // The JSON fields of the event except process, row and times.
};

std::string Quoted(const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) return '"' + text + '"';
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Appends the separator and returns the position of the next event.
std::back_insert_iterator<std::string> Next(std::string* trace) {
  *trace += trace->ends_with('[') ? "\n" : ",\n";
  return std::back_inserter(*trace);
}

double Microseconds(nanoseconds time) { return static_cast<double>(time.count()) / 1000; }

// Returns the times of the run since the start of the recording. Times that the engine does not report are taken from
// its caller: start and end if the engine does not profile runs, only the end if the run threw an exception.
Span SpanOf(const RecordedRun& recorded, const Recording& recording) {
  const batching::WatchedRun& run = recorded.run;
  const engine::RunProfile& profile = run.profile;
  const bool knows_began = profile.began != std::chrono::steady_clock::time_point();
  const nanoseconds began = (knows_began ? profile.began : run.began) - recording.began;
  return {began, profile.took > nanoseconds(0) ? began + profile.took : run.ended - recording.began};
}

std::string RunText(const batching::WatchedRun& run) {
  std::string args = run.inputs.empty() ? "" : fmt::format("\"inputs\":{},", Quoted(run.inputs));
  args += fmt::format("\"requests\":{}", run.requests);
  if (run.rows > 0) args += fmt::format(",\"rows\":{},\"rows_padded\":{}", run.rows, run.rows_padded);
  args += fmt::format(",\"memory_bytes\":{},\"nodes\":{}", run.profile.bytes_peak, run.profile.nodes.size());
  if (run.profile.left_out > 0) args += fmt::format(",\"nodes_left_out\":{}", run.profile.left_out);
  if (!run.error.empty()) args += fmt::format(",\"error\":{}", Quoted(run.error));
  return fmt::format("\"name\":{},\"cat\":\"run\",\"args\":{{{}}}", Quoted(run.signature), args);
}

std::string NodeText(const engine::NodeRun& node) {
  std::string args = fmt::format("\"node\":{},\"runs_as\":{}", Quoted(node.node), Quoted(node.how));
  if (!node.then.empty()) args += fmt::format(",\"then\":{}", Quoted(node.then));
  if (!node.output.empty()) args += fmt::format(",\"output\":{}", Quoted(node.output));
  args += fmt::format(",\"output_bytes\":{}", node.bytes);
  if (node.flops > 0) args += fmt::format(",\"flops\":{}", node.flops);
  const std::string how = node.how.substr(0, node.how.find(' '));
  return fmt::format("\"name\":{},\"cat\":{},\"args\":{{{}}}", Quoted(node.op), Quoted(how), args);
}

// The slices of the run and its nodes, outer slices before inner ones.
std::vector<Slice> SlicesOf(const RecordedRun& recorded, const Span& span) {
  const engine::RunProfile& profile = recorded.run.profile;
  std::vector<Slice> slices = {{span, RunText(recorded.run)}};
  if (profile.plan > nanoseconds(0)) {
    slices.push_back({{span.began, span.began + profile.plan}, "\"name\":\"plan\",\"cat\":\"plan\""});
  }
  for (const engine::NodeRun& node : profile.nodes) {
    slices.push_back({{span.began + node.began, span.began + node.ended}, NodeText(node)});
  }
  std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
    return std::pair(a.span.began, -a.span.ended) < std::pair(b.span.began, -b.span.ended);
  });
  return slices;
}

// Writes the events of one version, which is a process in the trace.
class Process {
 public:
  Process(const Recording& recording, int id, Runs runs) : recording_(recording), id_(id), runs_(std::move(runs)) {
    std::ranges::sort(runs_, {}, [this](const RecordedRun* run) { return SpanOf(*run, recording_).began; });
  }

  void AddTo(std::string* trace) {
    Name("process_name", 0, fmt::format("{} version {}", runs_[0]->model, runs_[0]->version), trace);
    for (const RecordedRun* run : runs_) AddRun(*run, trace);
    for (size_t row = 0; row < rows_.size(); ++row) Name("thread_name", row + 1, "runs", trace);
    AddMemory(trace);
  }

 private:
  void Name(const char* what, size_t row, const std::string& name, std::string* trace) const {
    fmt::format_to(Next(trace), "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}", id_,
                   row, what, Quoted(name));
  }

  void AddRun(const RecordedRun& run, std::string* trace) {
    const Span span = SpanOf(run, recording_);
    const size_t row = RowFor(span);
    for (const Slice& slice : SlicesOf(run, span)) {
      fmt::format_to(Next(trace), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},{}}}", id_,
                     row + 1, Microseconds(slice.span.began), Microseconds(slice.span.ended - slice.span.began),
                     slice.text);
    }
    int64_t held = 0;
    for (const engine::NodeRun& node : run.run.profile.nodes) {
      const auto now = static_cast<int64_t>(node.held_bytes);
      if (now != held) held_.emplace(span.began + node.ended, now - std::exchange(held, now));
    }
    if (held != 0) held_.emplace(span.ended, -held);
  }

  // Returns the first row that is free at the start of the span, and occupies it.
  size_t RowFor(const Span& span) {
    const auto free = std::ranges::find_if(rows_, [&](nanoseconds ended) { return ended <= span.began; });
    const auto row = static_cast<size_t>(free - rows_.begin());
    if (free == rows_.end()) rows_.emplace_back();
    rows_[row] = span.ended;
    return row;
  }

  void AddMemory(std::string* trace) const {
    int64_t sum = 0;
    for (auto at = held_.begin(); at != held_.end();) {
      const nanoseconds time = at->first;
      for (; at != held_.end() && at->first == time; ++at) sum += at->second;
      fmt::format_to(Next(trace),
                     "{{\"ph\":\"C\",\"pid\":{},\"name\":\"memory of runs\",\"ts\":{:.3f},\"args\":{{\"bytes\":{}}}}}",
                     id_, Microseconds(time), sum);
    }
  }

  const Recording& recording_;
  const int id_;
  Runs runs_;
  std::vector<nanoseconds> rows_;             // For each row, the end of its last run.
  std::multimap<nanoseconds, int64_t> held_;  // The changes of the memory of runs in bytes, by time.
};

}  // namespace

std::string ToTrace(const Recording& recording) {
  std::map<std::pair<std::string, int64_t>, Runs> versions;
  for (const auto& run : recording.runs) versions[{run->model, run->version}].push_back(run.get());
  const std::string state = StateToJson(recording).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string trace = fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[", state);
  int id = 0;
  for (auto& [_, runs] : versions) Process(recording, ++id, std::move(runs)).AddTo(&trace);
  return trace + "\n]}\n";
}

}  // namespace longshore::profiling
