#include "controller/console/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::console {
namespace {

using std::chrono::seconds;
using ::testing::FloatNear;

constexpr TimePoint kBegin{std::chrono::hours(1000)};

api::Model SampledModel() {
  api::Model model;
  model.metadata.namespace_ = "vision";
  model.metadata.name = "digits";
  model.metadata.uid = "first";
  model.spec.fleet = "cpu";
  model.spec.served_name = "digits";
  model.status.stable_version = 3;
  return model;
}

struct Counts {
  int64_t requests = 0;
  int64_t errors = 0;
};

// A node that has counted this since its process started. All runs took about a millisecond.
nodes::ViewPtr Node(const std::string& name, int64_t version, const Counts& counts,
                    const std::string& incarnation = "first") {
  auto view = std::make_shared<nodes::NodeView>();
  view->hello.set_node(name);
  view->hello.set_incarnation(incarnation);
  auto report = std::make_shared<control::Report>();
  control::VersionReport& of_version = *report->add_versions();
  of_version.set_served_name("digits");
  of_version.set_version(version);
  control::Evidence& evidence = *of_version.mutable_evidence();
  evidence.set_requests(counts.requests);
  evidence.set_errors(counts.errors);
  control::RunTimesOfRows& times = *evidence.add_run_times_of_rows();
  for (int bucket = 0; bucket < 80; ++bucket) times.add_buckets(0);
  times.add_buckets(counts.requests);
  view->report = std::move(report);
  return view;
}

class SamplerTest : public ::testing::Test {
 protected:
  // Samples five seconds after the last sample.
  void Sample(const std::vector<nodes::ViewPtr>& views) {
    now_ += seconds(5);
    sampler_.Sample({model_}, {{"vision/cpu", views}}, now_, history_);
  }
  const std::deque<TrafficPoint>& Points(int64_t version) {
    of_model_ = history_.Of(model_.metadata.uid);
    return of_model_.versions[version];
  }

  api::Model model_ = SampledModel();
  TimePoint now_ = kBegin;
  Sampler sampler_;
  History history_;
  ModelHistory of_model_;
};

TEST_F(SamplerTest, RatesAreSumsOverTheNodes) {
  Sample({Node("a", 3, {100, 0}), Node("b", 3, {7, 0})});
  EXPECT_TRUE(Points(3).empty()) << "a rate needs two samples";
  Sample({Node("a", 3, {150, 10}), Node("b", 3, {57, 0})});
  ASSERT_EQ(Points(3).size(), 1u);
  EXPECT_FLOAT_EQ(Points(3)[0].requests_per_second, 20);
  EXPECT_FLOAT_EQ(Points(3)[0].errors_per_second, 2);
  EXPECT_THAT(Points(3)[0].median_ms, FloatNear(1, 0.1));
}

TEST_F(SamplerTest, ARestartedNodeCountsFromZero) {
  Sample({Node("a", 3, {100, 0})});
  Sample({Node("a", 3, {100, 0})});
  Sample({Node("a", 3, {10, 0}, "second")});
  EXPECT_FLOAT_EQ(Points(3).back().requests_per_second, 2);
}

TEST_F(SamplerTest, ANodeThatHasLeftIsForgotten) {
  Sample({Node("a", 3, {100, 0}), Node("b", 3, {0, 0})});
  Sample({Node("b", 3, {0, 0})});
  Sample({Node("a", 3, {150, 0}), Node("b", 3, {0, 0})});
  EXPECT_FLOAT_EQ(Points(3).back().requests_per_second, 0) << "the first report of an unknown node has no rate";
}

TEST_F(SamplerTest, AVersionWithoutRequestsIsShownOnlyWhileItServesOrIsCompared) {
  Sample({Node("a", 3, {0, 0}), Node("b", 4, {0, 0})});
  Sample({Node("a", 3, {0, 0}), Node("b", 4, {0, 0})});
  EXPECT_EQ(Points(3).size(), 1u);
  EXPECT_EQ(Points(4).size(), 0u);
  model_.status.rollout.phase = api::RolloutPhase::kStep;
  model_.status.rollout.stable = 3;
  model_.status.rollout.candidate = 4;
  Sample({Node("a", 3, {0, 0}), Node("b", 4, {0, 0})});
  EXPECT_EQ(Points(4).size(), 1u);
}

TEST_F(SamplerTest, AVersionWithALabelIsShown) {
  model_.spec.version_labels = {{"beta", 4}};
  Sample({Node("a", 4, {0, 0})});
  Sample({Node("a", 4, {50, 5})});
  ASSERT_EQ(Points(4).size(), 1u);
  EXPECT_FLOAT_EQ(Points(4)[0].requests_per_second, 10);
  EXPECT_FLOAT_EQ(Points(4)[0].errors_per_second, 1);
}

TEST_F(SamplerTest, AnyVersionWithRequestsIsShownWhileItHasThem) {
  Sample({Node("a", 7, {0, 0})});
  Sample({Node("a", 7, {50, 0})});
  Sample({Node("a", 7, {50, 0})});
  EXPECT_EQ(Points(7).size(), 1u);
}

TEST_F(SamplerTest, ARestartedNodeCountsFromZeroEvenIfItWasSeenBeforeItsFirstReport) {
  Sample({Node("a", 3, {100, 0})});
  auto silent = std::make_shared<nodes::NodeView>(*Node("a", 3, {}, "second"));
  silent->report = nullptr;
  Sample({silent});
  EXPECT_FLOAT_EQ(Points(3).back().requests_per_second, 0);
  Sample({Node("a", 3, {10, 0}, "second")});
  EXPECT_FLOAT_EQ(Points(3).back().requests_per_second, 2);
}

TEST_F(SamplerTest, ADisabledTestHasNoLimit) {
  model_.status.rollout.phase = api::RolloutPhase::kStep;
  model_.status.rollout.verdict.numbers = {{"errorDifferenceLow", -0.02}, {"errorDifferenceHigh", 0.03}};
  model_.spec.rollout.error_rate.enabled = false;
  model_.spec.rollout.latency.enabled = false;
  const auto evidence = EvidenceOf(model_, now_);
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->error_limit, std::nullopt);
  EXPECT_EQ(evidence->ratio_limit, std::nullopt);
}

TEST_F(SamplerTest, EvidenceOfARolloutIsSampledWithItsLimits) {
  model_.status.rollout.phase = api::RolloutPhase::kStep;
  model_.status.rollout.attempt = 2;
  model_.spec.rollout.error_rate = {.tolerance = 0.01, .relative_tolerance = 0.5};
  model_.spec.rollout.latency.tolerance = 0.25;
  model_.status.rollout.verdict.numbers = {
      {"errorDifferenceLow", -0.02}, {"errorDifferenceHigh", 0.03}, {"stableRequests", 1000}, {"stableErrors", 100}};
  Sample({});
  const ModelHistory history = history_.Of(model_.metadata.uid);
  ASSERT_EQ(history.evidence.size(), 1u);
  const EvidencePoint& point = history.evidence[0];
  EXPECT_FLOAT_EQ(point.error_low, -0.02F);
  EXPECT_FLOAT_EQ(point.error_high, 0.03F);
  EXPECT_FLOAT_EQ(point.error_limit.value(), 0.05F) << "half of stable's rate, because that is more than 0.01";
  EXPECT_EQ(point.ratio_high, std::nullopt);
  EXPECT_FLOAT_EQ(point.ratio_limit.value(), 1.25F);
}

TEST_F(SamplerTest, TheLastPointOfARolloutHasTheNumbersOfItsVerdict) {
  api::RolloutStatus& rollout = model_.status.rollout;
  rollout.phase = api::RolloutPhase::kStep;
  rollout.attempt = 2;
  rollout.verdict.numbers = {{"errorDifferenceLow", -1}, {"errorDifferenceHigh", 1}};
  Sample({});
  rollout.phase = api::RolloutPhase::kRolledBack;
  rollout.step_started_at = now_ + seconds(1);
  rollout.verdict.numbers = {{"errorDifferenceLow", -0.13},
                             {"errorDifferenceHigh", 0.13},
                             {"runTimeRatioLow", 15.4},
                             {"runTimeRatioHigh", 15.9}};
  Sample({});
  Sample({});
  const ModelHistory history = history_.Of(model_.metadata.uid);
  ASSERT_EQ(history.evidence.size(), 2u) << "it is added once";
  EXPECT_EQ(history.evidence.back().at, rollout.step_started_at);
  EXPECT_FLOAT_EQ(history.evidence.back().error_high, 0.13F);
  EXPECT_FLOAT_EQ(history.evidence.back().ratio_low.value(), 15.4F);
}

TEST_F(SamplerTest, AModelThatIsCreatedAgainHasItsOwnHistory) {
  for (int i = 0; i < 3; ++i) Sample({Node("a", 3, {i, 0})});
  EXPECT_EQ(Points(3).size(), 2u);
  model_.metadata.uid = "second";
  EXPECT_TRUE(Points(3).empty());
  Sample({Node("a", 3, {3, 0})});
  EXPECT_EQ(Points(3).size(), 1u);
}

TEST_F(SamplerTest, ARolloutThatEndedLongAgoHasNoPoint) {
  model_.status.rollout.phase = api::RolloutPhase::kCompleted;
  model_.status.rollout.step_started_at = now_ - std::chrono::hours(2);
  model_.status.rollout.verdict.numbers = {{"errorDifferenceLow", -1}, {"errorDifferenceHigh", 1}};
  Sample({});
  EXPECT_TRUE(history_.Of(model_.metadata.uid).evidence.empty());
}

TEST_F(SamplerTest, WorstPairsOfARolloutAreKeptAfterItsCandidateIsGone) {
  model_.status.rollout.id = "uid/4/1";
  model_.status.rollout.candidate = 4;
  auto view = std::make_shared<nodes::NodeView>(*Node("a", 4, {0, 0}));
  control::Report report = *view->report;
  control::PairEvidence& pairs = *report.mutable_versions(0)->mutable_evidence()->mutable_pairs();
  pairs.set_worst_salt("uid/4/1");
  pairs.add_worst()->set_output("y");
  view->report = std::make_shared<control::Report>(report);
  for (int i = 0; i < 2; ++i) Sample({view});
  Sample({Node("a", 3, {0, 0})});
  const std::vector<NodePair> worst = history_.Of(model_.metadata.uid).worst_pairs;
  ASSERT_EQ(worst.size(), 1u);
  EXPECT_EQ(worst[0].node, "a");
  EXPECT_EQ(worst[0].pair.output(), "y");
}

}  // namespace
}  // namespace longshore::console
