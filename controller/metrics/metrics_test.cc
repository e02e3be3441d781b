#include "controller/metrics/metrics.h"

#include <gtest/gtest.h>

#include "controller/metrics/prometheus_answer.h"

namespace longshore::metrics {
namespace {

using autoscale::Presence;
using std::chrono::seconds;

TEST(PrometheusAnswer, OneSampleIsAValueWithItsTime) {
  const autoscale::Signal signal = SignalFromAnswer(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000.5,"0.25"]}]}})");
  EXPECT_EQ(signal.presence, Presence::kValue);
  EXPECT_DOUBLE_EQ(signal.value, 0.25);
  EXPECT_EQ(ToUnixMillis(signal.at), 1700000000500);
}

TEST(PrometheusAnswer, WhateverIsNoNumberIsUnknown) {
  const auto sample = [](const std::string& value) {
    return R"({"status":"success","data":{"resultType":"vector","result":[{"value":[1700000000,)" + value + "]}]}}";
  };
  ASSERT_EQ(SignalFromAnswer(sample("\"1\"")).presence, Presence::kValue);
  for (const char* value : {"\"NaN\"", "\"+Inf\"", "\"-1\"", "\"\"", "\"1x\"", "1", "null"}) {
    EXPECT_EQ(SignalFromAnswer(sample(value)).presence, Presence::kUnknown) << value;
  }
  for (const char* body : {"", "<html>", "[]", R"({"status":"error"})",
                           R"({"status":"success","data":{"resultType":"vector","result":[]}})",
                           R"({"status":"success","data":{"resultType":"matrix","result":[]}})"}) {
    EXPECT_EQ(SignalFromAnswer(body).presence, Presence::kUnknown) << body;
  }
}

nodes::NodeView Node(const std::string& incarnation, TimePoint at, double busy, double queued, int64_t started) {
  nodes::NodeView view;
  view.hello.set_node("a");
  view.hello.set_incarnation(incarnation);
  view.report_at = at;
  view.reported = true;
  view.report.emplace();
  control::NodeLoad& load = *view.report->mutable_load();
  load.set_concurrent_runs_max(2);
  load.set_busy_seconds(busy);
  load.set_queue_seconds(queued);
  load.set_started(started);
  return view;
}

TEST(ReportSource, MeasuresWhatHappenedBetweenTwoReports) {
  const auto source = MakeReportSource({.fleet = "default/cpu", .latency_quantile = 0.99, .prometheus_url = ""});
  const TimePoint begin{seconds(1000)};
  EXPECT_EQ(source->Latest({Node("i", begin, 5, 1, 100)}, begin).utilization.presence, Presence::kUnknown);
  const TimePoint later = begin + seconds(2);
  const auto metrics = source->Latest({Node("i", later, 8, 3, 120)}, later);
  EXPECT_DOUBLE_EQ(metrics.utilization.value, 0.75) << "3 busy seconds of 2 slots in 2 seconds";
  EXPECT_DOUBLE_EQ(metrics.queue_delay_seconds.value, 0.1) << "2 seconds over 20 requests";
  EXPECT_EQ(metrics.utilization.at, later);
}

TEST(ReportSource, NoRequestIsIdleAndARestartedNodeIsUnknown) {
  const auto source = MakeReportSource({.fleet = "default/cpu", .latency_quantile = 0.99, .prometheus_url = ""});
  const TimePoint begin{seconds(1000)};
  source->Latest({Node("i", begin, 5, 1, 100)}, begin);
  const TimePoint later = begin + seconds(1);
  EXPECT_EQ(source->Latest({Node("i", later, 5, 1, 100)}, later).queue_delay_seconds.presence, Presence::kIdle);
  const TimePoint restarted = later + seconds(1);
  const auto after = source->Latest({Node("j", restarted, 0, 0, 0)}, restarted);
  EXPECT_EQ(after.utilization.at, later) << "nothing new was measured: it only grows old";
}

TEST(PrometheusSource, AUrlThatIsNoneIsRefused) {
  const SystemClock clock;
  for (const char* url : {"ftp://x", "nonsense", "http://"}) {
    EXPECT_FALSE(MakePrometheusSource({.fleet = "f", .latency_quantile = 0.99, .prometheus_url = url}, clock)) << url;
  }
}

TEST(PrometheusSource, AServerThatIsNotThereIsUnknown) {
  const SystemClock clock;
  const auto source = MakePrometheusSource(
      {.fleet = "f", .latency_quantile = 0.99, .prometheus_url = "http://127.0.0.1:1"}, clock);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->Latest({}, clock.Now()).utilization.presence, Presence::kUnknown);
}

}  // namespace
}  // namespace longshore::metrics
