#include "controller/fleet/pods/endpoints.h"

#include <gtest/gtest.h>

namespace longshore::fleet::pods {
namespace {

const MonotonicPoint kFirst{std::chrono::seconds(10)};
const MonotonicPoint kLater{std::chrono::seconds(20)};
const EndpointSlice kReady{.fleet = "vision/cpu", .service_uid = "s1", .has_ready = true};
const EndpointSlice kNotReady{.fleet = "vision/cpu", .service_uid = "s1"};

Json SliceOf(const Json& conditions) {
  return {{"metadata",
           {{"namespace", "vision"},
            {"labels", {{"longshore.dev/fleet", "cpu"}}},
            {"ownerReferences", Json::array({{{"uid", "s1"}}})}}},
          {"endpoints", Json::array({{{"conditions", conditions}}})}};
}

TEST(EndpointSliceFrom, AnEndpointIsReadyUnlessItSaysOtherwise) {
  EXPECT_TRUE(EndpointSliceFrom(SliceOf({{"ready", true}}))->has_ready);
  EXPECT_TRUE(EndpointSliceFrom(SliceOf(Json::object()))->has_ready);
  EXPECT_FALSE(EndpointSliceFrom(SliceOf({{"ready", false}, {"serving", true}}))->has_ready);
  Json empty = SliceOf({});
  empty["endpoints"] = nullptr;
  const auto slice = EndpointSliceFrom(empty);
  EXPECT_FALSE(slice->has_ready);
  EXPECT_EQ(slice->fleet, "vision/cpu");
  EXPECT_EQ(slice->service_uid, "s1");
  EXPECT_FALSE(EndpointSliceFrom({{"metadata", {{"namespace", "vision"}}}}));
}

TEST(ReadySlices, KnowSinceWhenTheFirstEndpointHasBeenReady) {
  ReadySlices slices;
  EXPECT_EQ(slices.Since("vision/cpu", "s1"), std::nullopt);
  slices.Update({"vision", "a"}, kReady, kFirst);
  slices.Update({"vision", "a"}, kReady, kLater);
  slices.Update({"vision", "b"}, kReady, kLater);
  EXPECT_EQ(slices.Since("vision/cpu", "s1"), kFirst);
  slices.Update({"vision", "a"}, kNotReady, kLater);
  EXPECT_EQ(slices.Since("vision/cpu", "s1"), kLater);
  slices.Remove({"vision", "b"}, "vision/cpu");
  EXPECT_EQ(slices.Since("vision/cpu", "s1"), std::nullopt);
}

TEST(ReadySlices, ASliceOfADeletedServiceDoesNotCount) {
  ReadySlices slices;
  slices.Update({"vision", "a"}, kReady, kFirst);
  EXPECT_EQ(slices.Since("vision/cpu", "s2"), std::nullopt);
  EXPECT_EQ(slices.Since("vision/gpu", "s1"), std::nullopt);
  slices.Update({"vision", "a"}, {.fleet = "vision/cpu", .service_uid = "s2", .has_ready = true}, kLater);
  EXPECT_EQ(slices.Since("vision/cpu", "s2"), kLater);
}

}  // namespace
}  // namespace longshore::fleet::pods
