#include "serving-node/observe/profiling/xspace.h"

#include <gmock/gmock.h>

#include <map>

#include "serving-node/observe/profiling/testing.h"

namespace longshore::profiling {
namespace {

using std::chrono::microseconds;
using tensorflow::profiler::XEvent;
using tensorflow::profiler::XLine;
using tensorflow::profiler::XPlane;
using tensorflow::profiler::XSpace;
using tensorflow::profiler::XStat;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr int64_t kMicrosecond = 1'000'000;  // In picoseconds.

std::string ValueOf(const XPlane& plane, const XStat& stat) {
  if (stat.value_case() == XStat::kRefValue)
    return plane.stat_metadata().at(static_cast<int64_t>(stat.ref_value())).name();
  if (stat.value_case() == XStat::kUint64Value) return std::to_string(stat.uint64_value());
  return std::to_string(stat.int64_value());
}

template <typename Owner>
std::map<std::string, std::string> StatsOf(const XPlane& plane, const Owner& owner) {
  std::map<std::string, std::string> stats;
  for (const XStat& stat : owner.stats())
    stats[plane.stat_metadata().at(stat.metadata_id()).name()] = ValueOf(plane, stat);
  return stats;
}

const std::string& NameOf(const XPlane& plane, const XEvent& event) {
  return plane.event_metadata().at(event.metadata_id()).name();
}

std::vector<std::string> LinesOf(const XPlane& plane) {
  std::vector<std::string> names;
  for (const XLine& line : plane.lines()) names.push_back(line.name());
  return names;
}

std::vector<std::string> EventsOf(const XPlane& plane, int line) {
  std::vector<std::string> names;
  for (const XEvent& event : plane.lines(line).events()) names.push_back(NameOf(plane, event));
  return names;
}

TEST(XSpace, HasAnEventForTheRecordingIfNothingRan) {
  Recording recording = Of({});
  recording.runs_left_out = 4;
  const XSpace space = ToXSpace(recording, "web-1:8500");
  EXPECT_THAT(space.hostnames(), ElementsAre("web-1:8500"));
  const XPlane& plane = space.planes(0);
  EXPECT_EQ(plane.name(), "/host:CPU");
  ASSERT_THAT(EventsOf(plane, 0), ElementsAre("recording"));
  const XEvent& event = plane.lines(0).events(0);
  EXPECT_EQ(event.duration_ps(), 1'000'000 * kMicrosecond);
  EXPECT_THAT(StatsOf(plane, event), UnorderedElementsAre(Pair("runs", "0"), Pair("runs_left_out", "4")));
}

TEST(XSpace, SaysWhenTheRecordingWas) {
  const XSpace space = ToXSpace(Of({}), "");
  EXPECT_TRUE(space.hostnames().empty());
  const XPlane& plane = space.planes(1);
  EXPECT_EQ(plane.name(), "Task Environment");
  EXPECT_THAT(StatsOf(plane, plane), UnorderedElementsAre(Pair("profile_start_time", "1800000000000000000"),
                                                          Pair("profile_stop_time", "1800000001000000000")));
}

TEST(XSpace, ARunContainsItsNodesWithTimesAndSizes) {
  const XSpace space = ToXSpace(Of({LoopRun(microseconds(50))}), "");
  const XPlane& plane = space.planes(0);
  EXPECT_THAT(LinesOf(plane), ElementsAre("recording", "digits version 2, runs 1", "digits version 2, memory"));
  ASSERT_THAT(EventsOf(plane, 1), ElementsAre("SessionRun", "plan", "loop:While", "body/add:AddV2", "conv:Conv2D"));
  const XEvent& run = plane.lines(1).events(0);
  EXPECT_EQ(run.offset_ps(), 50 * kMicrosecond);
  EXPECT_EQ(run.duration_ps(), 100 * kMicrosecond);
  EXPECT_THAT(StatsOf(plane, run),
              testing::IsSupersetOf({Pair("_r", "1"), Pair("id", "1"), Pair("model_name", "digits"),
                                     Pair("model_version", "2"), Pair("signature", "serving_default"),
                                     Pair("inputs", "image DT_FLOAT [2,8,8,1]"), Pair("memory_bytes", "3000")}));
  const XEvent& node = plane.lines(1).events(4);
  EXPECT_EQ(plane.event_metadata().at(node.metadata_id()).display_name(), "Conv2D");
  EXPECT_EQ(node.offset_ps(), 80 * kMicrosecond);
  EXPECT_EQ(node.duration_ps(), 3 * kMicrosecond / 2);
  EXPECT_THAT(
      StatsOf(plane, node),
      UnorderedElementsAre(Pair("runs_as", "onednn jit:avx2"), Pair("then", "BiasAdd, Relu"),
                           Pair("output", "DT_FLOAT [2,8,8,24]"), Pair("output_bytes", "12288"), Pair("flops", "500")));
}

TEST(XSpace, PutsConcurrentRunsAndOtherVersionsIntoOtherLines) {
  const XSpace space = ToXSpace(Of({LoopRun(microseconds(0)), LoopRun(microseconds(50)), LoopRun(microseconds(200)),
                                    LoopRun(microseconds(10), 3)}),
                                "");
  const XPlane& plane = space.planes(0);
  EXPECT_THAT(LinesOf(plane),
              ElementsAre("recording", "digits version 2, runs 1", "digits version 2, runs 2",
                          "digits version 2, memory", "digits version 3, runs 1", "digits version 3, memory"));
  const auto number = [&plane](int line, int event) { return StatsOf(plane, plane.lines(line).events(event))["id"]; };
  EXPECT_EQ(number(1, 0), "1");
  EXPECT_EQ(number(4, 0), "2");
  EXPECT_EQ(number(2, 0), "3");
  EXPECT_EQ(number(1, 5), "4");
}

TEST(XSpace, ShowsTheMemoryOfRuns) {
  const XSpace space = ToXSpace(Of({LoopRun(microseconds(50))}), "");
  const XPlane& plane = space.planes(0);
  std::vector<std::string> seen;
  for (const XEvent& event : plane.lines(2).events()) {
    auto stats = StatsOf(plane, event);
    seen.push_back(fmt::format("{} {} {} {} {}", event.offset_ps() / kMicrosecond, NameOf(plane, event),
                               stats["requested_bytes"], stats["bytes_allocated"], stats["peak_bytes_in_use"]));
  }
  EXPECT_THAT(seen, ElementsAre("65 MemoryAllocation 1000 1000 1000", "81 MemoryAllocation 2000 3000 3000",
                                "150 MemoryDeallocation 3000 0 3000"));
}

TEST(XSpace, ReplacesBytesThatAreNotUtf8) {
  const auto run = LoopRun(microseconds(0));
  run->model = "digits\xff";
  run->run.profile.nodes[0].node = "\xffnode";
  const XSpace space = ToXSpace(Of({run}), "host\xff");
  XSpace read;
  ASSERT_TRUE(read.ParseFromString(space.SerializeAsString()));
  EXPECT_EQ(read.hostnames(0), "host\uFFFD");
  EXPECT_EQ(read.planes(0).lines(1).name(), "digits\uFFFD version 2, runs 1");
}

}  // namespace
}  // namespace longshore::profiling
