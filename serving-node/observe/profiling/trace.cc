#include "serving-node/observe/profiling/trace.h"

#include <algorithm>
#include <iterator>

#include "serving-node/observe/profiling/timeline.h"

namespace longshore::profiling {
namespace {

using std::chrono::nanoseconds;

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

// Writes the events of one version, which is a process in the trace.
class Process {
 public:
  Process(int id, const VersionTimeline& timeline, std::string* trace) : id_(id), timeline_(timeline), trace_(*trace) {}

  void Write() const {
    Name("process_name", 0, timeline_.name);
    for (const TimedRun& run : timeline_.runs) WriteRun(run);
    for (size_t row = 0; row < timeline_.rows; ++row) Name("thread_name", row + 1, "runs");
    for (const MemoryPoint& point : timeline_.memory) {
      fmt::format_to(Next(&trace_),
                     "{{\"ph\":\"C\",\"pid\":{},\"name\":\"memory of runs\",\"ts\":{:.3f},\"args\":{{\"bytes\":{}}}}}",
                     id_, Microseconds(point.at), point.bytes);
    }
  }

 private:
  void Name(const char* what, size_t row, const std::string& name) const {
    fmt::format_to(Next(&trace_), "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}",
                   id_, row, what, Quoted(name));
  }

  // Writes a slice for the run and one for each of its nodes, outer slices before inner ones.
  void WriteRun(const TimedRun& run) const {
    WriteSlice(run, run.span, RunText(run.recorded->run));
    if (const nanoseconds plan = run.recorded->run.profile.plan; plan > nanoseconds(0)) {
      WriteSlice(run, {run.span.began, run.span.began + plan}, "\"name\":\"plan\",\"cat\":\"plan\"");
    }
    for (const engine::NodeRun* node : NodesByStart(*run.recorded)) {
      WriteSlice(run, SpanOf(*node, run), NodeText(*node));
    }
  }

  // `text` has the JSON fields of the slice except process, row and times.
  void WriteSlice(const TimedRun& run, const Span& span, const std::string& text) const {
    fmt::format_to(Next(&trace_), "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},{}}}", id_,
                   run.row + 1, Microseconds(span.began), Microseconds(span.ended - span.began), text);
  }

  const int id_;
  const VersionTimeline& timeline_;
  std::string& trace_;
};

}  // namespace

std::string ToTrace(const Recording& recording) {
  const std::string state = StateToJson(recording).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string trace = fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[", state);
  int id = 0;
  for (const VersionTimeline& timeline : TimelinesOf(recording)) Process(++id, timeline, &trace).Write();
  return trace + "\n]}\n";
}

}  // namespace longshore::profiling
