#include "serving-node/observe/profiling/trace.h"

#include <gmock/gmock.h>

#include "serving-node/observe/profiling/testing.h"

namespace longshore::profiling {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Returns the events with this value of "ph", such as "X".
std::vector<Json> EventsOf(const Recording& recording, const std::string& kind) {
  std::vector<Json> events;
  const Json trace = ParseJson(ToTrace(recording)).value();
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == kind) events.push_back(event);
  }
  return events;
}

TEST(Trace, HasTheFormatOfTraceViewers) {
  const std::string want =
      R"({"displayTimeUnit":"ms","otherData":{"id":3,"state":"done","began":"2027-01-15T08:00:00Z","model":"digits",)"
      R"("seconds":30,"runs_wanted":20,"runs":1,"runs_left_out":0,"nodes":3,"nodes_left_out":0},"traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"digits version 2"}},
{"ph":"X","pid":1,"tid":1,"ts":50.000,"dur":100.000,"name":"serving_default","cat":"run",)"
      R"("args":{"inputs":"image DT_FLOAT [2,8,8,1]","requests":1,"memory_bytes":3000,"nodes":3}},
{"ph":"X","pid":1,"tid":1,"ts":50.000,"dur":5.000,"name":"plan","cat":"plan"},
{"ph":"X","pid":1,"tid":1,"ts":60.000,"dur":10.000,"name":"While","cat":"kernel",)"
      R"("args":{"node":"loop","runs_as":"kernel","output":"DT_INT32 []","output_bytes":4}},
{"ph":"X","pid":1,"tid":1,"ts":62.000,"dur":3.000,"name":"AddV2","cat":"loops",)"
      R"("args":{"node":"body/add","runs_as":"loops","output":"DT_INT32 []","output_bytes":4}},
{"ph":"X","pid":1,"tid":1,"ts":80.000,"dur":1.500,"name":"Conv2D","cat":"onednn","args":{"node":"conv",)"
      R"("runs_as":"onednn jit:avx2","then":"BiasAdd, Relu","output":"DT_FLOAT [2,8,8,24]","output_bytes":12288,)"
      R"("flops":500}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"runs"}},
{"ph":"C","pid":1,"name":"memory of runs","ts":65.000,"args":{"bytes":1000}},
{"ph":"C","pid":1,"name":"memory of runs","ts":81.500,"args":{"bytes":3000}},
{"ph":"C","pid":1,"name":"memory of runs","ts":150.000,"args":{"bytes":0}}
]}
)";
  EXPECT_EQ(ToTrace(Of({LoopRun(microseconds(50))})), want);
}

TEST(Trace, IsValidJsonWithoutRuns) {
  const auto trace = ParseJson(ToTrace(Of({})));
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->at("traceEvents").empty());
}

TEST(Trace, PutsConcurrentRunsIntoDifferentRows) {
  std::vector<int> rows;
  const Recording recording =
      Of({LoopRun(microseconds(200)), LoopRun(microseconds(0)), LoopRun(microseconds(50)), LoopRun(microseconds(120))});
  for (const Json& event : EventsOf(recording, "X")) {
    if (event.at("cat") == "run") rows.push_back(event.at("tid"));
  }
  EXPECT_EQ(rows, (std::vector<int>{1, 2, 1, 2}));
}

TEST(Trace, AddsUpTheMemoryOfConcurrentRuns) {
  std::vector<int64_t> bytes;
  for (const Json& event : EventsOf(Of({LoopRun(microseconds(0)), LoopRun(microseconds(50))}), "C")) {
    bytes.push_back(event.at("args").at("bytes"));
  }
  EXPECT_EQ(bytes, (std::vector<int64_t>{1000, 3000, 4000, 6000, 3000, 0}));
}

TEST(Trace, HasAProcessForEachVersion) {
  const auto names = EventsOf(Of({LoopRun(microseconds(0), 3), LoopRun(microseconds(0), 2)}), "M");
  EXPECT_EQ(names[0].at("args").at("name"), "digits version 2");
  EXPECT_EQ(names[2].at("args").at("name"), "digits version 3");
  EXPECT_NE(names[0].at("pid"), names[2].at("pid"));
}

TEST(Trace, ShowsErrorsAndTheNumberOfNodesLeftOut) {
  const auto run = LoopRun(microseconds(0));
  run->run.error = "INTERNAL: \"x\"\xff";
  run->run.profile.left_out = 7;
  run->run.rows = 3;
  run->run.rows_padded = 4;
  const Json args = EventsOf(Of({run}), "X")[0].at("args");
  EXPECT_EQ(args.at("error"), "INTERNAL: \"x\"\uFFFD");
  EXPECT_EQ(args.at("nodes_left_out"), 7);
  EXPECT_EQ(args.at("rows"), 3);
  EXPECT_EQ(args.at("rows_padded"), 4);
}

TEST(Trace, ShowsTheNodesOfARunThatThrew) {
  const auto run = LoopRun(microseconds(50));
  run->run.profile.took = nanoseconds(0);
  run->run.began = kBegan + microseconds(20);  // From here until 50 us the run waited in the engine.
  run->run.ended = kBegan + microseconds(90);
  run->run.error = "RESOURCE_EXHAUSTED";
  const auto slices = EventsOf(Of({run}), "X");
  EXPECT_EQ(slices[0].at("ts"), 50.0);
  EXPECT_EQ(slices[0].at("dur"), 40.0);
  EXPECT_EQ(slices[2].at("name"), "While");
  EXPECT_EQ(slices[2].at("ts"), 60.0);
}

TEST(Trace, TakesTheTimesOfARunThatThrewAtOnceFromItsCaller) {
  const auto run = LoopRun(microseconds(0));
  run->run.profile = {};
  run->run.began = kBegan + microseconds(20);
  run->run.ended = kBegan + microseconds(21);
  run->run.inputs = "";
  const Json slice = EventsOf(Of({run}), "X")[0];
  EXPECT_EQ(slice.at("ts"), 20.0);
  EXPECT_EQ(slice.at("dur"), 1.0);
  EXPECT_FALSE(slice.at("args").contains("inputs"));
}

TEST(Trace, ShowsOnlyRunsOfAnEngineWithoutProfiling) {
  const auto run = LoopRun(microseconds(0));
  run->run.profile = {};
  run->run.began = kBegan + microseconds(1);
  run->run.ended = kBegan + microseconds(4);
  const auto slices = EventsOf(Of({run}), "X");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0].at("ts"), 1.0);
  EXPECT_EQ(slices[0].at("dur"), 3.0);
}

}  // namespace
}  // namespace longshore::profiling
