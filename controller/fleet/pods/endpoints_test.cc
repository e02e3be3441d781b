#include "controller/fleet/pods/endpoints.h"

#include <gtest/gtest.h>

namespace longshore::fleet::pods {
namespace {

const MonotonicPoint kFirst{std::chrono::seconds(10)};
const MonotonicPoint kLater{std::chrono::seconds(20)};
const EndpointSlice kReady{.fleet = "vision/cpu", .service_uid = "s1", .endpoints = 2, .ready = 1};
const EndpointSlice kNotReady{.fleet = "vision/cpu", .service_uid = "s1", .endpoints = 1};

Json SliceOf(const Json& conditions) {
  return {{"metadata",
           {{"namespace", "vision"},
            {"labels", {{"longshore.dev/fleet", "cpu"}}},
            {"ownerReferences", Json::array({{{"uid", "s1"}}})}}},
          {"endpoints", Json::array({{{"conditions", conditions}}})}};
}

TEST(EndpointSliceFrom, AnEndpointIsReadyUnlessItSaysOtherwise) {
  EXPECT_EQ(EndpointSliceFrom(SliceOf({{"ready", true}}))->ready, 1);
  EXPECT_EQ(EndpointSliceFrom(SliceOf(Json::object()))->ready, 1);
  EXPECT_EQ(EndpointSliceFrom(SliceOf({{"ready", false}, {"serving", true}}))->ready, 0);
  EXPECT_EQ(EndpointSliceFrom(SliceOf({{"ready", false}}))->endpoints, 1);
  Json empty = SliceOf({});
  empty["endpoints"] = nullptr;
  const auto slice = EndpointSliceFrom(empty);
  EXPECT_EQ(slice->ready, 0);
  EXPECT_EQ(slice->endpoints, 0);
  EXPECT_EQ(slice->fleet, "vision/cpu");
  EXPECT_EQ(slice->service_uid, "s1");
  EXPECT_FALSE(EndpointSliceFrom({{"metadata", {{"namespace", "vision"}}}}));
}

TEST(Slices, KnowSinceWhenTheFirstEndpointHasBeenReady) {
  Slices slices;
  EXPECT_EQ(slices.Of("vision/cpu", "s1").ready_since, std::nullopt);
  slices.Update({"vision", "a"}, kReady, kFirst);
  slices.Update({"vision", "a"}, kReady, kLater);
  slices.Update({"vision", "b"}, kReady, kLater);
  EXPECT_EQ(slices.Of("vision/cpu", "s1").ready_since, kFirst);
  slices.Update({"vision", "a"}, kNotReady, kLater);
  EXPECT_EQ(slices.Of("vision/cpu", "s1").ready_since, kLater);
  slices.Remove({"vision", "b"}, "vision/cpu");
  EXPECT_EQ(slices.Of("vision/cpu", "s1").ready_since, std::nullopt);
}

TEST(Slices, CountTheEndpointsOfAService) {
  Slices slices;
  slices.Update({"vision", "a"}, kReady, kFirst);
  slices.Update({"vision", "b"}, kNotReady, kFirst);
  EXPECT_EQ(slices.Of("vision/cpu", "s1").endpoints, 3);
  EXPECT_EQ(slices.Of("vision/cpu", "s1").ready, 1);
  EXPECT_EQ(slices.Of("vision/cpu", "s2").endpoints, 0);
}

TEST(WhyNoneIsReady, NamesTheServiceTheCountsAndWhatToCheck) {
  EXPECT_EQ(WhyNoneIsReady("vision/cpu", "longshore-cpu", {.endpoints = 2}, TimePoint(std::chrono::hours(1))),
            "Service longshore-cpu has 0 of 2 endpoints ready since 1970-01-01T01:00:00.000Z or before, so its address "
            "refuses connections; check the readiness of the pods: kubectl -n vision describe pods -l "
            "longshore.dev/fleet=cpu");
}

TEST(Slices, ASliceOfADeletedServiceDoesNotCount) {
  Slices slices;
  slices.Update({"vision", "a"}, kReady, kFirst);
  EXPECT_EQ(slices.Of("vision/cpu", "s2").ready_since, std::nullopt);
  EXPECT_EQ(slices.Of("vision/gpu", "s1").ready_since, std::nullopt);
  slices.Update({"vision", "a"}, {.fleet = "vision/cpu", .service_uid = "s2", .endpoints = 2, .ready = 1}, kLater);
  EXPECT_EQ(slices.Of("vision/cpu", "s2").ready_since, kLater);
}

}  // namespace
}  // namespace longshore::fleet::pods
