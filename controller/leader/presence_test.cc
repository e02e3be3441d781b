#include "controller/leader/presence.h"

#include <gtest/gtest.h>

#include "controller/api/units.h"

namespace longshore::leader {
namespace {

using std::chrono::seconds;

const TimePoint kNow = *api::ParseTime("2026-11-21T14:00:00Z");

LeaseSeen Renewed(TimePoint at) { return {.holder = "controller-0", .duration = seconds(15), .renewed_at = at}; }

TEST(Presence, SeesARunningHolderInOneRead) {
  EXPECT_EQ(Presence().Saw(Renewed(kNow - seconds(14)), kNow), Life::kRunning);
  EXPECT_EQ(Presence().Saw(Renewed(kNow + seconds(2)), kNow), Life::kRunning) << "the clocks differ a little";
}

TEST(Presence, SeesAnAbsentHolderAfterSomeSeconds) {
  Presence judge;
  const LeaseSeen old = Renewed(kNow - seconds(60));
  EXPECT_EQ(judge.Saw(old, kNow), Life::kNotKnownYet);
  EXPECT_EQ(judge.Saw(old, kNow + seconds(2)), Life::kNotKnownYet);
  EXPECT_EQ(judge.Saw(old, kNow + seconds(3)), Life::kAbsent);
}

TEST(Presence, SeesThatAHolderEndsAfterItWasSeenRunning) {
  for (const auto offset : {seconds(0), seconds(-3600)}) {
    Presence judge;
    judge.Saw(Renewed(kNow + offset), kNow);
    const LeaseSeen last = Renewed(kNow + offset + seconds(2));
    EXPECT_EQ(judge.Saw(last, kNow + seconds(2)), Life::kRunning);
    EXPECT_EQ(judge.Saw(last, kNow + seconds(16)), Life::kRunning);
    EXPECT_EQ(judge.Saw(last, kNow + seconds(17)), Life::kAbsent);
  }
}

TEST(Presence, SeesARunningHolderWhoseClockDiffers) {
  for (const auto offset : {seconds(-3600), seconds(3600)}) {
    Presence judge;
    EXPECT_EQ(judge.Saw(Renewed(kNow + offset), kNow), Life::kNotKnownYet);
    EXPECT_EQ(judge.Saw(Renewed(kNow + offset + seconds(2)), kNow + seconds(2)), Life::kRunning);
  }
}

TEST(Presence, SeesAnAbsentHolderWhoseClockIsFast) {
  Presence judge;
  const LeaseSeen last = Renewed(kNow + seconds(3600));
  judge.Saw(last, kNow);
  EXPECT_EQ(judge.Saw(last, kNow + seconds(5)), Life::kAbsent);
}

TEST(Presence, WaitsForANewHolderOfAReleasedOrMissingLease) {
  for (const bool exists : {true, false}) {
    Presence judge;
    LeaseSeen released = Renewed(kNow);
    released.holder = "";
    const auto lease = exists ? std::optional(released) : std::nullopt;
    EXPECT_EQ(judge.Saw(lease, kNow), Life::kNotKnownYet);
    EXPECT_EQ(judge.Saw(Renewed(kNow + seconds(1)), kNow + seconds(1)), Life::kRunning);
    Presence other;
    other.Saw(lease, kNow);
    EXPECT_EQ(other.Saw(lease, kNow + seconds(5)), Life::kAbsent);
  }
}

TEST(Lease, IsReadFromTheFieldsOfTheApiServer) {
  const auto lease = LeaseSeenFrom(*ParseJson(R"({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                                                       "leaseTransitions": 7,
                                                       "renewTime": "2026-11-21T14:00:00.250000Z"}})"));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->holder, "a");
  EXPECT_EQ(lease->duration, seconds(15));
  EXPECT_EQ(lease->renewed_at, kNow + std::chrono::milliseconds(250));
  EXPECT_EQ(lease->epoch, 7);
  EXPECT_TRUE(LeaseSeenFrom(*ParseJson(R"({"spec": {}})"))->holder.empty());
  EXPECT_FALSE(LeaseSeenFrom(*ParseJson(R"({"spec": {"holderIdentity": 3}})")));
  EXPECT_FALSE(LeaseSeenFrom(*ParseJson("[]")));
}

TEST(Lease, NamesTheNamespacesThatItsHolderWatches) {
  for (const std::string& text : {NamespacesText({"a", "b"}), NamespacesText({})}) {
    const Json lease = {{"metadata", {{"annotations", {{kNamespacesAnnotation, text}}}}}, {"spec", Json::object()}};
    EXPECT_EQ(LeaseSeenFrom(lease)->namespaces, text);
  }
  EXPECT_EQ(NamespacesText({"a", "b"}), "a,b");
  EXPECT_EQ(NamespacesText({}), "*");
}

}  // namespace
}  // namespace longshore::leader
