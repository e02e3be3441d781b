#include "serving-node/evidence/recorder.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

namespace longshore::evidence {
namespace {

using std::chrono::microseconds;

TEST(TimeHistogram, CountsVeryLongTimesInItsLastBucket) {
  TimeHistogram histogram;
  histogram.Count(std::chrono::minutes(17));
  histogram.Count(std::chrono::hours(10));
  google::protobuf::RepeatedField<int64_t> buckets;
  histogram.CopyTo(&buckets);
  ASSERT_EQ(buckets.size(), 241);
  EXPECT_EQ(buckets[240], 2);
}

TEST(IsTooBusy, MeansNoSlotNoMemoryNoTimeOrNoVersion) {
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kResourceExhausted, Code::kCancelled})
    EXPECT_TRUE(IsTooBusy(code)) << CodeName(code);
  for (const Code code : {Code::kOk, Code::kInternal, Code::kUnknown, Code::kDataLoss, Code::kInvalidArgument})
    EXPECT_FALSE(IsTooBusy(code)) << CodeName(code);
}

TEST(Counters, CountOnlyServerErrorsAsErrors) {
  Counters counters;
  for (const Code code : {Code::kOk, Code::kInternal, Code::kUnknown, Code::kDataLoss}) counters.CountRequest(code);
  for (const Code code :
       {Code::kInvalidArgument, Code::kDeadlineExceeded, Code::kCancelled, Code::kResourceExhausted}) {
    counters.CountRequest(code);
  }
  EXPECT_EQ(counters.requests(), 4);
  EXPECT_EQ(counters.errors(), 3);
}

TEST(Counters, KeepTheTimeOfTheFirstNonFiniteAnswer) {
  Counters counters;
  counters.CountNonFinite(FromUnixMillis(1000));
  counters.CountNonFinite(FromUnixMillis(2000));
  EXPECT_EQ(counters.Snapshot().non_finite(), 2);
  EXPECT_EQ(counters.Snapshot().first_non_finite_unix_ms(), 1000);
}

std::vector<int64_t> ListOf(const google::protobuf::RepeatedField<int64_t>& counts) {
  return {counts.begin(), counts.end()};
}

TEST(Counters, ReportTheBinsOfTheNewestSaltOnly) {
  Counters counters;
  EXPECT_FALSE(counters.Snapshot().has_bins());
  const auto before = counters.BinsOf("uid/2/1");
  before->Count(1, false);
  before->Count(1, true);
  before->Count(3, false);
  EXPECT_EQ(counters.BinsOf("uid/2/1"), before) << "the same salt, so the same counts";
  const control::BinEvidence first = counters.Snapshot().bins();
  EXPECT_EQ(first.salt(), "uid/2/1");
  EXPECT_EQ(ListOf(first.requests()), (std::vector<int64_t>{0, 2, 0, 1}));
  EXPECT_EQ(ListOf(first.bad()), (std::vector<int64_t>{0, 1}));

  counters.BinsOf("uid/3/1")->Count(0, false);
  before->Count(5, true);  // A request that began before the salt changed.
  const control::BinEvidence second = counters.Snapshot().bins();
  EXPECT_EQ(second.salt(), "uid/3/1");
  EXPECT_EQ(ListOf(second.requests()), std::vector<int64_t>{1});
  EXPECT_EQ(second.bad_size(), 0);

  EXPECT_EQ(counters.BinsOf(""), nullptr);
  EXPECT_FALSE(counters.Snapshot().has_bins());
}

TEST(Counters, SumAndBucketsAgreeWithTheRuns) {
  Counters counters;
  counters.CountRunTime(microseconds(1), 0);
  counters.CountRunTime(microseconds(2), 0);
  counters.CountRunTime(microseconds(2), 8);
  const control::Evidence evidence = counters.Snapshot();
  ASSERT_EQ(evidence.run_time_buckets_size(), 9);
  EXPECT_EQ(evidence.run_time_buckets(0), 1);
  EXPECT_EQ(evidence.run_time_buckets(8), 2);
  EXPECT_DOUBLE_EQ(evidence.run_time_sum_us(), 5);
}

TEST(Counters, SeparateRunTimesByRowsRoundedUpToAPowerOfTwo) {
  Counters counters;
  for (const int rows : {0, 1, 2, 3, 4, 5, 100'000, 1'000'000}) counters.CountRunTime(microseconds(1), rows);
  counters.CountRunTime(microseconds(2), 3);
  const control::Evidence evidence = counters.Snapshot();
  std::map<int, std::vector<int64_t>> times;
  for (const auto& of_rows : evidence.run_times_of_rows()) {
    EXPECT_TRUE(times.empty() || times.rbegin()->first < of_rows.rows());
    times[of_rows.rows()] = {of_rows.buckets().begin(), of_rows.buckets().end()};
  }
  const std::map<int, std::vector<int64_t>> expected{{0, {1}}, {1, {1}},    {2, {1}}, {4, {2, 0, 0, 0, 0, 0, 0, 0, 1}},
                                                     {8, {1}}, {32768, {2}}};
  EXPECT_EQ(times, expected);
  ASSERT_EQ(evidence.run_time_buckets_size(), 9);
  EXPECT_EQ(evidence.run_time_buckets(0), 8);
  EXPECT_EQ(evidence.run_time_buckets(8), 1);
}

TEST(Counters, RatiosOfPairsFollowTheWireContract) {
  Counters counters;
  counters.CountPair({.ratio = 1});
  counters.CountPair({.kind = PairOutcome::Kind::kCandidateFailed});
  const control::PairEvidence pairs = counters.Snapshot().pairs();
  EXPECT_EQ(pairs.pairs(), 2);
  ASSERT_EQ(pairs.ratio_buckets_size(), 65);
  EXPECT_EQ(pairs.ratio_buckets(64), 1) << "the pair that failed has no ratio";
}

// Otherwise, strings that differ in all pairs would have the mean difference 0.
TEST(Counters, PairsWithoutFloatsHaveNoDrift) {
  Counters counters;
  counters.CountPair({.ratio = 1, .difference = {.relative = 0, .is_measured = false}});
  EXPECT_EQ(counters.Snapshot().drift().pairs(), 0);
  counters.CountPair({.ratio = 1, .difference = {.relative = 0.5, .is_measured = true}});
  EXPECT_EQ(counters.Snapshot().drift().pairs(), 1);
  EXPECT_EQ(counters.Snapshot().drift().difference_sum(), 0.5);
}

PairOutcome WithOutputs(const std::vector<OutputOutcome>& outputs, const std::string& mismatch = "") {
  return {.outputs = outputs, .mismatch = mismatch};
}

TEST(Counters, CountsOfAnOutputRuleNeverDecreaseWhenTheRulesChange) {
  Counters counters;
  const OutputOutcome differs{.rule = "a: Top1", .output = "a", .counted = true, .differs = true};
  const OutputOutcome noise{.rule = "b: Top1", .output = "b", .counted = true, .noise = true};
  const OutputOutcome unknown{.rule = "c: Top1", .output = "c"};
  counters.CountPair(WithOutputs({differs, noise, unknown}));
  counters.CountPair(WithOutputs({noise, differs}));
  control::PairEvidence pairs = counters.Snapshot().pairs();
  ASSERT_EQ(pairs.outputs_size(), 2) << "only the rules of the newest pair";
  EXPECT_EQ(pairs.outputs(0).rule(), "b: Top1");
  EXPECT_EQ(pairs.outputs(0).noise(), 2);
  EXPECT_EQ(pairs.outputs(1).rule(), "a: Top1");
  EXPECT_EQ(pairs.outputs(1).differs(), 2);
  counters.CountPair(WithOutputs({noise}));
  counters.CountPair(WithOutputs({differs, unknown}));
  pairs = counters.Snapshot().pairs();
  ASSERT_EQ(pairs.outputs_size(), 2);
  EXPECT_EQ(pairs.outputs(0).pairs(), 3) << "the counts from before the rule was removed";
  EXPECT_EQ(pairs.outputs(1).pairs(), 0);
  counters.CountPair({.kind = PairOutcome::Kind::kCandidateFailed});
  EXPECT_EQ(counters.Snapshot().pairs().outputs_size(), 2) << "a pair without answers says nothing about the rules";
}

TEST(Counters, ForgetOldOutputRulesAboveTheirLimit) {
  Counters counters;
  const auto count = [&counters](const std::string& rule) {
    counters.CountPair(WithOutputs({{.rule = rule, .output = "a", .counted = true}}));
    return counters.Snapshot().pairs().outputs(0).pairs();
  };
  for (size_t i = 0; i <= Counters::kRulesMax; ++i) count(std::to_string(i));
  EXPECT_EQ(count("0"), 1) << "forgotten";
  EXPECT_EQ(count("0"), 2);
}

TEST(Counters, KeepTheFirstMismatch) {
  Counters counters;
  counters.CountPair(WithOutputs({}, "first" + std::string(10'000, '.')));
  counters.CountPair(WithOutputs({}, "second"));
  counters.CountPair(WithOutputs({}));
  const control::PairEvidence pairs = counters.Snapshot().pairs();
  EXPECT_EQ(pairs.mismatched(), 2);
  EXPECT_EQ(pairs.mismatch().substr(0, 5), "first");
  EXPECT_EQ(pairs.mismatch().size(), Counters::kMismatchBytesMax);
}

TEST(Counters, OverloadIsNeitherARequestNorAnError) {
  Counters counters;
  counters.CountOverloaded();
  EXPECT_EQ(counters.Snapshot().overloaded(), 1);
  EXPECT_EQ(counters.Snapshot().requests(), 0);
  EXPECT_EQ(counters.Snapshot().errors(), 0);
}

TEST(Counters, LoseNoRunTimeWithManyThreads) {
  Counters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&counters] {
      for (int i = 0; i < 1000; ++i) counters.CountRunTime(microseconds(1), i % 40);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counters.Snapshot().run_time_buckets(0), 4000);
}

TEST(Recorder, LosesNoCountWithManyThreads) {
  Recorder recorder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&recorder] {
      for (int i = 0; i < 5000; ++i) recorder.For("m", i % 2)->CountRequest(Code::kOk);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(recorder.Snapshot("m", 0).requests() + recorder.Snapshot("m", 1).requests(), 20000);
}

TEST(Recorder, ForgetsUnusedVersionsAboveItsLimit) {
  Recorder recorder;
  const auto held = recorder.For("m", 0);
  held->CountRequest(Code::kOk);
  for (size_t v = 1; v < 2 * Recorder::kVersionsMax; ++v)
    recorder.For("m", static_cast<int64_t>(v))->CountRequest(Code::kOk);
  EXPECT_EQ(recorder.For("m", 0), held);
  recorder.For("n", 1)->CountRequest(Code::kOk);
  EXPECT_EQ(recorder.Snapshot("n", 1).requests(), 1) << "a version above the limit is counted";
  EXPECT_EQ(recorder.Snapshot("m", 1).requests(), 0) << "an unused version is forgotten";
}

TEST(Recorder, SharesCountersAmongVersionsAboveItsLimitWhileAllAreInUse) {
  Recorder recorder;
  std::vector<std::shared_ptr<Counters>> held;
  for (size_t v = 0; v < Recorder::kVersionsMax; ++v) held.push_back(recorder.For("m", static_cast<int64_t>(v)));
  EXPECT_EQ(recorder.For("n", 1), recorder.For("n", 2));
  EXPECT_NE(recorder.For("m", 1), recorder.For("m", 2));
}

TEST(Recorder, ReportsTheTimesOfEachModelWhileTheyAreHeld) {
  Recorder recorder;
  auto a = recorder.TimesOf("a");
  const auto b = recorder.TimesOf("b");
  a->Count(microseconds(1));
  EXPECT_EQ(recorder.TimesOf("a"), a);
  control::NodeLoad load;
  recorder.AddTo(&load);
  ASSERT_EQ(load.models_size(), 2);
  EXPECT_EQ(load.models(0).served_name(), "a");
  ASSERT_EQ(load.models(0).total_time_buckets_size(), 1);
  EXPECT_EQ(load.models(0).total_time_buckets(0), 1);
  EXPECT_EQ(load.models(1).total_time_buckets_size(), 0);
  a.reset();
  control::NodeLoad later;
  recorder.AddTo(&later);
  ASSERT_EQ(later.models_size(), 1);
  EXPECT_EQ(later.models(0).served_name(), "b");
}

TEST(Recorder, ReportsTheTotalsOfTheNode) {
  Recorder recorder;
  recorder.CountReceived();
  recorder.CountReceived();
  recorder.CountForwarded();
  recorder.CountAnswered(microseconds(1));
  control::NodeLoad load;
  recorder.AddTo(&load);
  EXPECT_EQ(load.received(), 2);
  EXPECT_EQ(load.forwarded(), 1);
  ASSERT_EQ(load.total_time_buckets_size(), 1);
  EXPECT_EQ(load.total_time_buckets(0), 1);
}

}  // namespace
}  // namespace longshore::evidence
