#include "tests/load/comparison.h"

#include <gmock/gmock.h>

namespace longshore::load {
namespace {

using testing::HasSubstr;

struct Kind {
  int64_t answered = 100;
  int64_t failed = 0;
  int64_t latency_us = 1024;
};

SavedSecond Second(const Kind& kind) {
  SavedSecond second{.seconds = 1,
                     .sent = kind.answered + kind.failed,
                     .answered = kind.answered,
                     .failed = kind.failed,
                     .latency = {}};
  for (int64_t i = 0; i < kind.answered; ++i) second.latency.Add(std::chrono::microseconds(kind.latency_us));
  return second;
}

SavedRun RunOf(const std::string& name, const std::vector<Kind>& kinds) {
  SavedRun run{.name = name, .requests_asked = 100.0 * static_cast<double>(kinds.size()), .whole = {}, .seconds = {}};
  for (const Kind& kind : kinds) {
    run.seconds.push_back(Second(kind));
    run.whole.seconds += 1;
    run.whole.sent += kind.answered + kind.failed;
    run.whole.answered += kind.answered;
    run.whole.failed += kind.failed;
    run.whole.latency.Merge(run.seconds.back().latency);
  }
  return run;
}

TEST(Comparison, ShowsBothRunsAndWhichDifferencesAreLargerThanTheirUncertainty) {
  const std::vector<Kind> slower(8, {.answered = 90, .failed = 10, .latency_us = 2048});
  EXPECT_EQ(ComparisonText(RunOf("a.json", std::vector<Kind>(8)), RunOf("b.json", slower)),
            R"(A: a.json, 8.0 s, 100.0 requests/s asked for
B: b.json, 8.0 s, 100.0 requests/s asked for

                     A           B          B / A  95 % interval
sent           100.0/s     100.0/s           1.00  1.00 to 1.00      no difference beyond its uncertainty
answered       100.0/s      90.0/s           0.90  0.90 to 0.90      B is lower
failed          0.00 %     10.00 %  +10.00 points  +10.00 to +10.00  B is higher
p50            0.98 ms     1.96 ms           2.00  2.00 to 2.00      B is higher
p90            1.02 ms     2.03 ms           2.00  2.00 to 2.00      B is higher
p99            1.02 ms     2.05 ms           2.00  2.00 to 2.00      B is higher
p99.9          1.02 ms     2.05 ms           2.00  2.00 to 2.00      B is higher
)");
}

TEST(Comparison, ADifferenceOfOneSecondOfTenIsNotLargerThanItsUncertainty) {
  std::vector<Kind> stalled(10);
  stalled[4] = {.answered = 70, .failed = 30, .latency_us = 64'000};
  const std::string text = ComparisonText(RunOf("a", std::vector<Kind>(10)), RunOf("b", stalled));
  EXPECT_THAT(text,
              HasSubstr("failed          0.00 %      3.00 %   +3.00 points  +0.00 to +9.00    no difference beyond"));
  EXPECT_THAT(text, testing::ContainsRegex("p99 .* no difference beyond its uncertainty\n"));
}

TEST(Comparison, OfRunsThatAreTooShortHasNoVerdict) {
  const std::string text = ComparisonText(RunOf("a", std::vector<Kind>(5)), RunOf("b", std::vector<Kind>(60)));
  EXPECT_THAT(text,
              HasSubstr("p50            0.98 ms     0.98 ms           1.00                    too little to judge\n"));
  EXPECT_THAT(text, HasSubstr("\nBoth runs need at least 6 seconds for a judgement.\n"));
}

TEST(Comparison, OfARunWithoutAnswersHasNoRatio) {
  const std::vector<Kind> none(8, {.answered = 0, .failed = 100});
  const std::string text = ComparisonText(RunOf("a", none), RunOf("b", std::vector<Kind>(8)));
  EXPECT_THAT(text,
              HasSubstr("p50            0.00 ms     0.98 ms              -                    too little to judge\n"));
  EXPECT_THAT(text, HasSubstr("failed        100.00 %      0.00 % -100.00 points  -100.00 to -100.00  B is lower\n"));
}

TEST(ParseRun, ReadsTheProgressAndFinalLines) {
  const auto run =
      ParseRun("a.json", R"({"type":"progress","seconds":1,"sent":3,"answered":2,"failed":1,"latency_us":[[1024,2]]}
{"type":"segment","name":"start"}

{"type":"final","seconds":1.5,"requests_asked":4,"sent":4,"answered":3,"failed":1,"latency_us":[[1024,3]]}
)");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->name, "a.json");
  EXPECT_EQ(run->requests_asked, 4);
  EXPECT_EQ(run->whole.answered, 3);
  ASSERT_EQ(run->seconds.size(), 1u);
  EXPECT_EQ(run->seconds[0].failed, 1);
  EXPECT_EQ(run->seconds[0].latency.count(), 2);
}

TEST(ParseRun, SaysWhyAFileCannotBeCompared) {
  const auto why = [](std::string_view lines) { return ParseRun("a.json", lines).error().message; };
  EXPECT_THAT(why("10.0 s: 100 requests/s\n"), HasSubstr("a.json: not the output of longshore-load --json: "));
  EXPECT_EQ(why(""), "a.json: has no line of type \"final\", so the run has not ended");
  EXPECT_EQ(why("7\n"), "a.json: has no line of type \"final\", so the run has not ended");
  EXPECT_EQ(why(R"({"type":"final","sent":1})"), "a.json: a line has no number \"seconds\"");
  EXPECT_EQ(why(R"({"type":"progress","seconds":1,"sent":1,"answered":1,"failed":0,"latency_us":[7]})"),
            "a.json: 7 is not a bucket of latencies");
  EXPECT_EQ(why(R"({"type":"final","seconds":1,"sent":1,"answered":1,"failed":0,"latency_us":[]})"),
            "a.json: the final line has no number \"requests_asked\"");
}

}  // namespace
}  // namespace longshore::load
