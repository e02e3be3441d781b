#include "controller/decide/rollout/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/parse.h"

namespace longshore::rollout {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TimePoint kNow{seconds(1'800'000'000)};

// Version 2 is wanted; `more` is merged into the spec.
api::Model MakeModel(int64_t stable, const Json& more = Json::object()) {
  Json spec{{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}, {"version", 2}};
  spec.merge_patch(more);
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.uid = "u";
  model.metadata.generation = 2;
  model.spec = api::ModelSpecFromJson(spec, "digits").value();
  model.status.stable_version = stable;
  return model;
}

Preview Of(const api::Model& model, std::optional<int64_t> latest = std::nullopt) {
  return PredictRollout(model, {"a", "b", "c", "d"}, latest, kNow);
}

// Returns one line per moment, for example "30s Step 25% on 1".
std::vector<std::string> Lines(const Preview& preview) {
  std::vector<std::string> lines;
  for (const Moment& moment : preview.moments) {
    lines.push_back(fmt::format("{}s {} {:g}% on {}", moment.after / seconds(1), moment.event.reason,
                                moment.event.weight_percent, moment.nodes));
  }
  return lines;
}

TEST(Preview, IsTheHistoryOfARolloutInWhichNothingGoesWrong) {
  const Preview preview = Of(MakeModel(1));
  EXPECT_EQ(preview.no_rollout_reason, "");
  EXPECT_EQ(preview.stable, 1);
  EXPECT_EQ(preview.candidate, 2);
  EXPECT_EQ(preview.held, "");
  EXPECT_EQ(preview.keep_warm, std::chrono::minutes(10));
  EXPECT_THAT(Lines(preview),
              ElementsAre("0s Started 0% on 1", "0s Validated 0% on 1", "0s Step 5% on 1", "30s Step 25% on 1",
                          "60s Step 50% on 2", "90s Promoting 50% on 4", "90s Promoted 100% on 4"));
}

TEST(Preview, AssumesThatAnArchiveIsFetched) {
  const std::string sha256(64, 'a');
  const Preview preview = Of(MakeModel(1, {{"source", {{"uri", "https://h/m.tar"}, {"sha256", sha256}}}}));
  EXPECT_EQ(preview.no_rollout_reason, "");
  EXPECT_EQ(preview.moments.back().event.reason, "Promoted");
}

TEST(Preview, FindsTheEndOfAHoldWithinAMillisecond) {
  const Json rollout = {
      {"rollout", {{"hold", "70ms"}, {"steps", {{{"weight", 10}, {"hold", "720h"}}, {{"weight", 20}}}}}}};
  const Preview preview = Of(MakeModel(1, rollout));
  ASSERT_EQ(preview.moments.size(), 6u);
  EXPECT_GE(preview.moments[3].after, std::chrono::hours(720));
  EXPECT_LE(preview.moments[3].after, std::chrono::hours(720) + std::chrono::milliseconds(1));
  EXPECT_LE(preview.moments[5].after - preview.moments[3].after, std::chrono::milliseconds(72));
}

TEST(Preview, PromotesAStepThatWaitsForIt) {
  const Json rollout = {{"rollout", {{"steps", {{{"weight", 10}, {"pause", "Manual"}}, {{"weight", 20}}}}}}};
  EXPECT_THAT(Lines(Of(MakeModel(1, rollout))),
              ElementsAre("0s Started 0% on 1", "0s Validated 0% on 1", "0s Step 10% on 1", "0s Paused 10% on 1",
                          "0s PromotedByCommand 10% on 1", "0s Step 20% on 1", "30s Promoting 20% on 4",
                          "30s Promoted 100% on 4"));
}

TEST(Preview, StopsWhenTheManifestPauses) {
  const Preview preview = Of(MakeModel(1, {{"rollout", {{"paused", true}}}}));
  EXPECT_EQ(preview.held, "Spec");
  EXPECT_THAT(Lines(preview), ElementsAre("0s Started 0% on 1", "0s Validated 0% on 1", "0s Paused 0% on 1"));
}

TEST(Preview, TheFirstVersionServesAsSoonAsANodeHasIt) {
  EXPECT_THAT(Lines(Of(MakeModel(0))),
              ElementsAre("0s Started 0% on 1", "0s Validated 0% on 4", "0s Promoted 100% on 4"));
}

TEST(Preview, ContinuesARolloutThatIsUnderWayOrStartsAnotherOneIfTheSpecChanged) {
  api::Model model = MakeModel(1);
  model.status.rollout.phase = api::RolloutPhase::kStep;
  model.status.rollout.stable = 1;
  model.status.rollout.candidate = 2;
  model.status.rollout.step_index = 2;
  model.status.rollout.weight_percent = 50;
  model.status.rollout.step_started_at = kNow - seconds(20);
  EXPECT_THAT(Lines(Of(model)), ElementsAre("10s Promoting 50% on 4", "10s Promoted 100% on 4"));
  model.spec.version = 3;
  EXPECT_THAT(Lines(Of(model)), ElementsAre("0s RolledBack 0% on 0", "0s Started 0% on 1", "0s Validated 0% on 1",
                                            "0s Step 5% on 1", "30s Step 25% on 1", "60s Step 50% on 2",
                                            "90s Promoting 50% on 4", "90s Promoted 100% on 4"));
}

TEST(Preview, SaysWhyThereIsNoRollout) {
  EXPECT_EQ(Of(MakeModel(2)).no_rollout_reason, "version 2 serves already");
  EXPECT_TRUE(Of(MakeModel(2)).moments.empty());
  EXPECT_EQ(PredictRollout(MakeModel(1), {}, std::nullopt, kNow).no_rollout_reason,
            "no node of fleet cpu is connected");
  api::Model failed = MakeModel(1);
  failed.status.failed = {{2, "", 2, "GoldenSet", "0 of 3 passed", kNow}};
  EXPECT_THAT(Of(failed).no_rollout_reason, HasSubstr("version 2 failed (GoldenSet: 0 of 3 passed)"));
  failed.metadata.generation = 3;
  EXPECT_EQ(Of(failed).no_rollout_reason, "") << "a new generation tries it again";
  api::Model latest = MakeModel(1);
  latest.spec.version.reset();
  EXPECT_EQ(Of(latest).no_rollout_reason, "no version has been found under file:///models/digits");
  EXPECT_EQ(Of(latest, 7).candidate, 7);
}

}  // namespace
}  // namespace longshore::rollout
