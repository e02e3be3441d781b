#include "tests/load/texts.h"

#include <gtest/gtest.h>

namespace longshore::load {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Counts Answered(int64_t count, Duration latency) {
  Counts counts;
  counts.sent = count;
  counts.answered = count;
  for (int64_t i = 0; i < count; ++i) counts.latency.Add(latency);
  return counts;
}

void Fail(Counts& counts, const std::string& code, const std::string& message, int64_t count) {
  counts.sent += count;
  counts.failed += count;
  counts.errors[code] = {count, message};
}

TEST(LiveLine, HasTheRateAndTheLatenciesOfTheLastIntervalAndAllErrors) {
  Progress progress{.elapsed = seconds(12), .interval = milliseconds(500), .recent = {}, .total = {}, .in_flight = 3};
  progress.recent = Answered(500, microseconds(1024));
  progress.total.failed = 7;
  EXPECT_EQ(LiveLine(progress), "12 s  1000.0 requests/s  7 errors  p50 1.02 ms  p99 1.02 ms  3 in flight");
  progress.recent = {};
  EXPECT_EQ(LiveLine(progress), "12 s  0.0 requests/s  7 errors  p50 -  p99 -  3 in flight");
}

TEST(SegmentLine, HasTheCountsOfTheSegment) {
  SegmentReport report{
      .name = "after-promotion", .began_at = TimePoint{}, .ended_at = TimePoint{seconds(10)}, .counts = {}};
  report.counts = Answered(100, microseconds(2048));
  Fail(report.counts, "UNAVAILABLE", "", 1);
  EXPECT_EQ(SegmentLine(report),
            "  after-promotion: 10.0 s, 101 sent, 100 answered, 1 failed, p50 2.05 ms, p99 2.05 ms\n");
}

TEST(Summary, OfARunWithErrorsHasEverySection) {
  RunResult run{.sending = seconds(10), .requests_asked = 2000, .total = Answered(1500, microseconds(1024))};
  run.total.latency.Merge(Answered(480, microseconds(1448)).latency);
  run.total.latency.Merge(Answered(20, milliseconds(30)).latency);
  run.total.answered = run.total.sent = 2000;
  Fail(run.total, "DEADLINE_EXCEEDED", "the deadline of 5000 ms passed", 1);
  Fail(run.total, "UNAVAILABLE", "Socket closed", 4);
  run.total.retried = 3;
  run.unanswered = 1;
  run.total.versions[1].unkeyed = 1990;
  run.total.versions[2] = {
      .keyed = 4, .unkeyed = 6, .non_finite = 2, .first_answer = {}, .last_answer = {}, .first_non_finite = {}};
  run.total.nodes = {{"n0", 1200}, {"n1", 800}};
  EXPECT_EQ(SummaryText(run),
            R"(10.0 s: 200.0 requests/s asked for, 200.5 requests/s sent (100.2 %), 200.0 requests/s answered

requests  2005 sent, 2000 answered, 5 failed (0.25 %), 1 without an answer, 3 retries
latency   p50 1.02 ms, p90 1.45 ms, p99 1.45 ms, longest 30.0 ms

  up to  1.33 ms       1500   75.0 %  ########################################
  up to  1.88 ms        480   24.0 %  #############
  up to  2.66 ms          0    0.0 %
  up to  3.76 ms          0    0.0 %
  up to  5.31 ms          0    0.0 %
  up to  7.51 ms          0    0.0 %
  up to  10.6 ms          0    0.0 %
  up to  15.0 ms          0    0.0 %
  up to  21.2 ms          0    0.0 %
  up to  30.0 ms         20    1.0 %  #

errors, each with its first message
          4  UNAVAILABLE: Socket closed
          1  DEADLINE_EXCEEDED: the deadline of 5000 ms passed

answers by version
       1990   99.5 %  1
         10    0.5 %  2  2 with NaN or Inf

answers by node
       1200   60.0 %  n0
        800   40.0 %  n1
)");
}

TEST(Summary, WarnsOnlyIfTheGeneratorWasTooSlow) {
  const auto text = [](int64_t sent, double asked = 10'000) {
    RunResult run{.sending = seconds(10), .requests_asked = asked, .total = {}};
    run.total.sent = sent;
    return SummaryText(run);
  };
  const std::string warning =
      "warning: the generator was too slow to send all requests; its latencies may be too long\n";
  EXPECT_NE(text(9'600).find("\n" + warning), std::string::npos);
  EXPECT_EQ(text(9'701).find(warning), std::string::npos) << "a Poisson process differs from its mean by that much";
  EXPECT_NE(text(10, 200).find("\n" + warning), std::string::npos) << "also in a short run";
  EXPECT_EQ(text(160, 200).find(warning), std::string::npos);
}

TEST(Summary, OfAShortRunHasCountsInsteadOfRates) {
  RunResult run{.sending = seconds(2), .requests_asked = 22, .total = Answered(26, microseconds(1024))};
  run.total.sent = 26;
  EXPECT_TRUE(SummaryText(run).starts_with(
      "2.0 s: about 22 requests asked for, which arrive at random times; 26 sent, 26 answered\n"))
      << SummaryText(run);
}

TEST(Summary, OfARunWithoutAnswersHasNoLatencies) {
  EXPECT_EQ(SummaryText(RunResult{}),
            R"(0.0 s: about 0 requests asked for, which arrive at random times; 0 sent, 0 answered

requests  0 sent, 0 answered, 0 failed (0.00 %)
)");
}

TEST(Summary, ShowsAQuantileOnlyIfTenAnswersAreAboveIt) {
  const auto text = [](int64_t count) {
    return SummaryText(RunResult{.sending = seconds(1), .total = Answered(count, microseconds(1024))});
  };
  EXPECT_EQ(text(99).find("p90"), std::string::npos);
  EXPECT_NE(text(100).find("p50 1.02 ms, p90 1.02 ms, longest"), std::string::npos);
  EXPECT_NE(text(10'000).find("p99.9 1.02 ms, longest"), std::string::npos);
}

TEST(RunJson, HasTheTimeOfSendingAndTheRequestsThatWereAskedFor) {
  const Json json =
      ToJson(RunResult{.sending = milliseconds(2500), .requests_asked = 100, .total = {}, .unanswered = 2});
  EXPECT_EQ(json.at("seconds"), 2.5);
  EXPECT_EQ(json.at("requests_asked"), 100);
  EXPECT_EQ(json.at("unanswered"), 2);
  EXPECT_EQ(ToJson(Progress{.interval = milliseconds(1001), .recent = {}, .total = {}}).at("seconds"), 1.001);
}

}  // namespace
}  // namespace longshore::load
